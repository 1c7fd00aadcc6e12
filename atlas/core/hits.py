"""What a search found, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from atlas.core.types import CodeConcept, Experience, JournalEntry, Strategy

T = TypeVar("T")
U = TypeVar("U")

UNKNOWN_RELEVANCE = 0.5
"""The relevance of a hit that no signal speaks for: as likely as not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Generic[T]):
    """One retrieved memory and why it was retrieved.

    A memory of somebody else's, plugged into a memory system, does not say why. Its hits have no `signals`, 0 for
    `similarity`, `meaning` and `words`, and `UNKNOWN_RELEVANCE`.
    """

    item: T
    similarity: float
    """Cosine with the query, in [-1, 1]."""

    meaning: float
    """The same on the store's own scale: 0 for texts that have nothing to do with each other, 1 for neighbours."""

    words: float
    """Share of what the query's words tell that the memory holds, in [0, 1]; rare words tell most."""

    relevance: float
    """How likely it has to do with the query at all, in [0, 1], whatever else was found; comparable across models."""

    signals: Mapping[str, float]
    """Each signal's contribution to `rank_value`, by name; they add up to it.

    `diversity`, where that was asked for, takes away; `reranker`, where there is one, is missing where it did not look.
    """

    outcomes: Mapping[str, int]
    """How many of the attempts that it stands for `succeeded`, `failed` or are `unknown`: one, or several alike."""

    @property
    def rank_value(self) -> float:
        """What hits are ordered by, highest first."""
        return sum(self.signals.values())

    def of(self, item: U) -> Hit[U]:
        """The same hit, of what its item stands for."""
        return Hit(
            item=item,
            similarity=self.similarity,
            meaning=self.meaning,
            words=self.words,
            relevance=self.relevance,
            signals=self.signals,
            outcomes=self.outcomes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval(Generic[T]):
    """What was retrieved for a query: empty where nothing has to do with it."""

    hits: list[Hit[T]]
    """Best first."""

    n_hidden: int
    """How many would have been among the hits, but are less relevant than the threshold."""

    threshold: float
    """The relevance that a hit has at least, in [0, 1]."""

    problems: tuple[str, ...] = ()
    """What went wrong without costing the answer, each as a sentence: a reranker that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQueryResult:
    """What the memories of a system hold for a task; a memory that is missing, or failed, has no part in it."""

    experience_hits: tuple[Hit[Experience], ...] = ()
    """Best first, as in each of these."""

    concept_hits: tuple[Hit[CodeConcept], ...] = ()
    strategy_hits: tuple[Hit[Strategy], ...] = ()
    journal_hits: tuple[Hit[JournalEntry], ...] = ()
    n_hidden: Mapping[str, int] = field(default_factory=dict)
    """How many were not relevant enough to be among the hits, by memory: `experience`, `concepts`, `strategies`,
    `journal`."""

    errors: Mapping[str, str] = field(default_factory=dict)
    """What went wrong, by memory; the parts of the others are whole."""

    @property
    def experiences(self) -> list[Experience]:
        """Attempts at tasks that are like it."""
        return [hit.item for hit in self.experience_hits]

    @property
    def concepts(self) -> list[CodeConcept]:
        """Code that may serve it."""
        return [hit.item for hit in self.concept_hits]

    @property
    def strategies(self) -> list[Strategy]:
        """What to do in situations that are like it."""
        return [hit.item for hit in self.strategy_hits]

    @property
    def journal_entries(self) -> list[JournalEntry]:
        """What was noted that has to do with it."""
        return [hit.item for hit in self.journal_hits]

    @property
    def ids(self) -> dict[str, tuple[str, ...]]:
        """The ids of all hits, by memory."""
        return {
            "experience": tuple(one.id for one in self.experiences),
            "concepts": tuple(one.id for one in self.concepts),
            "strategies": tuple(one.id for one in self.strategies),
            "journal": tuple(one.id for one in self.journal_entries),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """What a vector store found, best first; the four lists have one length."""

    ids: list[str]
    distances: list[float]
    """1 − similarity for a vector query; 1 / (1 + BM25) for a text query: lower is closer."""

    metadatas: list[dict[str, Any]]
    documents: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What a query might mean, by vector and by words, in no order; the four lists have one length."""

    ids: list[str]
    similarities: list[float]
    """Cosine of the query with the record's best window, in [-1, 1]; 0 where there was no vector."""

    words: list[float]
    """BM25 of the query's words in the record: 0 where it holds none of them, or where there was no text."""

    metadatas: list[dict[str, Any]]
    """Without content."""

    word_information: float
    """The value that `words` would near in a record which holds all that was asked, often; never below any of them.

    A word that no record holds counts as the rarest would. 0 where the text has no words.
    """
