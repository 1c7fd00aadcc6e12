"""The entries just before an entry: their beginnings are embedded and indexed with it, as long as they are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from atlas.core.types import JournalEntry
from atlas.memory.base.columns import Backing, Entry
from atlas.memory.journal.records import from_row, text_of, time_of, title_of, to_entry
from atlas.storage.damage import stored_instant

N_NEIGHBOURS = 2
"""Entries of its generation just before an entry, whose beginnings are embedded and indexed with it."""

Log = Mapping[int, Sequence[str]]
"""The ids of entries by generation, in the order in which they stand there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An entry's place in the log, and its beginning."""

    id: str
    generation: int
    written_at: datetime
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """Entries of some generations, as they were added."""

    generations: Mapping[str, int]
    """By id."""

    written_at: Mapping[str, str]

    def log(self, *, without: Set[str] = frozenset(), moved: Mapping[str, int] = MappingProxyType({})) -> Log:
        """The entries in the order of their time; of one instant, what was added first comes first."""
        return _by_generation(
            (entry_id, moved.get(entry_id, self.generations[entry_id]))
            for entry_id in sorted(self.generations, key=self.written_at.__getitem__)
            if entry_id not in without
        )

    def added(self) -> Log:
        """The entries as they were added: what came into the log in between later was not there for those around."""
        return _by_generation(self.generations.items())


def line_of(row: Mapping[str, Any]) -> Line:
    """The place of a stored entry."""
    held = row["metadata"]
    return Line(
        id=row["id"],
        generation=held["generation"],
        written_at=stored_instant(held),
        title=held["title"],
    )


def before_each(entries: Sequence[JournalEntry], stored: Sequence[Line]) -> dict[str, tuple[str, ...]]:
    """The beginnings of the entries of the same generation just before each one, oldest first, by id.

    Args:
        stored: What the journal holds already of those generations.
    """
    new = {
        entry.id: Line(
            id=entry.id, generation=entry.generation, written_at=time_of(entry), title=title_of(entry.content)
        )
        for entry in entries
    }
    latest: dict[int, list[str]] = defaultdict(list)
    found = {}
    for line in sorted([*stored, *new.values()], key=lambda line: line.written_at):
        lines = latest[line.generation]
        if line.id in new:
            found[line.id] = tuple(lines[-N_NEIGHBOURS:])
        lines.append(line.title)
    return found


def renewed(
    store: Backing, *, gone: Sequence[str] = (), changed: Mapping[str, JournalEntry] = MappingProxyType({})
) -> list[Entry]:
    """What a store should keep of the entries whose texts are other ones once some are deleted and some say others.

    Those of the same generations are looked through once, by their times alone; only the few after each are read.

    Args:
        gone: The ids of entries that go.
        changed: Entries as they will be, by id; they are among the result where anything of them changes.
    """
    touched = {*gone, *changed}
    held = {row["metadata"]["generation"] for row in store.peek(list(touched))}
    lines = _read_lines(store, held | {entry.generation for entry in changed.values()})
    log = lines.log(without=set(gone), moved={entry.id: entry.generation for entry in changed.values()})
    followers = set(changed).union(*(_followers(one, touched) for one in (lines.log(), lines.added(), log)))
    rows = store.get([entry_id for entry_id in lines.generations if entry_id in followers - set(gone)])
    before = _before(log, [row["id"] for row in rows])
    titles = store.titles(list({one for neighbours in before.values() for one in neighbours}))
    titles |= {entry.id: title_of(entry.content) for entry in changed.values()}
    made = []
    for row in rows:
        entry = changed.get(row["id"])
        metadata = row["metadata"] if entry is None else to_entry(entry).metadata
        beginnings = [titles[one] for one in before[row["id"]] if one in titles]
        document = text_of((entry or from_row(row)).content, beginnings)
        if (document, metadata) != (row["document"], row["metadata"]):
            made.append(Entry(row["id"], document, metadata))
    return made


def _read_lines(store: Backing, generations: Set[int]) -> _Lines:
    where = {"generation": {"$in": sorted(generations)}}
    if not generations:
        return _Lines(generations={}, written_at={})
    ids = store.ids(where)
    held, written_at = store.column("generation", where), store.column("created_at", where)
    there = [one for one in ids if held.get(one) in generations and one in written_at]  # others may delete meanwhile
    return _Lines(generations={one: held[one] for one in there}, written_at=written_at)


def _by_generation(lines: Iterable[tuple[str, int]]) -> Log:
    log: dict[int, list[str]] = defaultdict(list)
    for entry_id, generation in lines:
        log[generation].append(entry_id)
    return log


def _followers(log: Log, touched: Set[str]) -> set[str]:
    """The few entries after each of those that are touched."""
    return {
        follower
        for ids in log.values()
        for place, entry_id in enumerate(ids)
        if entry_id in touched
        for follower in ids[place + 1 : place + 1 + N_NEIGHBOURS]
    }


def _before(log: Log, wanted: Sequence[str]) -> dict[str, Sequence[str]]:
    """The ids of the few entries just before each one."""
    among = set(wanted)
    return {
        entry_id: ids[max(0, place - N_NEIGHBOURS) : place]
        for ids in log.values()
        for place, entry_id in enumerate(ids)
        if entry_id in among
    }
