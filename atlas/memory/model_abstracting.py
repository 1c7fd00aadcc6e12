"""Strategies from successful attempts by a language model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Strategy, Trajectory
from atlas.infra.asking import ask, model_name
from atlas.memory.telling import told_attempt
from atlas.protocols.infra import LLMClient

SYSTEM = """\
You turn one successful attempt at a task into a strategy that helps with other tasks of the same kind.

State it at the level of the situation, never of the instance: "For grids with a symmetry axis, complete one half by \
reflecting the other", not "In task 17, copy the left half".
- situation: when to apply it, so that somebody with a new task can tell whether it applies. Where tasks of the kind \
differ, write a parameter in braces, such as {reservation_id}.
- suggestion: what to do, as steps that hold for every such task; name what to check first, and what to avoid.
- parameters: every parameter that you wrote in braces, with its type and what it is.
- rationale: why it works, judged by this attempt.
- title: a line to know it by.

If the attempt shows nothing that would help with another task, because it is too specific, trivial, or succeeded by \
chance, say so with reusable = false. That is better than a strategy that helps nobody."""

_TEXT = {"type": "string", "maxLength": 4_000}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reusable": {"type": "boolean"},
        "reason": {"type": "string", "description": "Why it is reusable, or why not."},
        "title": {"type": "string", "maxLength": 200},
        "situation": _TEXT,
        "suggestion": _TEXT,
        "rationale": _TEXT,
        "parameters": {
            "type": "array",
            "maxItems": 20,
            "items": {
                "type": "object",
                "properties": {name: {"type": "string", "maxLength": 400} for name in ("name", "type", "description")},
                "required": ["name", "type", "description"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["reusable", "reason"],
    "additionalProperties": False,
}

_WRITTEN = ("title", "situation", "suggestion", "rationale")


class LLMStrategyAbstractor:
    """Makes strategies with a language model, in ArcMemo's form.

    Source:
        ArcMemo (arXiv 2509.04439): situation and suggestion, typed parameters, concepts above instances.
    """

    def __init__(self, llm: LLMClient) -> None:
        self._llm = llm

    async def abstract(self, trajectory: Trajectory) -> Strategy | None:
        """The strategy of a successful attempt; None where it failed, or where the model finds nothing reusable.

        Raises:
            LLMError: The model cannot be asked, or its answer was twice not what was asked for.
        """
        if trajectory.outcome.success is not True:
            return None
        answer = await ask(
            self._llm, SYSTEM, f"The attempt:\n{told_attempt(trajectory)}", schema=SCHEMA, validate=_complete
        )
        if not answer["reusable"]:
            return None
        return Strategy(
            **{name: answer[name].strip() for name in _WRITTEN},
            parameters=tuple(dict(parameter) for parameter in answer.get("parameters", [])),
            sources=(trajectory.id,),
            metadata={
                "derived_by": model_name(self._llm),
                "domain": trajectory.task.domain,
                "task_id": trajectory.task.id,
            },
        )


def _complete(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer that says all that a strategy needs."""
    if not answer["reusable"]:
        return answer
    missing = [name for name in _WRITTEN if not answer.get(name, "").strip()]
    if missing:
        raise InvalidInput(f"a reusable strategy needs a {' and a '.join(missing)}")
    used = set(re.findall(r"\{(\w+)\}", f"{answer['situation']} {answer['suggestion']}"))
    undeclared = used - {parameter["name"] for parameter in answer.get("parameters", [])}
    if undeclared:
        raise InvalidInput(f"these parameters are used, but not declared: {', '.join(sorted(undeclared))}")
    return answer
