"""The protocols of the memories, as the specifications give them."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from atlas.core.types import Experience, Task, Trajectory


@runtime_checkable
class ExperienceMemory(Protocol):
    """Attempts at tasks, found by similarity to a new task."""

    def store(self, trajectory: Trajectory) -> str:
        """Remember an attempt; its new id."""
        ...

    def search(self, task: Task, k: int = 4) -> list[Experience]:
        """The k experiences most useful for a task, best first."""
        ...

    def get(self, experience_id: str, /) -> Experience | None:
        """One experience, or None."""
        ...

    def refine(self, experiences: list[Experience]) -> list[Experience]:
        """What the refine strategy makes of the experiences."""
        ...

    def prune(self, criteria: dict[str, Any]) -> int:
        """Remove low-value experiences; how many."""
        ...

    def __len__(self) -> int:
        """How many experiences there are."""
        ...
