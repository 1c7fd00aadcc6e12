"""The programs that a library is learned from."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Python source that solved a task, with its tests."""

    id: str
    """Unique name, such as the id of its trajectory or experience."""

    task_id: str
    description: str = ""
    """Text of the task."""

    source: str
    tests: str = ""
    """Python code to run after the source, which raises if the program is wrong. Empty if there is none."""


def half_of_tasks(programs: Iterable[Program], seed: int = 0) -> set[str]:
    """Return the ids of a random half of the programs' tasks, rounded up."""
    tasks = sorted({program.task_id for program in programs})
    random.Random(seed).shuffle(tasks)
    return set(tasks[: (len(tasks) + 1) // 2])
