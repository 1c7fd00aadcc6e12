"""The list of a journal by day. What fixes a crash, or follows from it, stands indented below it on the same page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from atlas.memory.journal.links import CRASH
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.journal.list import EntryRow, count_with_crashes, light_rows
from atlas.views.kinds.journal import JOURNAL
from atlas.views.lists.listing import listed_caption, order_of
from atlas.views.lists.queries import PAGE_ROWS, Listing, Query, page_start
from atlas.views.shared.wording import day_text

FIXES, FOLLOWS, REFERS = "fixes it", "follows from it", "refers to it"


def thread_page(memory: MemorySystem, query: Query, page: int = 1) -> Listing[EntryRow]:
    """Return one page of the entries in the order of time, with threads. Pages count from 1."""
    count, order = count_with_crashes(memory, query), order_of(JOURNAL, query)
    stored = memory.journal.browse(
        query.where,
        order_by=order.key,
        descending=order.is_descending,
        limit=PAGE_ROWS,
        offset=page_start(page, count.n),
    )
    caption = listed_caption(count.n, memory.journal.count(), JOURNAL.noun, is_narrow=bool(query.where))
    return Listing(
        rows=tuple(_thread_rows(memory, stored)),
        n=count.n,
        n_records=count.n,
        caption=caption if query.where else " ".join(filter(None, [caption, _days(memory)])),
        narrowing=count.narrowing,
    )


def _thread_rows(memory: MemorySystem, stored: Sequence[Mapping[str, Any]]) -> Iterator[EntryRow]:
    """Yield the rows of a page, each crash above its thread, oldest first.

    A thread has the place of its first entry in the order of the page. The day is left out below a row of the same day,
    unless that row is indented.
    """
    by_time = sorted(stored, key=lambda found: found["metadata"].get("created_at", ""))
    entries = {found["id"]: found["metadata"] for found in by_time}
    above = _crashes_above(entries)
    heads = (above.get(found["id"], (found["id"], ""))[0] for found in stored)
    threads = {head_id: [head_id] for head_id in heads}
    for entry_id in entries:
        if entry_id in above:
            threads[above[entry_id][0]].append(entry_id)
    rows = {row.id: row for row in light_rows(memory, stored)}
    day, depth = None, 0
    for entry_id in chain(*threads.values()):
        row, relation = rows[entry_id], above.get(entry_id, ("", ""))[1]
        last_day, day = day, row.created_at.date() if row.created_at else None
        last_depth, depth = depth, int(bool(relation))
        yield replace(
            row,
            depth=depth,
            links=relation or row.links,
            shown_at=None if day == last_day and depth >= last_depth else row.created_at,
        )


def _crashes_above(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return the crash that an entry of the page is shown below, and its relation to the crash, by the entry's id.

    Args:
        entries: The metadata of the entries of the page by id, oldest first.
    """
    above: dict[str, tuple[str, str]] = {}
    crashes = {entry_id for entry_id, found in entries.items() if found["entry_type"] == CRASH}
    for entry_id, crash_id, relation in _relations(entries):
        if entry_id in entries.keys() - crashes and crash_id in crashes:
            above.setdefault(entry_id, (crash_id, relation))
    return above


def _relations(entries: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield an entry, what it is linked to, and its relation to that, closest relations first.

    A mere reference counts only in the round of the crash: a later one sums up several.
    """
    for entry_id, found in entries.items():
        yield from ((fix, entry_id, FIXES) for fix in found.get("fixed_by", ()))
    for entry_id, found in entries.items():
        yield from ((entry_id, cause, FOLLOWS) for cause in found.get("caused_by", ()))
    for entry_id, found in entries.items():
        near = (each for each in found.get("refers_to", ()) if each in entries)
        yield from ((entry_id, each, REFERS) for each in near if entries[each]["generation"] == found["generation"])


def _days(memory: MemorySystem) -> str:
    """Return `from 31 Aug 2026 to 18 Nov 2026`, or an empty string without a known time."""
    ends = (
        stored_instant(row["metadata"])
        for is_last in (False, True)
        for row in memory.journal.browse(descending=is_last, limit=1)
    )
    days = dict.fromkeys(day_text(end) for end in ends if end)
    return f"from {' to '.join(days)}" if days else ""
