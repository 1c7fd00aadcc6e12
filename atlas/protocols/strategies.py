"""The pluggable steps of the memories: how to extract, refine, compress, compose, document, abstract and update."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from atlas.core.types import Experience, Task, Trajectory


@runtime_checkable
class ExperienceExtractor(Protocol):
    """Chooses what of an attempt is embedded."""

    def extract(self, trajectory: Trajectory) -> str:
        """The text to embed for similarity search."""
        ...


@runtime_checkable
class RefineStrategy(Protocol):
    """ReMem's refinement: exploit what is useful, prune noise, reorganise."""

    async def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        """The experiences worth showing an agent, in the order to show them."""
        ...
