"""What of an experience may be edited, and with what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Step, Task

EDITABLE: Mapping[str, type | tuple[type, ...]] = {
    "task": Task,
    "outcome": Outcome,
    "solution_output": str,
    "feedback": str,
    "steps": (tuple, list),
    "metadata": Mapping,
    "agent_id": str,
}


def check_changes(changes: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` unless every change is of a field that may be edited, and of its type."""
    unknown = sorted(set(changes) - set(EDITABLE))
    if unknown:
        raise InvalidInput(f"{', '.join(unknown)} cannot be edited; can: {', '.join(EDITABLE)}")
    for name, value in changes.items():
        _check_type(name, value)


def _check_type(name: str, value: Any) -> None:
    is_right = isinstance(value, EDITABLE[name])
    if name == "steps" and is_right:
        is_right = all(isinstance(step, Step) for step in value)
    if not is_right:
        kind = "a list of Step" if name == "steps" else getattr(EDITABLE[name], "__name__", "")
        raise InvalidInput(f"{name} should be {kind}, but is {value!r}"[:300])
