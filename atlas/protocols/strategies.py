"""The pluggable steps of the memories: extract, refine, compress, compose, document, abstract and update.

Methods that are declared async here may also be sync. A sync one is called in a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from atlas.core.types import CodeConcept, Experience, Strategy, Task, Trajectory


@runtime_checkable
class ExperienceExtractor(Protocol):
    """A step that chooses which text of an attempt is embedded."""

    def extract(self, trajectory: Trajectory) -> str:
        """Return the text to embed for similarity search."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedText:
    """The embedded text of an attempt, with its provenance."""

    text: str
    made_by: str = ""
    """The model and the version of its prompt, or empty if no model wrote the text."""


@runtime_checkable
class RecordedExtractor(ExperienceExtractor, Protocol):
    """An extractor that also returns the provenance of its text, which is stored with the experience."""

    def extract_recorded(self, trajectory: Trajectory) -> ExtractedText:
        """Return the text to embed for similarity search, with its provenance."""
        ...


@runtime_checkable
class RefineStrategy(Protocol):
    """A refinement step, as in ReMem: it keeps useful experiences, drops noise, and reorders."""

    async def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        """Return the experiences worth showing an agent, in the order to show them."""
        ...


@runtime_checkable
class PrimitiveLoader(Protocol):
    """A source of the base operations of one domain."""

    def load(self) -> dict[str, CodeConcept]:
        """Return the concepts, keyed by name."""
        ...


@runtime_checkable
class CompositionStrategy(Protocol):
    """A step that composes several concepts into one."""

    async def compose(self, concepts: list[CodeConcept]) -> CodeConcept | None:
        """Return the composed concept, or None if the concepts do not combine meaningfully."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedConcept:
    """The result of a composition, or the reason why there is none."""

    concept: CodeConcept | None = None
    why_not: str = ""
    """Reason why there is no concept, or empty if there is one. Untrusted text, which may come from a model."""


@runtime_checkable
class ExplainingComposition(CompositionStrategy, Protocol):
    """A composition strategy that explains an empty result."""

    async def compose_with_reason(self, concepts: list[CodeConcept]) -> ComposedConcept:
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
    """A model that scores query and document together: a cross-encoder, or a language model.

    It is slow, so only the first few hits are reranked. There is no default reranker: one that was trained on web
    search may well rank attempts at tasks worse. Evaluate it first, with `atlas.evaluation.tasks`.
    """

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        """Return a score in [0, 1] for each document, in order, independent of the other documents.

        The score is the sigmoid of a cross-encoder's logit, or a language model's grade as a share of its scale.
        """
        ...


@runtime_checkable
class StrategyAbstractor(Protocol):
    """A step that abstracts a successful attempt into a reusable strategy."""

    async def abstract(self, trajectory: Trajectory) -> Strategy | None:
        """Return the strategy, or None if the attempt is too specific or too short."""
        ...


@runtime_checkable
class InformedAbstractor(StrategyAbstractor, Protocol):
    """An abstractor that also receives similar strategies, and abstracts failures into warnings."""

    async def abstract_beside(self, trajectory: Trajectory, near: Sequence[Strategy]) -> Strategy | None:
        """Return the strategy of a success or the warning of a failure, or None, like `abstract`.

        Args:
            trajectory: The attempt.
            near: Strategies for similar situations. If one of these covers the attempt, it is returned, with the
                attempt as its only source.
        """
        ...


@runtime_checkable
class StrategyCombiner(Protocol):
    """A step that merges two strategies for the same situation. An abstractor may implement it too."""

    async def combined(self, stored: Strategy, other: Strategy) -> Strategy | None:
        """Return the stored strategy with the advice of both, or None if their situations differ."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedStrategy:
    """The result of merging two strategies, or the reason why there is none."""

    strategy: Strategy | None = None
    why_not: str = ""
    """Reason why there is no strategy, or empty. Untrusted text of a model."""


@runtime_checkable
class ExplainingCombiner(StrategyCombiner, Protocol):
    """A combiner that explains an empty result."""

    async def explain_combined(self, stored: Strategy, other: Strategy) -> CombinedStrategy:
        """Return the stored strategy with the advice of both, or the reason why they differ."""
        ...


@runtime_checkable
class SuccessRateUpdater(Protocol):
    """A rule that keeps the success rate of a strategy up to date."""

    def update(self, current_rate: float, current_count: int, success: bool) -> tuple[float, int]:
        """Return the rate and the count after one more outcome. With a count of 0, the rate is an initial guess."""
        ...
