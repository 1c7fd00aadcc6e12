"""The pluggable steps of the memories: how to extract, refine, compress, compose, document, abstract and update.

The coroutines of those that refine, compress, compose, document and abstract may be ordinary methods too, each of which
is called in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from atlas.core.types import CodeConcept, Experience, Strategy, Task, Trajectory


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


@runtime_checkable
class PrimitiveLoader(Protocol):
    """Brings the base operations of one domain."""

    def load(self) -> dict[str, CodeConcept]:
        """The concepts by name."""
        ...


@runtime_checkable
class CompositionStrategy(Protocol):
    """Makes one concept of several."""

    async def compose(self, concepts: list[CodeConcept]) -> CodeConcept | None:
        """The composed concept, or None where nothing meaningful can be made of them."""
        ...


@runtime_checkable
class CompressionStrategy(Protocol):
    """Finds concepts that shorten successful programs."""

    async def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        """New concepts, most useful first."""
        ...


@runtime_checkable
class ConceptDocumenter(Protocol):
    """Names and describes a concept from its code and its uses."""

    async def document(self, concept: CodeConcept, usage_examples: list[tuple[str, str]]) -> CodeConcept:
        """The concept with name, description, signature and guidance.

        Args:
            usage_examples: Pairs of a task's text and a program that uses the concept.
        """
        ...


@runtime_checkable
class Reranker(Protocol):
    """Judges how well documents answer a query by reading both together: a cross-encoder, or a language model.

    It is slow beside the ranking, so it sees the first few hits alone. None comes with ATLAS, and none is on unless it
    is given: one that was trained on web search may well rank attempts at tasks worse. Measure it first, with
    `atlas.evaluation.tasks`.
    """

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        """A score in [0, 1] for each document, in their order, that does not depend on the other documents.

        A cross-encoder gives the sigmoid of its logit, from a thread; a language model its grade as a share of the
        highest.
        """
        ...


@runtime_checkable
class StrategyAbstractor(Protocol):
    """Makes a reusable strategy of a successful attempt."""

    async def abstract(self, trajectory: Trajectory) -> Strategy | None:
        """The strategy, or None where the attempt is too specific, or says too little."""
        ...


@runtime_checkable
class StrategyCombiner(Protocol):
    """Judges whether two strategies for alike situations are one; an abstractor may do this too."""

    async def combined(self, held: Strategy, other: Strategy) -> Strategy | None:
        """The held one with what both say to do; None where they are for different situations after all."""
        ...


@runtime_checkable
class SuccessRateUpdater(Protocol):
    """Keeps the success rate of a strategy up to date."""

    def update(self, current_rate: float, current_count: int, success: bool) -> tuple[float, int]:
        """The rate and the count after one more outcome; a count of 0 means that the rate is a first guess."""
        ...
