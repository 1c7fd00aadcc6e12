"""Attempts, tasks and concepts with only the fields that a test is about."""

from __future__ import annotations

from typing import Any

from atlas.core.types import CodeConcept, Outcome, Step, Task, Trajectory, VerificationSpec
from atlas.learning.terms.programs import Program


def task(description: str = "a task", *, tests: str = "", **context: Any) -> Task:
    return Task("t", "", description, context, VerificationSpec("tests", {"tests": tests}))


def attempt(
    solution: str = "",
    *,
    actions: tuple[str, ...] = (),
    success: bool | None = True,
    of: Task | None = None,
    steps: tuple[Step, ...] = (),
) -> Trajectory:
    return Trajectory(
        task=of or task(),
        steps=steps or tuple(Step(action=action) for action in actions),
        outcome=Outcome(success),
        metadata={"solution": solution} if solution else {},
    )


def program(source: str, tests: str = "", *, name: str = "p") -> Program:
    return Program(id=name, task_id=name, description="", source=source, tests=tests)


def concept(code: str, *examples: tuple[str, str], name: str = "", calls: tuple[str, ...] = ()) -> CodeConcept:
    found = name or code.rpartition("def ")[2].partition("(")[0]
    return CodeConcept(
        id=f"id_{found}", name=found, description=f"Does {found}.", code=code, examples=examples, calls=calls
    )
