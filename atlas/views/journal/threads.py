"""The list of a journal by day. What fixes a crash, or follows from it, stands indented below it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from atlas.memory.journal.links import CRASH
from atlas.memory.system import MemorySystem
from atlas.views.journal.list import EntryRow, both, count_with_crashes, light_rows
from atlas.views.kinds.journal import JOURNAL
from atlas.views.lists.listing import listed_caption, order_of
from atlas.views.lists.queries import Listing, Query, on_page
from atlas.views.shared.wording import day_text

FIXES, FOLLOWS, REFERS = "fixes it", "follows from it", "refers to it"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an entry in the list."""

    id: str
    relation: str = ""
    """Its relation to the crash above it, or empty for an entry at the margin."""


def thread_page(memory: MemorySystem, query: Query, page: int = 1) -> Listing[EntryRow]:
    """Return one page of the entries in the order of time, with threads. Pages count from 1."""
    count = count_with_crashes(memory, query)
    places = thread_places(memory, query.where, is_descending=order_of(JOURNAL, query).is_descending)
    caption = listed_caption(count.n, memory.journal.count(), JOURNAL.noun, is_narrow=bool(query.where))
    return Listing(
        rows=tuple(_rows_at(memory, on_page(places, page))),
        n=count.n,
        n_records=count.n,
        caption=caption if query.where else " ".join(filter(None, [caption, _days(memory)])),
        narrowing=count.narrowing,
    )


def thread_places(memory: MemorySystem, where: Mapping[str, Any], *, is_descending: bool) -> list[Place]:
    """Return all entries, each crash above its thread, oldest first. The newest thread was continued last."""
    times, ids = memory.journal.column("created_at", where), memory.journal.ids(where)
    above = _crashes_above(memory, where)
    by_time = sorted(ids, key=lambda entry_id: times.get(entry_id, ""))
    below: dict[str, list[Place]] = defaultdict(list)
    for entry_id in by_time:
        if entry_id in above:
            crash_id, relation = above[entry_id]
            below[crash_id].append(Place(entry_id, relation))
    threads = [(Place(each), *below[each]) for each in by_time if each not in above]
    if is_descending:
        threads = sorted(threads, key=lambda thread: times.get(thread[-1].id, ""))[::-1]
    return [place for thread in threads for place in thread]


def _crashes_above(memory: MemorySystem, where: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the crash that an entry is shown below, and its relation to the crash, by the entry's id.

    A mere reference counts only in the round of the crash: a later one sums up several.
    """
    column = memory.journal.column
    crashes = {*memory.journal.ids(both(where, {"entry_type": CRASH}))}
    rounds = column("generation", where)
    above: dict[str, tuple[str, str]] = {}
    for crash_id, fixes in column("fixed_by", where).items():
        if crash_id in crashes:
            above |= {fix: (crash_id, FIXES) for fix in _listed(fixes) if fix in rounds and fix not in above}
    for key, relation in (("caused_by", FOLLOWS), ("refers_to", REFERS)):
        for entry_id, targets in column(key, where).items():
            near = (
                each
                for each in _listed(targets)
                if each in crashes and (relation == FOLLOWS or rounds[each] == rounds[entry_id])
            )
            if entry_id not in above and (crash_id := next(near, "")):
                above[entry_id] = (crash_id, relation)
    return {entry_id: found for entry_id, found in above.items() if entry_id not in crashes}


def _listed(values: Any) -> Sequence[str]:
    return (values,) if isinstance(values, str) else values


def _rows_at(memory: MemorySystem, places: Sequence[Place]) -> Iterator[EntryRow]:
    """Yield the rows of a page. The day is left out below a row of the same day."""
    stored = memory.journal.browse({"id": {"$in": [place.id for place in places]}}) if places else []
    rows = {row.id: row for row in light_rows(memory, stored)}
    above: date | None = None
    for place in places:
        if place.id not in rows:
            continue
        row = rows[place.id]
        day = row.created_at.date() if row.created_at else None
        yield replace(
            row,
            depth=bool(place.relation),
            links=" · ".join(filter(None, [place.relation, row.links])),
            shown_at=None if day == above else row.created_at,
        )
        above = day


def _days(memory: MemorySystem) -> str:
    """Return `from 31 Aug 2026 to 18 Nov 2026`, or an empty string without a known time."""
    ends = [
        row.created_at
        for is_last in (False, True)
        for row in light_rows(memory, memory.journal.browse(descending=is_last, limit=1))
        if row.created_at
    ]
    return f"from {' to '.join(dict.fromkeys(map(day_text, ends)))}" if ends else ""
