"""Attempts that call tools, as an agent of a shop does."""

from __future__ import annotations

import json

from atlas.core.types import Outcome, Step, Task, Trajectory


def call(tool: str, result: object, **arguments: object) -> Step:
    """Return the step that calls a tool."""
    observation = result if isinstance(result, str) else json.dumps(result)
    return Step("", f"{tool}({json.dumps(arguments)})", observation, {"observation_from": f"tool {tool}"})


def refund(number: int, *, success: bool = True, customer: str = "") -> Trajectory:
    """Return an attempt that refunds an order, by the same three calls as every other."""
    customer = customer or f"customer_{number}"
    order = {"id": f"#W{number}", "items": [{"sku": f"S{number}"}], "payment": {"method": f"card_{number}"}}
    steps = (
        call("find_user", customer, email=f"{customer}@example.com"),
        Step("", "May I look that up?", "Yes."),
        call("get_order", order, order_id=f"#W{number}"),
        call("refund", "done", order_id=f"#W{number}", method=f"card_{number}", reason="late"),
    )
    return Trajectory(Task(f"t{number}", "", f"Refund order {number}"), steps, Outcome(success), id=f"a{number}")
