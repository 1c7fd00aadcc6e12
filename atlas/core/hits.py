"""Hits of a search, why each was found, and how many may be asked for."""

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

Worth = Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64]], npt.NDArray[np.bool_]]
"""Says which candidates are worth reading, from their similarities and the shares of the query's words they hold."""

UNKNOWN_RELEVANCE = 0.5
"""The relevance of a hit that no signal speaks for: as likely as not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Tabular, Generic[T]):
    """One retrieved memory and why it was retrieved.

    A memory of another library, plugged into a memory system, gives no reasons. Its hits have no `signals`, 0 for
    `similarity`, `meaning` and `words`, and `UNKNOWN_RELEVANCE`.
    """

    item: T
    similarity: float
    """Cosine with the query. In a text that is longer than the query, how near its word pieces come counts as well."""

    meaning: float
    """The same on the store's own scale: 0 for unrelated texts, 1 for neighbours."""

    words: float
    """Share of the query's words, in [0, 1], that the memory holds. Rare words count more."""

    context: float = 0.0
    """The same of the records just after it, as far as that counts for it: in a log, several belong together."""

    relevance: float
    """Estimated chance that it has to do with the query at all, in [0, 1], comparable across models."""

    signals: Mapping[str, float]
    """Contribution of each signal to `rank_value`, by name. They add up to it.

    `diversity`, if asked for, is negative. `reranker`, if there is one, is missing for hits that it did not see.
    """

    outcomes: Mapping[str, int]
    """Number of attempts that it stands for, one or several alike, by `succeeded`, `failed` and `unknown`."""

    @property
    def rank_value(self) -> float:
        """Value that hits are ordered by, highest first."""
        return sum(self.signals.values())

    def of(self, item: U) -> Hit[U]:
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
            "outcome": ", ".join(label if n == 1 else f"{n} {label}" for label, n in self.outcomes.items() if n),
            "relevance": f"{self.relevance:.0%}",
            "ranked by": ", ".join(f"{name} {value:+.2f}" for name, value in self.signals.items()),
        }


def unexplained(item: T) -> Hit[T]:
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
    """Best first."""

    n_hidden: int
    """Number of records left out because their relevance is below the threshold."""

    threshold: float
    """Lowest relevance of a hit, in [0, 1]. Without hits, the threshold that the best one missed."""

    problems: tuple[str, ...] = ()
    """Failures that did not cost the answer, each as a sentence, such as that of a reranker or an index."""

    by_words: bool = False
    """True if words alone found it, as was asked for, or as the embedding model of a server is not ready yet."""

    notes: tuple[str, ...] = ()
    """Sentences on the question itself, such as a name in its filter that no record has yet."""

    def _caption(self) -> str:
        return _summary(len(self.hits), self.n_hidden, self.problems + self.notes)

    def _rows(self) -> Iterator[TableRow]:
        return (row for hit in self.hits for row in hit._rows())


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQueryResult(Tabular):
    """Hits of each memory of a system for a task. Empty for a memory that is missing or failed."""

    experience_hits: tuple[Hit[Experience], ...] = ()
    """Best first, as in each of these."""

    concept_hits: tuple[Hit[CodeConcept], ...] = ()
    strategy_hits: tuple[Hit[Strategy], ...] = ()
    journal_hits: tuple[Hit[JournalEntry], ...] = ()
    further_hits: Mapping[str, tuple[Hit[Any], ...]] = field(default_factory=dict)
    """Hits of memories beside these, by memory."""

    n_hidden: Mapping[str, int] = field(default_factory=dict)
    """Number of records that were not relevant enough, by memory: `experience`, `concepts`, `strategies`, `journal`."""

    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Lowest relevance of a hit, by memory. Of a memory without hits, the threshold that the best one missed."""

    errors: Mapping[str, str] = field(default_factory=dict)
    """Messages of the memories that failed, by memory. The hits of the others are complete."""

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
        """All hits, by memory."""
        return {
            "experience": self.experience_hits,
            "concepts": self.concept_hits,
            "strategies": self.strategy_hits,
            "journal": self.journal_hits,
            **self.further_hits,
        }

    @property
    def ids(self) -> dict[str, tuple[str, ...]]:
        """The ids of all hits, by memory."""
        return {name: tuple(hit.item.id for hit in hits) for name, hits in self.hits.items()}

    def _caption(self) -> str:
        problems = [f"{name} failed: {message}" for name, message in self.errors.items()]
        return _summary(sum(map(len, self.hits.values())), sum(self.n_hidden.values()), problems)

    def _rows(self) -> Iterator[TableRow]:
        return ({"memory": name, **row} for name, hits in self.hits.items() for hit in hits for row in hit._rows())


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """Records that a vector store found, best first. The four lists have one length."""

    ids: list[str]
    distances: list[float]
    """1 − similarity for a vector query, 1 / (1 + BM25) for a text query. Lower is closer."""

    metadatas: list[dict[str, Any]]
    documents: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Records that may answer a query, by vector and by words, in no order. The lists have one length."""

    ids: list[str]
    similarities: list[float]
    """Cosine of the query with the record's best window, in [-1, 1], or 0 if there is no vector."""

    words: list[float]
    """BM25 of the query's words in the record: 0 if they share no words, or there is no text."""

    metadatas: list[dict[str, Any]]
    """Without content."""

    context: Sequence[float] = ()
    """The words of the records just after it, as far as they count for it. Empty if that was not asked."""

    word_information: float
    """Least upper bound of `words`, neared by a record that holds all words of the query often.

    A word that no record holds counts as the rarest would. 0 if the text has no words.
    """


def _summary(n_hits: int, n_hidden: int, remarks: Sequence[str]) -> str:
    hidden = f"{n_hidden:,} not relevant enough" if n_hidden else ""
    return ". ".join(filter(None, [f"{n_hits:,} {'hit' if n_hits == 1 else 'hits'}", hidden, *remarks]))


def check_limit(limit: object, name: str = "k") -> None:
    """Raise `InvalidInput` unless a limit is a whole number from 1 up."""
    if not _is_whole(limit) or limit < 1:
        raise InvalidInput(f"{name} should be 1 or more, but is {limit!r}")


def limit_of_list(limit: int, name: str = "k") -> int:
    """Return the length of a list that a specified method returns at most: 0 for a limit below 1.

    The methods that the specifications name return an empty list there, where others raise.

    Raises:
        InvalidInput: It is not a whole number.
    """
    if not _is_whole(limit):
        raise InvalidInput(f"{name} should be a whole number, but is {limit!r}")
    return max(limit, 0)


def _is_whole(limit: object) -> TypeGuard[int]:
    return isinstance(limit, Integral) and not isinstance(limit, bool)
