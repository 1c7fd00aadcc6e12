"""The log of a journal: entries written with what stood just before them, changed, deleted and read newest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from atlas.core.errors import PlanOutdated
from atlas.core.journal_codec import TIERS, check_names, checked_entry, decode_entry
from atlas.core.types import JournalEntry, Link
from atlas.memory.base.latest import newest
from atlas.memory.base.memory import Row, not_found
from atlas.memory.base.records import Entry, columns, retried
from atlas.memory.base.versions import item_versions
from atlas.memory.journal.records import (
    changed_row,
    from_row,
    text_of,
    time_of,
    title_of,
    to_entry,
    with_own,
    written_at,
)
from atlas.protocols.infra import Clock, WholeEmbedder
from atlas.storage.collection import Collection
from atlas.storage.damage import stored_instant
from atlas.storage.records import Moment

NOUN = "journal entry"

LIVE = TIERS[:2]
"""The tiers that go into prompts."""

N_LATEST = 50
"""Entries among which those just before a new one are looked for."""

N_NEIGHBOURS = 2
"""Entries of its generation just before an entry, whose beginnings are embedded and indexed with it."""

Log = Mapping[int, Sequence[str]]
"""The ids of entries by generation, in the order in which they stand there."""


@dataclass(frozen=True, slots=True)
class EntryLog:
    """The entries of a journal in one view of their collection."""

    store: Collection
    embedder: WholeEmbedder
    clock: Clock

    def within(self, kind: str, reason: str = "") -> EntryLog:
        """Return this log, all of whose writes are one operation, or itself where one has begun."""
        return self if self.store.operation_id else replace(self, store=self.store.within(kind, reason))

    # Reading

    def recent(
        self, limit: int = 10, entry_types: Sequence[str] | None = None, *, tiers: Sequence[str] = LIVE
    ) -> list[JournalEntry]:
        """Return the latest entries, newest first. See `Journal.recent`."""
        check_names(tiers, "tiers", TIERS[0])
        check_names(entry_types or (), "entry_types", "task")
        is_all = set(tiers) >= set(TIERS)
        where: dict[str, Any] = {} if is_all else {"tier": {"$in": list(tiers)}}
        if entry_types is not None:
            where["entry_type"] = {"$in": list(entry_types)}
        with self.store.reading():
            buried = set() if is_all or limit <= 0 else self.buried()
            rows = newest(self.store, where, limit + len(buried))
            return self.get([row["id"] for row in rows if row["id"] not in buried][: max(limit, 0)])

    def get(self, ids: Sequence[str]) -> list[JournalEntry]:
        """Return those of the entries that are there, in this order."""
        return [from_row(row) for row in self.store.get(list(ids))]

    def row(self, entry_id: str) -> Row:
        """Return the row of an entry, or raise `NotFound`."""
        rows = self.store.get([entry_id])
        if not rows:
            raise not_found(NOUN, entry_id)
        return rows[0]

    def buried(self) -> set[str]:
        """Return the ids of entries that a person has buried, so that agents do not find them."""
        return set(self.store.ids({"marks.buried": True}))

    def check_there(self, ids: Sequence[str]) -> None:
        """Raise `NotFound` where one of the entries is not there."""
        present = self.store.present(list(ids)) if ids else set()
        for entry_id in ids:
            if entry_id not in present:
                raise not_found(NOUN, entry_id)

    # Writing

    def add(self, entries: Sequence[JournalEntry], reason: str = "") -> list[str]:
        """Write whole entries as one operation. See `Journal.add_entries`."""
        made = {entry.id: written_at(entry, self.clock.now()) for entry in entries}
        for entry in made.values():
            to_entry(entry)
        held = self.store.present(list(made)) | self.store.purged(list(made))
        scoped = self.within("store", reason)
        scoped._gain_links([entry for entry in made.values() if entry.id in held])
        new = [entry for entry in made.values() if entry.id not in held]
        if not new:
            return []
        with self.store.reading():
            moment, latest = self.store.moment(), self._latest()
        before = before_each(new, latest)
        records = [to_entry(entry, before[entry.id]) for entry in new]
        added = scoped.store.add_unknown(*columns(records, self.store, self.embedder, {}))
        scoped._settle(added, [line.id for line in latest], moment)
        return added

    def edit(self, entry_id: str, changes: Mapping[str, Any]) -> JournalEntry:
        """Change an entry. Return the changed one, or raise `PlanOutdated` if others changed it meanwhile."""
        with self.store.reading():
            moment, row = self.store.moment(), self.row(entry_id)
        before = from_row(row)
        if "metadata" in changes:
            changes = {**changes, "metadata": with_own(changes["metadata"], before.metadata)}
        changed = checked_entry(replace(before, **changes))
        if (changed.content, changed.generation) == (before.content, before.generation):
            self.rewrite([changed_row(row, changed)], moment, "edit")
        else:
            self.renew(moment, "edit", changed={entry_id: changed})
        return changed

    def change(self, entry_id: str, change: Callable[[JournalEntry], JournalEntry], kind: str) -> JournalEntry:
        """Write what becomes of an entry, unless nothing does, whatever others write meanwhile. Return it."""

        def write() -> JournalEntry:
            with self.store.reading():
                moment, row = self.store.moment(), self.row(entry_id)
            before = from_row(row)
            changed = change(before)
            if changed != before:
                self.rewrite([changed_row(row, changed)], moment, kind)
            return changed

        return retried(write)

    def delete(self, ids: Sequence[str]) -> int:
        """Delete entries. Return how many there were, or raise `PlanOutdated` if others changed them meanwhile."""
        with self.store.reading():
            moment, n_present = self.store.moment(), len(self.store.present(ids))
        self.renew(moment, "delete", gone=ids)
        return n_present

    def restore(self, ids: Sequence[str]) -> int:
        """Bring deleted entries back as one operation. Return how many."""
        scoped = self.within("restore")
        n_restored = scoped.store.restore(list(ids))
        scoped._renew_present(ids)
        return n_restored

    def renew(
        self,
        moment: Moment,
        kind: str,
        *,
        gone: Sequence[str] = (),
        changed: Mapping[str, JournalEntry] = MappingProxyType({}),
    ) -> None:
        """Delete and change entries, and what others hold of them."""
        with self.store.reading():
            records = renewed(self.store, gone=gone, changed=changed)
        if records or gone:
            given = columns(records, self.store, self.embedder, {})
            self.within(kind).store.update(*given, unchanged_since=moment, dropped=gone)

    def rewrite(self, rows: Sequence[Row], moment: Moment, kind: str, reason: str = "") -> None:
        """Write rows whose texts are as they were."""
        self.within(kind, reason).store.update(
            [row["id"] for row in rows],
            [row["embedding"] for row in rows],
            [row["metadata"] for row in rows],
            [row["document"] for row in rows],
            unchanged_since=moment,
        )

    def _latest(self) -> list[Line]:
        rows = self.store.scan(order_by="created_at", descending=True, limit=N_LATEST)
        return [line_of(row) for row in rows]

    def _settle(self, added: Sequence[str], latest: Sequence[str], moment: Moment) -> None:
        """Renew new entries where others changed or deleted, while they were embedded, what stood before them."""
        try:
            self.store.check_unchanged(latest, moment)
        except PlanOutdated:
            self._renew_present(added)

    def _renew_present(self, ids: Sequence[str]) -> None:
        """Embed entries, and those just after them, with what stands before each now."""

        def renew() -> None:
            with self.store.reading():
                moment, entries = self.store.moment(), self.get(ids)
            self.renew(moment, "edit", changed={entry.id: entry for entry in entries})

        retried(renew)

    def _gain_links(self, known: Sequence[JournalEntry]) -> None:
        """Give entries that are there those of their links that they never had."""
        given = {entry.id: entry.links for entry in known if entry.links}

        def gain() -> None:
            changed = []
            with self.store.reading():
                moment = self.store.moment()
                for row in self.store.get(list(given)):
                    entry = from_row(row)
                    new = self._never_had(entry, given[entry.id])
                    if new:
                        changed.append(changed_row(row, replace(entry, links=(*entry.links, *new))))
            if changed:
                self.rewrite(changed, moment, "link")

        if given:
            retried(gain)

    def _never_had(self, entry: JournalEntry, links: Sequence[Link]) -> list[Link]:
        """Return those of the links that neither the entry has nor an earlier version of it had."""
        new = [link for link in dict.fromkeys(links) if link not in entry.links]
        if not new:
            return []
        earlier = item_versions(self.store.versions(entry.id), decode_entry)
        had = {link for version in earlier for link in version.item.links}
        return [link for link in new if link not in had]


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
        """Return the entries in the order of their time. Of one instant, what was added first comes first."""
        return _by_generation(
            (entry_id, moved.get(entry_id, self.generations[entry_id]))
            for entry_id in sorted(self.generations, key=self.written_at.__getitem__)
            if entry_id not in without
        )

    def added(self) -> Log:
        """Return the entries as they were added: those that came in between later were not there at first."""
        return _by_generation(self.generations.items())


def line_of(row: Mapping[str, Any]) -> Line:
    """Return the place of a stored entry."""
    held = row["metadata"]
    return Line(
        id=row["id"],
        generation=held["generation"],
        written_at=stored_instant(held),
        title=held["title"],
    )


def before_each(entries: Sequence[JournalEntry], stored: Sequence[Line]) -> dict[str, tuple[str, ...]]:
    """Return the beginnings of the entries of the same generation just before each one, oldest first, by id.

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
    store: Collection, *, gone: Sequence[str] = (), changed: Mapping[str, JournalEntry] = MappingProxyType({})
) -> list[Entry]:
    """Return the entries whose texts change once some are deleted and some changed, as a store keeps them.

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


def _read_lines(store: Collection, generations: Set[int]) -> _Lines:
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
    """Return the few entries after each of those that are touched."""
    return {
        follower
        for ids in log.values()
        for place, entry_id in enumerate(ids)
        if entry_id in touched
        for follower in ids[place + 1 : place + 1 + N_NEIGHBOURS]
    }


def _before(log: Log, wanted: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the ids of the few entries just before each one."""
    among = set(wanted)
    return {
        entry_id: ids[max(0, place - N_NEIGHBOURS) : place]
        for ids in log.values()
        for place, entry_id in enumerate(ids)
        if entry_id in among
    }
