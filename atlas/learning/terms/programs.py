"""The programs that a library is learned from."""

from __future__ import annotations

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
