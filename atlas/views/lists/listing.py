"""Lists of all kinds of memories: a question, a page of rows, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind, Order
from atlas.views.lists.kind_views import KindViews
from atlas.views.lists.queries import (
    PAGE_ROWS,
    SEARCH_ROWS,
    Count,
    Listing,
    Query,
    R,
    SearchResult,
    on_page,
    page_start,
)
from atlas.views.shared.wording import counted, hidden_text


def found_page(
    memory: MemorySystem, views: KindViews[R], query: Query, result: SearchResult, page: int = 1
) -> Listing[R]:
    """Return one page of search results. The first page is 1."""
    kind = views.kind
    items = kind.records(memory).get_many(on_page(result.ids, page))
    parts = [_found_caption(memory, kind, query, result), views.found_note(memory, result), *result.notes]
    n, caption = len(result.ids), " · ".join(filter(None, parts))
    return Listing(rows=views.rows(memory, items, result.hits), n=n, n_records=n, caption=caption)


def listed_page(memory: MemorySystem, views: KindViews[R], query: Query, page: int = 1) -> Listing[R]:
    """Return one page of a list without a question, counted from 1."""
    if query.distinct and views.grouped_page is not None:
        return views.grouped_page(memory, query, page)
    kind, records = views.kind, views.kind.records(memory)
    count = views.count(memory, query) if views.count else Count(records.count(query.where))
    n_all = records.count() if query.where else count.n
    caption = listed_caption(count.n, n_all, kind.noun, is_narrow=bool(query.where))
    return Listing(
        rows=_rows_on(memory, views, query, page_start(page, count.n)),
        n=count.n,
        n_records=count.n,
        caption=" · ".join(filter(None, [caption, count.note])),
        narrowing=count.narrowing,
    )


def page_with(
    memory: MemorySystem, views: KindViews[R], query: Query, result: SearchResult | None, record_id: str
) -> int | None:
    """Return the page of a list that has a record, counted from 1, or None if the list does not have it."""
    rows: Sequence[Sequence[str]]
    if result is not None:
        rows = [(each,) for each in result.ids]
    elif query.distinct and views.grouped_ids is not None:
        rows = views.grouped_ids(memory, query)
    else:
        rows = [(each,) for each in listed_ids(memory, views.kind, query)]
    return next((at // PAGE_ROWS + 1 for at, ids in enumerate(rows) if record_id in ids), None)


def listed_ids(memory: MemorySystem, kind: Kind, query: Query) -> list[str]:
    """Return the ids on all pages of a list without a question, in its order. By uses, retired ones come last."""
    records, order = kind.records(memory), order_of(kind, query)
    rows = records.browse(query.where, order_by=order.key, descending=order.is_descending)
    ids = [row["id"] for row in rows]
    worth = order.worth
    if worth is None:
        return ids
    n_uses, n_good = records.column("usage.n_uses", query.where), records.column("usage.n_successes", query.where)
    left_out = kind.left_out(memory)
    used = [record_id for record_id in ids if n_uses.get(record_id)]
    used.sort(key=lambda record_id: worth(n_good.get(record_id, 0), n_uses[record_id]), reverse=True)
    in_order = used + [record_id for record_id in ids if not n_uses.get(record_id)]
    return sorted(in_order, key=left_out.__contains__)


def similar_rows(memory: MemorySystem, views: KindViews[R], record_id: str, k: int = 8) -> tuple[R, ...]:
    """Return rows of the records nearest to a record."""
    similar = views.kind.records(memory).similar(record_id, k, with_buried=True)
    hits = {hit.item.id: hit.with_item(hit.item.id) for hit in similar}
    return views.rows(memory, [hit.item for hit in similar], hits)


def order_of(kind: Kind, query: Query) -> Order:
    """Return the order of a list."""
    return kind.orders[query.order or next(iter(kind.orders))]


def order_text(kind: Kind, query: Query) -> str:
    """Return the order of a list within a sentence: `newest first`."""
    label = query.order or next(iter(kind.orders))
    return label[0].lower() + label[1:]


def _rows_on(memory: MemorySystem, views: KindViews[R], query: Query, start: int) -> tuple[R, ...]:
    kind, order = views.kind, order_of(views.kind, query)
    records = kind.records(memory)
    if order.worth is not None:
        ids = listed_ids(memory, kind, query)[start : start + PAGE_ROWS]
        return views.rows(memory, records.get_many(ids), {})
    rows = records.browse(
        query.where, order_by=order.key, descending=order.is_descending, limit=PAGE_ROWS, offset=start
    )
    if views.stored_rows is not None:
        return views.stored_rows(memory, rows)
    return views.rows(memory, records.get_many([row["id"] for row in rows]), {})


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


def listed_caption(n: int, n_all: int, noun: str, *, is_narrow: bool) -> str:
    """Return `3 of 36 strategies`, or `36 strategies` for all of them."""
    total = counted(n_all, noun)
    return f"{n:,} of {total}" if is_narrow else total
