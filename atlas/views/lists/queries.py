"""Queries of lists, their results, and pages of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar

from atlas.core.hits import Hit
from atlas.core.operations import Marks, Usage
from atlas.memory.base.ranking import explain
from atlas.memory.system import MemorySystem
from atlas.views.kinds.filters import Values, without_empty
from atlas.views.kinds.kind import Kind
from atlas.views.shared.scope import BEST_MATCH

PAGE_ROWS = 25

SEARCH_ROWS = 200
"""Hits of a search that are shown. Lower ones no longer answer the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query of a list, with its filters."""

    text: str = ""
    by: str = BEST_MATCH
    """`BEST_MATCH` or `WORDS`."""

    values: Values = field(default_factory=dict)
    """Values of the kind's filters, by name."""

    where: Mapping[str, Any] = field(default_factory=dict)
    """The filter in the store's format."""

    order: str = ""
    """One of the kind's orders, or empty for the first. A search has its own order."""

    with_irrelevant: bool = False
    """True if a search by best match also lists records that are not relevant to the question."""

    distinct: bool = False
    """True if attempts at one task are shown as one row. A search joins only similar attempts."""

    @property
    def is_search(self) -> bool:
        """True if there is a question."""
        return bool(self.text.strip())

    @property
    def is_by_words(self) -> bool:
        """True if only words count, so that no text is embedded."""
        return self.by != BEST_MATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The results of a search, at most `SEARCH_ROWS`."""

    ids: tuple[str, ...]
    """Ids of the results, best first."""

    hits: Mapping[str, Hit[str]] = field(default_factory=dict)
    """By id, empty if the search ranked by words alone."""

    n_hidden: int = 0
    """Hits that are not relevant enough, at most as many as fill `SEARCH_ROWS`."""

    notes: tuple[str, ...] = ()
    """Sentences on the question itself, such as a field of the filter that no record has."""

    @property
    def n_records(self) -> int:
        """Number of records, including grouped ones."""
        if self.hits:
            return sum(sum(hit.outcomes.values()) or 1 for hit in self.hits.values())
        return len(self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a list. Texts from the store are untrusted."""

    id: str
    marks: str = ""
    """`pinned, retired`, and the tags."""

    relevance: float | None = None
    """Relevance to the question, in [0, 1], or None in a list that is not ranked by best match."""

    why: str = ""
    """The reason for its rank, in one sentence without texts of memories."""

    state: RowState = ""
    """How it is drawn, as `row_state` returns it."""

    group: str = ""
    """Trusted heading above the first of the rows that share it, or empty for none."""

    @property
    def facts(self) -> tuple[str, ...]:
        """Short trusted texts on it that few records have. They stand behind or below the text that opens the row."""
        return ()

    @property
    def hints(self) -> Mapping[str, str]:
        """Texts that stand under the pointer, by the name of a column. Untrusted."""
        return {}

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the grouped records."""
        return (self.id,)


@dataclass(frozen=True, slots=True)
class Narrowing:
    """A sentence on some records of a list, and the filter that lists them."""

    sentence: str
    """It contains no text of a memory."""

    filter: str
    """Name of a filter of the kind."""

    value: str


@dataclass(frozen=True, slots=True)
class Count:
    """How many records pass a filter."""

    n: int
    note: str = ""
    """A sentence on them for the caption, or an empty string."""

    narrowing: Narrowing | None = None


RowState = Literal["", "problem", "retired"]

T = TypeVar("T")
R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[R]):
    """A page of a list."""

    rows: tuple[R, ...]
    n: int
    """Number of rows on all pages."""

    n_records: int
    """Number of records on all pages, including grouped ones."""

    caption: str
    """The number of rows and of all records. It contains no text of a memory."""

    narrowing: Narrowing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of the open record in a list."""

    number: int
    """Number of its row, counted from 1."""

    n: int
    """Number of rows on all pages."""

    previous: str | None
    """Id of the record in the row above, or None for the first."""

    next: str | None
    """Id of the record in the row below, or None for the last."""


def n_pages(n_rows: int) -> int:
    """Return the number of pages, at least one."""
    return max(1, math.ceil(n_rows / PAGE_ROWS))


def page_start(page: int, n_rows: int) -> int:
    """Return the offset of a page, or of the nearest valid one."""
    return (min(max(page, 1), n_pages(n_rows)) - 1) * PAGE_ROWS


def on_page(items: Sequence[T], page: int) -> Sequence[T]:
    """Return the items of one page, counted from 1."""
    return items[page_start(page, len(items)) :][:PAGE_ROWS]


def query_of(memory: MemorySystem, kind: Kind, text: str = "", *, values: Values, **fields: Any) -> Query:
    """Return the query that lists the records of a kind.

    Args:
        values: Values of the kind's filters, by name. Empty ones are left out.
        fields: Further fields of the query.
    """
    values = without_empty(values)
    return Query(text=text, values=values, where=kind.where(memory, values), **fields)


def search(memory: MemorySystem, kind: Kind, query: Query) -> SearchResult:
    """Return the results of a query. It does not count as a retrieval, and includes buried records."""
    records = kind.records(memory)
    if query.is_by_words:
        items = records.search_words(query.text, SEARCH_ROWS, where=query.where, with_buried=True)
        return SearchResult(ids=tuple(item.id for item in items), notes=records.filter_notes(query.where))
    ranked = records.retrieve(
        query.text,
        SEARCH_ROWS,
        where=query.where,
        threshold=0.0 if query.with_irrelevant else None,
        distinct=query.distinct,
        count_retrieval=False,
        with_buried=True,
    )
    hits = {hit.item.id: hit.with_item(hit.item.id) for hit in ranked.hits}
    return SearchResult(ids=tuple(hits), hits=hits, n_hidden=ranked.n_hidden, notes=ranked.notes)


def ranking(hits: Mapping[str, Hit[str]], record_id: str) -> dict[str, Any]:
    """Return the relevance of a line and the reason for its rank, as arguments of `Row`, empty if there is no hit."""
    hit = hits.get(record_id)
    return {} if hit is None else {"relevance": hit.relevance, "why": explain(hit)}


def last_use(usage: Usage) -> datetime | None:
    """Return the time of the last use in UTC, or None before any."""
    return usage.last_used_at.astimezone(UTC) if usage.last_used_at else None


def row_state(marks: Marks, *, is_problem: bool = False, is_retired: bool = False) -> RowState:
    """Return how all lists draw a record: dimmed if agents no longer get it, marked if a person should look at it.

    Args:
        marks: Its marks. A buried record is retired, and one that waits for a person is a problem.
        is_problem: Whether it does clearly worse than the others, or lacks a fix.
        is_retired: Whether it is retired or archived.
    """
    if is_retired or marks.buried:
        return "retired"
    return "problem" if is_problem or marks.quarantine or marks.held_for else ""


def marks_text(marks: Marks) -> str:
    """Return `pinned, retired` and the tags, as one line."""
    words = {
        "in quarantine": bool(marks.quarantine),
        "waiting for review": bool(marks.held_for),
        "pinned": marks.pinned,
        "retired": marks.buried,
        "has a note": bool(marks.note),
    }
    return ", ".join([*(name for name, holds in words.items() if holds), *marks.tags])
