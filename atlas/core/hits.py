"""Hits of a search with explanations, and limits on their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Generic, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.tables import TableRow, Tabular, caption_of
from atlas.core.types import CodeConcept, Experience, JournalEntry, Outcome, Strategy

T = TypeVar("T")
U = TypeVar("U")

Selector = Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64]], npt.NDArray[np.bool_]]
"""Function that selects candidates, given arrays of their similarities and their shares of the query's words."""

UNKNOWN_RELEVANCE = 0.5
"""Relevance of a hit without signals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Tabular, Generic[T]):
    """One retrieved memory and why it was retrieved.

    Hits of a plugged-in memory have no `signals`, 0 for `similarity`, `meaning` and `words`, and `UNKNOWN_RELEVANCE`.
    """

    item: T
    similarity: float
    """Cosine with the query, combined with late interaction of tokens for texts longer than the query."""

    meaning: float
    """Similarity on the store's own scale: 0 for unrelated texts, 1 for neighbours."""

    words: float
    """IDF-weighted share of the query's words in the memory, in [0, 1]."""

    context: float = 0.0
    """IDF-weighted share of the query's words in the next records of a log, discounted."""

    relevance: float
    """Estimated probability of relevance, in [0, 1], comparable across models."""

    signals: Mapping[str, float]
    """Contribution of each signal to `rank_value`, keyed by name. The contributions add up to `rank_value`.

    `meaning` is missing where only words count, as in languages that the model does not know. `diversity`, if asked
    for, is negative. `reranker`, if there is one, is missing for hits that were not reranked.
    """

    outcomes: Mapping[str, int]
    """Number of attempts grouped in the hit, by `succeeded`, `failed` and `unknown`."""

    @property
    def rank_value(self) -> float:
        """Ranking score of a hit, highest first."""
        return sum(self.signals.values())

    def with_item(self, item: U) -> Hit[U]:
        """Return the same hit with another item."""
        return Hit(
            item=item,
            similarity=self.similarity,
            meaning=self.meaning,
            words=self.words,
            context=self.context,
            relevance=self.relevance,
            signals=self.signals,
            outcomes=self.outcomes,
        )

    def _caption(self) -> str:
        return "1 hit"

    def _rows(self) -> Iterator[TableRow]:
        yield {
            "hit": caption_of(self.item),
            "outcome": ", ".join(
                label if count == 1 else f"{count} {label}" for label, count in self.outcomes.items() if count
            ),
            "relevance": f"{self.relevance:.0%}",
            "ranked by": ", ".join(f"{name} {value:+.2f}" for name, value in self.signals.items()),
        }


def hit_without_signals(item: T) -> Hit[T]:
    """Return a hit without signals."""
    outcome = getattr(item, "outcome", Outcome(None))
    return Hit(
        item=item,
        similarity=0.0,
        meaning=0.0,
        words=0.0,
        relevance=UNKNOWN_RELEVANCE,
        signals={},
        outcomes={outcome.label: 1},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval(Tabular, Generic[T]):
    """Hits for a query: empty if all are unrelated."""

    hits: list[Hit[T]]
    """Hits for the query, best first."""

    n_hidden: int
    """Number of records left out because their relevance is below the threshold."""

    threshold: float
    """Threshold of relevance, in [0, 1]."""

    problems: tuple[str, ...] = ()
    """Sentences on failures that did not prevent an answer, such as a failed reranker or index."""

    by_words: bool = False
    """True for a search by keywords only: on request, or while the server's embedding model is loading."""

    notes: tuple[str, ...] = ()
    """Sentences about the query, for example about a name in the filter that no record has as a key."""

    def _caption(self) -> str:
        return _describe_counts(len(self.hits), self.n_hidden, self.problems + self.notes)

    def _rows(self) -> Iterator[TableRow]:
        return (row for hit in self.hits for row in hit._rows())


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQueryResult(Tabular):
    """Hits of each memory of a system for a task, empty for a memory that is missing or failed."""

    experience_hits: tuple[Hit[Experience], ...] = ()
    """Hits of experiences, best first, like the other lists."""

    concept_hits: tuple[Hit[CodeConcept], ...] = ()
    strategy_hits: tuple[Hit[Strategy], ...] = ()
    journal_hits: tuple[Hit[JournalEntry], ...] = ()
    further_hits: Mapping[str, tuple[Hit[Any], ...]] = field(default_factory=dict)
    """Hits of plugged-in kinds, keyed by memory."""

    n_hidden: Mapping[str, int] = field(default_factory=dict)
    """Number of records below the threshold, keyed by memory: `experience`, `concepts`, `strategies`, `journal`."""

    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Thresholds of relevance, keyed by memory."""

    errors: Mapping[str, str] = field(default_factory=dict)
    """Error messages of the memories that failed, keyed by memory. The hits of the other memories are complete."""

    @property
    def experiences(self) -> list[Experience]:
        """Attempts at similar tasks."""
        return [hit.item for hit in self.experience_hits]

    @property
    def concepts(self) -> list[CodeConcept]:
        """Code that may serve the task."""
        return [hit.item for hit in self.concept_hits]

    @property
    def strategies(self) -> list[Strategy]:
        """Strategies for similar situations."""
        return [hit.item for hit in self.strategy_hits]

    @property
    def journal_entries(self) -> list[JournalEntry]:
        """Journal entries about the task."""
        return [hit.item for hit in self.journal_hits]

    @property
    def hits(self) -> dict[str, tuple[Hit[Any], ...]]:
        """All hits, keyed by memory."""
        return {
            "experience": self.experience_hits,
            "concepts": self.concept_hits,
            "strategies": self.strategy_hits,
            "journal": self.journal_hits,
            **self.further_hits,
        }

    @property
    def ids(self) -> dict[str, tuple[str, ...]]:
        """The ids of all hits, keyed by memory."""
        return {name: tuple(hit.item.id for hit in hits) for name, hits in self.hits.items()}

    def _caption(self) -> str:
        problems = [f"{name} failed: {message}" for name, message in self.errors.items()]
        return _describe_counts(sum(map(len, self.hits.values())), sum(self.n_hidden.values()), problems)

    def _rows(self) -> Iterator[TableRow]:
        for name, hits in self.hits.items():
            for hit in hits:
                yield from ({"memory": name, **row} for row in hit._rows())


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """Records found by a vector store, best first. The four lists have the same length."""

    ids: list[str]
    distances: list[float]
    """1 − similarity for a vector query, 1 / (1 + BM25) for a text query. Lower is closer."""

    metadatas: list[dict[str, Any]]
    documents: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Unordered candidates for a query, by vector and keywords. The lists have the same length."""

    ids: list[str]
    similarities: list[float]
    """Cosine of the query with the record's best window, in [-1, 1], or 0 if there is no vector."""

    words: list[float]
    """BM25 of the query's words in the record: 0 if they share no words, or there is no text."""

    metadatas: list[dict[str, Any]]
    """Metadata of the records, without their content."""

    context: Sequence[float] = ()
    """Keyword scores of the next records in a log, discounted, empty if not requested."""

    word_information: float
    """Supremum of `words`, approached by a record with many occurrences of all words.

    An unknown word has the IDF of the rarest. 0 if the query has no words.
    """


def _describe_counts(n_hits: int, n_hidden: int, remarks: Sequence[str]) -> str:
    hidden_phrase = f"{n_hidden:,} not relevant enough" if n_hidden else ""
    return ". ".join(filter(None, [f"{n_hits:,} {'hit' if n_hits == 1 else 'hits'}", hidden_phrase, *remarks]))


def check_limit(limit: object, name: str = "k") -> None:
    """Raise `InvalidInput` unless a limit is a whole number of at least 1."""
    if not _is_whole_number(limit) or limit < 1:
        raise InvalidInput(f"expected 1 or more for {name}, got {limit!r}")


def clamp_limit(limit: int, name: str = "k") -> int:
    """Return a limit, with values below 1 clamped to 0, as the specification's methods require.

    Such a method returns an empty list for 0, where other methods raise.

    Raises:
        InvalidInput: The limit is not a whole number.
    """
    if not _is_whole_number(limit):
        raise InvalidInput(f"expected a whole number for {name}, got {limit!r}")
    return max(limit, 0)


def _is_whole_number(limit: object) -> TypeGuard[int]:
    return isinstance(limit, Integral) and not isinstance(limit, bool)
