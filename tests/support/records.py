"""Attempts, concepts and journal entries to fill stores with. Whatever is not given does not matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zlib import crc32

import atlas
from atlas.core.types import JournalEntry

START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
TYPES = ("observation", "crash_log", "reflection", "task")
KINDS = {
    "report of the web page button and menu": True,
    "database query with a join over index and table": False,
    "shell script that greps a log for cron": True,
}


def attempt(
    description: str = "Sort a list of numbers",
    success: bool | None = True,
    *,
    task_id: str | None = None,
    domain: str = "",
    context: Mapping[str, Any] | None = None,
    steps: tuple[atlas.Step, ...] = (atlas.Step(action="print(sorted(numbers))"),),
    error: str | None = None,
    agent: str = "",
    at: datetime = START,
    **metadata: Any,
) -> atlas.Trajectory:
    """An attempt at a task, whose id depends on its description unless one is given.

    Its `source`, `solution` and `feedback` are metadata.
    """
    return atlas.Trajectory(
        task=atlas.Task(
            id=f"task-{crc32(description.encode()):08x}" if task_id is None else task_id,
            domain=domain,
            description=description,
            context=context or {},
        ),
        steps=steps,
        outcome=atlas.Outcome(success=success, error_info=error),
        agent_id=agent,
        timestamp=at,
        metadata=metadata,
    )


def attempts(n: int) -> Iterable[atlas.Trajectory]:
    """Different attempts, an hour apart: as many succeeded as failed and as are unknown, two sources, four domains."""
    domains = ("web", "shell", "data", "puzzles")
    for number in range(n):
        yield attempt(
            f"Task {number}: mend the {domains[number % 4]} report of customer {number * 37 % 1000}",
            task_id=f"task-{number}",
            success=(True, False, None)[number % 3],
            source=("north", "south")[number % 2],
            domain=domains[number % 4],
            at=START + timedelta(hours=number),
            steps=tuple(atlas.Step(thought=f"think {step}", action=f"act {step}") for step in range(number % 5 + 1)),
        )


def concept(number: int = 0, **given: Any) -> atlas.CodeConcept:
    """A concept whose code is its own; whatever is not given does not matter."""
    name = given.pop("name", f"step_{number}")
    code = given.pop("code", f"def {name}(grid):\n    return [row[{number}:] for row in grid]\n")
    return atlas.CodeConcept(
        name=name, description=given.pop("description", f"Cut the first {number} columns off."), code=code, **given
    )


def needing(tool: str) -> atlas.CodeConcept:
    """A concept whose code calls a tool of the agent."""
    code = f"def by_{tool}(key):\n    return {tool}(key)\n"
    return concept(name=f"by_{tool}", code=code, description="Look the order up.", metadata={"tools": [tool]})


def entry(number: int = 0, **given) -> JournalEntry:
    """An entry of its own generation; whatever is not given does not matter."""
    content = given.pop("content", f"The worker of customer {number} read page {number * 37 % 101} of the report")
    return JournalEntry(
        entry_type=given.pop("entry_type", TYPES[number % len(TYPES)]),
        content=content,
        generation=given.pop("generation", number),
        created_at=given.pop("created_at", START + timedelta(hours=number)),
        **given,
    )


def kinds(n: int) -> list[atlas.Trajectory]:
    """Attempts of three kinds in turn; all of the second kind failed."""
    texts = list(KINDS.items())
    return [attempt(f"{texts[i % 3][0]} {i}", success=texts[i % 3][1], task_id=f"t{i}") for i in range(n)]
