"""Stores to open the pages on: made quickly, of the embedding model that the dashboard opens them with."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import atlas
from atlas.testing import HashEmbedder

START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
MODEL = "all-MiniLM-L6-v2"
DIMENSION = 384


def attempt(description: str = "Sort a list of numbers", **given: Any) -> atlas.Trajectory:
    """An attempt at a task; whatever is not given does not matter."""
    metadata: dict[str, Any] = {name: given[name] for name in ("source", "solution", "feedback") if name in given}
    return atlas.Trajectory(
        task=atlas.Task(
            id=given.get("task_id", "task-1"),
            domain=given.get("domain", ""),
            description=description,
            context=given.get("context", {}),
        ),
        steps=given.get("steps", (atlas.Step(action="print(sorted(numbers))"),)),
        outcome=atlas.Outcome(success=given.get("success", True), error_info=given.get("error")),
        agent_id=given.get("agent", ""),
        timestamp=given.get("at", START),
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


def make_store(path: Path, trajectories: Iterable[atlas.Trajectory] = ()) -> list[str]:
    """A store at a path; the ids of its experiences."""
    embedder = HashEmbedder(DIMENSION, MODEL)
    with atlas.open_memory(path, embedder=embedder, settings=atlas.Settings()) as memory:
        return memory.experience.store_many(trajectories)
