"""Lists of all kinds of memories: a question, a page of rows, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from atlas.core.hits import Hit
from atlas.core.operations import Marks
from atlas.memory.base.ranking import explain
from atlas.memory.system import MemorySystem
from atlas.views.kinds.filters import Values, without_empty
from atlas.views.kinds.kind import Kind, Order
from atlas.views.shared.scope import BEST_MATCH
from atlas.views.shared.wording import counted, hidden_text

PAGE_ROWS = 25

SEARCH_ROWS = 200
"""Hits of a search that are shown. Lower ones no longer answer the question."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A person's question to a list, and what narrows it."""

    text: str = ""
    by: str = BEST_MATCH
    """`BEST_MATCH` or `WORDS`."""

    values: Values = field(default_factory=dict)
    """Values of the kind's filters, by name."""

    where: Mapping[str, Any] = field(default_factory=dict)
    """The filter, as the store takes it."""

    order: str = ""
    """One of the kind's orders, or empty for the first. A search has its own order."""

    with_irrelevant: bool = False
    """True if a search by best match also lists records that have nothing to do with the question."""

    distinct: bool = False
    """True if a search shows attempts at one task that are alike as one row: the best of them."""

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
    """Everything that answers a question, at most `SEARCH_ROWS`."""

    ids: tuple[str, ...]
    """Best first."""

    hits: Mapping[str, Hit[str]] = field(default_factory=dict)
    """By id. Empty if the search ranked by words alone."""

    n_hidden: int = 0
    """Hits with too little to do with the question, no more than fill `SEARCH_ROWS`."""

    notes: tuple[str, ...] = ()
    """Sentences on the question itself, such as a field of the filter that no record has."""

    @property
    def n_records(self) -> int:
        """Number of records that the ids stand for."""
        return sum(sum(hit.outcomes.values()) or 1 for hit in self.hits.values()) if self.hits else len(self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a list. Texts from the store are untrusted."""

    id: str
    marks: str = ""
    """`pinned, buried`, and the tags."""

    relevance: float | None = None
    """Relevance to the question, in [0, 1], or None in a list that is not ranked by best match."""

    why: str = ""
    """The reason for its place, in one sentence that holds no text of a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[R]):
    """A page of a list."""

    rows: tuple[R, ...]
    n: int
    """Of all pages."""

    caption: str
    """How many there are, and of how many. It holds no text of a memory."""


def n_pages(n_rows: int) -> int:
    """Return how many pages the rows take, at least one."""
    return max(1, math.ceil(n_rows / PAGE_ROWS))


def page_start(page: int, n_rows: int) -> int:
    """Return how many rows stand before a page, or before the nearest one if there is no such page."""
    return (min(max(page, 1), n_pages(n_rows)) - 1) * PAGE_ROWS


def on_page(items: Sequence[T], page: int) -> Sequence[T]:
    """Return the items of one page, counted from 1."""
    return items[page_start(page, len(items)) :][:PAGE_ROWS]


@dataclass(frozen=True, slots=True)
class Count:
    """How many records pass a filter."""

    n: int
    note: str = ""
    """A sentence on them for the caption, or an empty text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordList(Generic[R]):
    """The list of one kind of memory."""

    kind: Kind
    rows: Callable[[MemorySystem, Sequence[Any], Mapping[str, Hit[str]]], tuple[R, ...]]
    """Lines of records, given the hits that found them by id, where a search ranked by meaning."""

    stored_rows: Callable[[MemorySystem, Sequence[Mapping[str, Any]]], tuple[R, ...]] | None = None
    """Lines of rows as `browse` gives them, for kinds whose records need not be read whole."""

    count: Callable[[MemorySystem, Query], Count] | None = None
    """Number of records of a list without a question, and what its caption adds. Without it, they are only counted."""

    found_note: Callable[[MemorySystem, SearchResult], str] = lambda memory, result: ""
    """The addition to the caption of a search."""


def query_of(memory: MemorySystem, kind: Kind, text: str = "", *, values: Values, **asked: Any) -> Query:
    """Return a question to the list of a kind.

    Args:
        values: Values of the kind's filters, by name. Empty ones are left out.
        asked: Further fields of the question.
    """
    values = without_empty(values)
    return Query(text=text, values=values, where=kind.where(memory, values), **asked)


def search(memory: MemorySystem, kind: Kind, query: Query) -> SearchResult:
    """Return the answers to a question. Looking counts as no retrieval, and what is buried is found."""
    records = kind.records(memory)
    if query.is_by_words:
        found = records.search_words(query.text, SEARCH_ROWS, where=query.where, with_buried=True)
        return SearchResult(ids=tuple(item.id for item in found), notes=records.filter_notes(query.where))
    ranked = records.retrieve(
        query.text,
        SEARCH_ROWS,
        where=query.where,
        threshold=0.0 if query.with_irrelevant else None,
        distinct=query.distinct,
        count_retrieval=False,
        with_buried=True,
    )
    hits = {hit.item.id: hit.of(hit.item.id) for hit in ranked.hits}
    return SearchResult(ids=tuple(hits), hits=hits, n_hidden=ranked.n_hidden, notes=ranked.notes)


def found_page(
    memory: MemorySystem, record_list: RecordList[R], query: Query, result: SearchResult, page: int = 1
) -> Listing[R]:
    """Return one page of what a search found, counted from 1."""
    kind = record_list.kind
    items = kind.records(memory).get_many(on_page(result.ids, page))
    parts = [_found_caption(memory, kind, query, result), record_list.found_note(memory, result), *result.notes]
    return Listing(
        rows=record_list.rows(memory, items, result.hits), n=len(result.ids), caption=" · ".join(filter(None, parts))
    )


def listed_page(memory: MemorySystem, record_list: RecordList[R], query: Query, page: int = 1) -> Listing[R]:
    """Return one page of a list without a question, counted from 1."""
    kind, records = record_list.kind, record_list.kind.records(memory)
    count = record_list.count(memory, query) if record_list.count else Count(records.count(query.where))
    n_all = records.count() if query.where else count.n
    caption = listed_caption(count.n, n_all, kind.noun, is_narrow=bool(query.where))
    return Listing(
        rows=_rows_on(memory, record_list, query, page_start(page, count.n)),
        n=count.n,
        caption=" · ".join(filter(None, [caption, count.note])),
    )


def listed_ids(memory: MemorySystem, kind: Kind, query: Query) -> list[str]:
    """Return the ids on all pages of a list without a question, in its order."""
    records, order = kind.records(memory), order_of(kind, query)
    rows = records.browse(query.where, order_by=order.key, descending=order.is_descending)
    ids = [row["id"] for row in rows]
    worth = order.worth
    if worth is None:
        return ids
    n_uses, n_good = records.column("usage.n_uses", query.where), records.column("usage.n_successes", query.where)
    used = [record_id for record_id in ids if n_uses.get(record_id)]
    used.sort(key=lambda record_id: worth(n_good.get(record_id, 0), n_uses[record_id]), reverse=True)
    return used + [record_id for record_id in ids if not n_uses.get(record_id)]


def similar_rows(memory: MemorySystem, record_list: RecordList[R], record_id: str, k: int = 8) -> tuple[R, ...]:
    """Return lines of the records nearest to one."""
    found = record_list.kind.records(memory).similar(record_id, k, with_buried=True)
    hits = {hit.item.id: hit.of(hit.item.id) for hit in found}
    return record_list.rows(memory, [hit.item for hit in found], hits)


def order_of(kind: Kind, query: Query) -> Order:
    """Return the order of a list."""
    return kind.orders[query.order or next(iter(kind.orders))]


def _rows_on(memory: MemorySystem, record_list: RecordList[R], query: Query, start: int) -> tuple[R, ...]:
    kind, order = record_list.kind, order_of(record_list.kind, query)
    records = kind.records(memory)
    if order.worth is not None:
        ids = listed_ids(memory, kind, query)[start : start + PAGE_ROWS]
        return record_list.rows(memory, records.get_many(ids), {})
    rows = records.browse(
        query.where, order_by=order.key, descending=order.is_descending, limit=PAGE_ROWS, offset=start
    )
    if record_list.stored_rows is not None:
        return record_list.stored_rows(memory, rows)
    return record_list.rows(memory, records.get_many([row["id"] for row in rows]), {})


def _found_caption(memory: MemorySystem, kind: Kind, query: Query, result: SearchResult) -> str:
    among = counted(kind.records(memory).count(query.where), kind.noun)
    if query.where and kind.is_scoped:
        among += " in scope"
    return _words_caption(result, among) if query.is_by_words else _best_match_caption(query, result, among)


def _words_caption(result: SearchResult, among: str) -> str:
    n = len(result.ids)
    if not n:
        return f"Nothing found among {among}"
    return (
        f"{_the_best(n)}{n:,} that {'holds' if n == 1 else 'hold'} any of these words among {among}, best match first"
    )


def _best_match_caption(query: Query, result: SearchResult, among: str) -> str:
    n, n_records = len(result.ids), result.n_records
    joined = f"shown as {n:,}, " if query.distinct and n < n_records else ""
    if query.with_irrelevant:
        return f"The {n_records:,} nearest among {among}, relevant or not, {joined}best first"
    hidden = hidden_text(result.n_hidden, n_shown=n, most=SEARCH_ROWS)
    if not n:
        return ", ".join(filter(None, [f"Nothing relevant among {among}", hidden]))
    are = "is" if n_records == 1 else "are"
    found = f"{_the_best(n)}{n_records:,} of {among} {are} relevant, {joined}best first"
    return " · ".join(filter(None, [found, hidden]))


def _the_best(n: int) -> str:
    return "The best " if n == SEARCH_ROWS else ""


def ranking(hits: Mapping[str, Hit[str]], record_id: str) -> dict[str, Any]:
    """Return the relevance of a line and why it stands where it does, as `Row` takes them. Empty without a hit."""
    hit = hits.get(record_id)
    return {} if hit is None else {"relevance": hit.relevance, "why": explain(hit)}


def marks_text(marks: Marks) -> str:
    """Return `pinned, buried` and the tags, as one line."""
    words = {
        "waiting for review": bool(marks.held_for),
        "pinned": marks.pinned,
        "buried": marks.buried,
        "note": bool(marks.note),
    }
    return ", ".join([*(name for name, holds in words.items() if holds), *marks.tags])


def listed_caption(n: int, n_all: int, noun: str, *, is_narrow: bool) -> str:
    """Return `3 of 36 strategies`, or `36 strategies` if none is left out."""
    total = counted(n_all, noun)
    return f"{n:,} of {total}" if is_narrow else total
