"""The protocols of the memories, as the specifications give them.

A memory system takes any object that has these methods. They may be coroutines there, each for itself.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from atlas.core.types import CodeConcept, Experience, Strategy, Task, Trajectory


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


@runtime_checkable
class ConceptLibrary(Protocol):
    """Reusable code, found by what it does."""

    def add(self, concept: CodeConcept) -> str:
        """Keep a concept; its id."""
        ...

    def search(self, query: str, k: int = 5) -> list[CodeConcept]:
        """The k concepts nearest to what is asked, best first."""
        ...

    def get(self, concept_id: str, /) -> CodeConcept | None:
        """One concept, or None."""
        ...

    def compose(self, concept_ids: list[str]) -> CodeConcept | None:
        """One concept made of several, or None where nothing fits."""
        ...

    def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        """New concepts found in attempts."""
        ...

    def update_stats(self, concept_id: str, success: bool) -> None:
        """Say how a task went that the concept was used for."""
        ...


@runtime_checkable
class StrategyBank(Protocol):
    """What to do in which situation, found by similarity of the situation to a task."""

    def write(self, trajectory: Trajectory) -> Strategy | None:
        """Abstract a successful attempt; the strategy that now stands for it, or None where there is none."""
        ...

    def read(self, task: Task, k: int = 5) -> list[Strategy]:
        """The k strategies that fit a task best, best first."""
        ...

    def get(self, strategy_id: str, /) -> Strategy | None:
        """One strategy, or None."""
        ...

    def update_stats(self, strategy_id: str, success: bool) -> None:
        """Say how a task went that the strategy was used for."""
        ...
