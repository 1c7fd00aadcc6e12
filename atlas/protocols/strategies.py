"""The pluggable steps of the memories: how to extract, refine, compress, compose, document, abstract and update.

The coroutines of those that refine, compress, compose, document and abstract may be ordinary methods too. Each of those
is called in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from atlas.core.types import CodeConcept, Experience, Strategy, Task, Trajectory


@runtime_checkable
class ExperienceExtractor(Protocol):
    """A step that chooses what of an attempt is embedded."""

    def extract(self, trajectory: Trajectory) -> str:
        """Return the text to embed for similarity search."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedText:
    """The text of an attempt that is embedded, and what wrote it."""

    text: str
    made_by: str = ""
    """The model and the version of its prompt. Empty if no model wrote the text."""


@runtime_checkable
class RecordedExtractor(ExperienceExtractor, Protocol):
    """An extractor whose texts come with what wrote them, which is kept with the experience."""

    def extract_recorded(self, trajectory: Trajectory) -> ExtractedText:
        """Return the text to embed for similarity search, and what wrote it."""
        ...


@runtime_checkable
class RefineStrategy(Protocol):
    """The refinement of ReMem: exploit what is useful, prune noise, reorganise."""

    async def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        """Return the experiences worth showing an agent, in the order to show them."""
        ...


@runtime_checkable
class PrimitiveLoader(Protocol):
    """A source of the base operations of one domain."""

    def load(self) -> dict[str, CodeConcept]:
        """Return the concepts by name."""
        ...


@runtime_checkable
class CompositionStrategy(Protocol):
    """A step that makes one concept of several."""

    async def compose(self, concepts: list[CodeConcept]) -> CodeConcept | None:
        """Return the composed concept, or None if no meaningful one can be made of them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedConcept:
    """The result of composing concepts, or the reason for an empty one."""

    concept: CodeConcept | None = None
    why_not: str = ""
    """With names of concepts and a model's words in it: untrusted. Empty if there is a concept."""


@runtime_checkable
class ExplainingComposition(CompositionStrategy, Protocol):
    """A composition strategy that gives the reason for an empty result."""

    async def explain(self, concepts: list[CodeConcept]) -> ComposedConcept:
        """Return the composed concept, or the reason why there is none."""
        ...


@runtime_checkable
class CompressionStrategy(Protocol):
    """A step that finds concepts which shorten successful programs."""

    async def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        """Return new concepts, most useful first."""
        ...


@runtime_checkable
class ConceptDocumenter(Protocol):
    """A step that names and describes a concept from its code and its uses."""

    async def document(self, concept: CodeConcept, usage_examples: list[tuple[str, str]]) -> CodeConcept:
        """Return the concept with name, description, signature and guidance.

        Args:
            usage_examples: Pairs of a task's text and a program that uses the concept.
        """
        ...


@runtime_checkable
class Reranker(Protocol):
    """A judge of how well documents answer a query, which reads both together: a cross-encoder, or a language model.

    It is slow beside the ranking, so it sees the first few hits alone. ATLAS brings no reranker. One is off unless it
    is given: one that was trained on web search may well rank attempts at tasks worse. Measure it first, with
    `atlas.evaluation.tasks`.
    """

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        """Return a score in [0, 1] for each document, in their order, that does not depend on the other documents.

        A cross-encoder gives the sigmoid of its logit, from a thread. A language model gives its grade as a share of
        the highest.
        """
        ...


@runtime_checkable
class StrategyAbstractor(Protocol):
    """A step that makes a reusable strategy of a successful attempt."""

    async def abstract(self, trajectory: Trajectory) -> Strategy | None:
        """Return the strategy, or None if the attempt is too specific, or too short."""
        ...


@runtime_checkable
class InformedAbstractor(StrategyAbstractor, Protocol):
    """An abstractor that is shown the strategies near an attempt, and makes warnings of failures as well."""

    async def abstract_beside(self, trajectory: Trajectory, near: Sequence[Strategy]) -> Strategy | None:
        """Return the strategy of a success, the warning of a failure, or None as `abstract` does.

        Args:
            trajectory: The attempt.
            near: Strategies for alike situations. One that covers the attempt is returned, with it as the only source.
        """
        ...


@runtime_checkable
class StrategyCombiner(Protocol):
    """Decides whether two strategies for similar situations are the same. An abstractor may do this too."""

    async def combined(self, held: Strategy, other: Strategy) -> Strategy | None:
        """Return the held one with the advice of both, or None if they are for different situations after all."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedStrategy:
    """The result of combining two strategies, or the reason for an empty one."""

    strategy: Strategy | None = None
    why_not: str = ""
    """In a model's words: untrusted. Empty if there is a strategy, or if no reason is known."""


@runtime_checkable
class ExplainingCombiner(StrategyCombiner, Protocol):
    """A combiner that gives the reason for an empty result."""

    async def explain_combined(self, held: Strategy, other: Strategy) -> CombinedStrategy:
        """Return the held one with the advice of both, or the reason why they are two."""
        ...


@runtime_checkable
class SuccessRateUpdater(Protocol):
    """A rule that keeps the success rate of a strategy up to date."""

    def update(self, current_rate: float, current_count: int, success: bool) -> tuple[float, int]:
        """Return the rate and the count after one more outcome. A count of 0 means that the rate is a first guess."""
        ...
