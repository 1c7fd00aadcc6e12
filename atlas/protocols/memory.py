"""The protocols of the memories, as the specifications give them.

A memory system takes any object that has these methods. Each of them may be a coroutine there.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from atlas.core.hits import MemoryQueryResult
from atlas.core.types import CodeConcept, Experience, Strategy, Task, Trajectory


@runtime_checkable
class ExperienceMemory(Protocol):
    """Attempts at tasks, found by similarity to a new task."""

    def store(self, trajectory: Trajectory) -> str:
        """Remember an attempt and return its new id."""
        ...

    def search(self, task: Task, k: int = 4) -> list[Experience]:
        """Return the k experiences most useful for a task, best first."""
        ...

    def get(self, experience_id: str, /) -> Experience | None:
        """Return one experience, or None."""
        ...

    def refine(self, experiences: list[Experience]) -> list[Experience]:
        """Return the experiences as the refine strategy leaves them."""
        ...

    def prune(self, criteria: dict[str, Any]) -> int:
        """Remove low-value experiences and return their number."""
        ...

    def __len__(self) -> int:
        """Return the number of experiences."""
        ...


@runtime_checkable
class ConceptLibrary(Protocol):
    """Reusable code, found by what it does."""

    def add(self, concept: CodeConcept) -> str:
        """Keep a concept and return its id."""
        ...

    def search(self, query: str, k: int = 5) -> list[CodeConcept]:
        """Return the k concepts nearest to what is asked, best first."""
        ...

    def get(self, concept_id: str, /) -> CodeConcept | None:
        """Return one concept, or None."""
        ...

    def compose(self, concept_ids: list[str]) -> CodeConcept | None:
        """Return one concept made of several, or None if they do not fit."""
        ...

    def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        """Return new concepts found in attempts."""
        ...

    def update_stats(self, concept_id: str, success: bool) -> None:
        """Record whether a task succeeded that the concept was used for."""
        ...


@runtime_checkable
class StrategyBank(Protocol):
    """Advice for situations, found by similarity of the situation to a task."""

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
        """Record whether a task succeeded that the strategy was used for."""
        ...


@runtime_checkable
class MemorySystem(Protocol):
    """Any memories of an agent behind one object. Each of them may be missing."""

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
        """Return at most k of what each memory finds for a task."""
        ...

    def store(self, trajectory: Trajectory) -> dict[str, Any]:
        """Store an attempt in the memories that take it and return the id in each."""
        ...
