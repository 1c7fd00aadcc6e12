"""The programs that a library is learned from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Python source that solved a task, and what shows that it did."""

    id: str
    """Name of its own, such as the id of the trajectory or the experience that it came from."""

    task_id: str
    description: str = ""
    """Text of the task."""

    source: str
    tests: str = ""
    """Python that follows the source and raises if it is wrong, empty if there is none."""
