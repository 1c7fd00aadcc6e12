"""Protocols of the memories, as specified.

A memory system accepts any object with these methods, which may be sync or async.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from atlas.core.hits import MemoryQueryResult
from atlas.core.types import CodeConcept, Experience, Strategy, Task, Trajectory


@runtime_checkable
class ExperienceMemory(Protocol):
    """Attempts at tasks, found by similarity to a new task."""

    def store(self, trajectory: Trajectory) -> str:
        """Store an attempt and return its new id."""
        ...

    def search(self, task: Task, k: int = 4) -> list[Experience]:
        """Return the k experiences most useful for a task, best first."""
        ...

    def get(self, experience_id: str, /) -> Experience | None:
        """Return one experience, or None."""
        ...

    def refine(self, experiences: list[Experience]) -> list[Experience]:
        """Return those of the experiences that the refine strategy keeps, in its order."""
        ...

    def prune(self, criteria: dict[str, Any]) -> int:
        """Remove low-value experiences, and return the number of removed ones."""
        ...

    def __len__(self) -> int:
        """Return the number of experiences."""
        ...


@runtime_checkable
class ConceptLibrary(Protocol):
    """Library of reusable code, found by its description."""

    def add(self, concept: CodeConcept) -> str:
        """Store a concept and return its id."""
        ...

    def search(self, query: str, k: int = 5) -> list[CodeConcept]:
        """Return the k concepts nearest to the query, best first."""
        ...

    def get(self, concept_id: str, /) -> CodeConcept | None:
        """Return one concept, or None."""
        ...

    def compose(self, concept_ids: list[str]) -> CodeConcept | None:
        """Return a concept composed of several, or None if they do not fit together."""
        ...

    def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        """Return new concepts found in attempts."""
        ...

    def update_stats(self, concept_id: str, success: bool) -> None:
        """Record the outcome of a task for which the concept was used."""
        ...


@runtime_checkable
class StrategyBank(Protocol):
    """Advice for situations, found by the similarity of the situation to a task."""

    def write(self, trajectory: Trajectory) -> Strategy | None:
        """Learn from a successful attempt, and return the new or updated strategy, or None."""
        ...

    def read(self, task: Task, k: int = 5) -> list[Strategy]:
        """Return the k strategies that fit a task best, best first."""
        ...

    def get(self, strategy_id: str, /) -> Strategy | None:
        """Return one strategy, or None."""
        ...

    def update_stats(self, strategy_id: str, success: bool) -> None:
        """Record the outcome of a task for which the strategy was used."""
        ...


@runtime_checkable
class MemorySystem(Protocol):
    """The memories of an agent. Each may be missing."""

    @property
    def experience_memory(self) -> ExperienceMemory | None:
        """Attempts at tasks."""
        ...

    @property
    def concept_library(self) -> ConceptLibrary | None:
        """Reusable code."""
        ...

    @property
    def strategy_bank(self) -> StrategyBank | None:
        """Advice for situations."""
        ...

    async def query(self, task: Task, k: int = 5) -> MemoryQueryResult:
        """Return at most k results of each memory for a task."""
        ...

    def store(self, trajectory: Trajectory) -> dict[str, Any]:
        """Store an attempt in every memory that accepts it, and return the ids, keyed by memory."""
        ...
