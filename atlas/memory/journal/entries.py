"""The log of a journal: entries, indexed with the beginnings of their predecessors, and read newest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from atlas.core.filters import scope_of
from atlas.core.journal_codec import TIERS, check_names, decode_entry, validate_entry
from atlas.core.types import JournalEntry, Link
from atlas.infra.actor import actor_name
from atlas.memory.base.latest import newest_rows
from atlas.memory.base.marks import check_may_change
from atlas.memory.base.memory import Row, not_found_error
from atlas.memory.base.records import encode_entries, retry
from atlas.memory.base.versions import item_versions
from atlas.memory.journal.neighbours import N_NEIGHBOURS, Log, LogText, find_changed_entries, title_of
from atlas.memory.journal.records import changed_row, from_row, log_time, to_entry, with_created_at, with_reserved_keys
from atlas.protocols.infra import Clock
from atlas.storage.damage import stored_instant
from atlas.storage.records import IS_QUARANTINED, IS_WAITING, REVIEW_KEY, Context, Moment

NOUN = "journal entry"

PROMPT_TIERS = TIERS[:2]
"""The tiers whose entries go into prompts."""

N_LATEST = 50
"""Number of latest entries among which the predecessors of a new entry are searched."""

LOG_TEXT = LogText(
    group_field="generation",
    content_of=lambda row: from_row(row).content,
    beginnings=lambda store, ids: store.titles(ids),
)
"""Rules for indexing an entry with the beginnings of the entries before it."""

CONTEXT = Context(log_key=LOG_TEXT.group_field)
"""Log in which the words of later entries count for earlier entries."""


@dataclass(frozen=True, slots=True)
class EntryLog(Log):
    """The entries of a journal, in one view of the journal's collection."""

    clock: Clock

    # Reading

    def recent(
        self, limit: int = 10, entry_types: Sequence[str] | None = None, *, tiers: Sequence[str] = PROMPT_TIERS
    ) -> list[JournalEntry]:
        """Return the latest entries, newest first. See `Journal.recent`."""
        check_names(tiers, "tiers", TIERS[0])
        check_names(entry_types or (), "entry_types", "task")
        is_all = set(tiers) >= set(TIERS)
        where: dict[str, Any] = {} if is_all else {"tier": {"$in": list(tiers)}}
        if entry_types is not None:
            where["entry_type"] = {"$in": list(entry_types)}
        with self.store.reading():
            hidden_ids = set[str]()
            if limit > 0:
                hidden_ids = self.quarantined_ids() if is_all else self.hidden_ids()
            rows = newest_rows(self.store, where, limit + len(hidden_ids))
            return self.get([row["id"] for row in rows if row["id"] not in hidden_ids][: max(limit, 0)])

    def get(self, ids: Sequence[str]) -> list[JournalEntry]:
        """Return the entries with these ids, in this order. Ids without an entry are skipped."""
        return [from_row(row) for row in self.store.get(list(ids))]

    def existing_row(self, entry_id: str) -> Row:
        """Return the row of an entry, or raise `NotFound`."""
        rows = self.store.get([entry_id])
        if not rows:
            raise not_found_error(NOUN, entry_id)
        return rows[0]

    def hidden_ids(self) -> set[str]:
        """Return the ids of entries that agents do not see.

        These are buried, in quarantine, or written by others and waiting for review.
        """
        buried_ids, pending_ids = self.store.ids({"marks.buried": True}), set(self.store.ids(IS_WAITING))
        own_pending_ids = self.store.ids({REVIEW_KEY: actor_name("")}) if pending_ids else ()
        return {*buried_ids, *self.quarantined_ids(), *pending_ids.difference(own_pending_ids)}

    def quarantined_ids(self) -> set[str]:
        """Return the ids of entries in quarantine, which no search finds."""
        return set(self.store.ids(IS_QUARANTINED))

    def check_exist(self, ids: Sequence[str]) -> None:
        """Raise `NotFound` if an entry does not exist."""
        existing_ids = self.store.existing_ids(list(ids)) if ids else set()
        for entry_id in ids:
            if entry_id not in existing_ids:
                raise not_found_error(NOUN, entry_id)

    # Writing

    def add(self, entries: Sequence[JournalEntry], reason: str = "") -> list[str]:
        """Write complete entries as one operation. See `Journal.add_entries`."""
        entries_by_id = {entry.id: with_created_at(entry, self.clock.now()) for entry in entries}
        for entry in entries_by_id.values():
            to_entry(entry)
        used_ids = self.store.existing_ids(list(entries_by_id)) | self.store.purged(list(entries_by_id))
        operation_log = self.ensure_operation("store", reason)
        operation_log._add_new_links([entry for entry in entries_by_id.values() if entry.id in used_ids])
        new_entries = [entry for entry in entries_by_id.values() if entry.id not in used_ids]
        if not new_entries:
            return []
        with self.store.reading():
            moment, latest_positions = self.store.moment(), self._latest_positions()
        beginnings = preceding_beginnings(new_entries, latest_positions)
        records = [to_entry(entry, beginnings[entry.id]) for entry in new_entries]
        added_ids = operation_log.store.add_missing(*encode_entries(records, self.store, self.embedder, {}))
        operation_log.reindex_if_outdated(added_ids, [position.id for position in latest_positions], moment)
        return added_ids

    def edit(self, entry_id: str, changes: Mapping[str, Any]) -> JournalEntry:
        """Change an entry and return it, or raise `PlanOutdated` if a concurrent write has changed it."""
        with self.store.reading():
            moment, row = self.store.moment(), self.existing_row(entry_id)
        before = from_row(row)
        if "metadata" in changes:
            changes = {**changes, "metadata": with_reserved_keys(changes["metadata"], before.metadata)}
        changed = validate_entry(replace(before, **changes))
        if (changed.content, changed.generation) == (before.content, before.generation):
            self.rewrite([changed_row(row, changed)], moment, "edit")
        else:
            self.change_and_reindex(moment, "edit", changed_entries={entry_id: to_entry(changed)})
        return changed

    def change(self, entry_id: str, update: Callable[[JournalEntry], JournalEntry], kind: str) -> JournalEntry:
        """Replace an entry by the result of a function, and return the result. Retry after a concurrent change."""

        def write() -> JournalEntry:
            with self.store.reading():
                moment, row = self.store.moment(), self.existing_row(entry_id)
            before = from_row(row)
            changed = update(before)
            if changed != before:
                self.rewrite([changed_row(row, changed)], moment, kind)
            return changed

        return retry(write)

    def rewrite(
        self, rows: Sequence[Row], moment: Moment, kind: str, reason: str = "", *, deleted_ids: Sequence[str] = ()
    ) -> None:
        """Write rows whose content is unchanged, and delete other entries, in one transaction.

        Entries whose indexed text contains the beginning of a deleted entry are indexed again.
        """
        with self.store.reading():
            changed_neighbours = (
                find_changed_entries(self.store, self.log_text, deleted_ids=deleted_ids) if deleted_ids else []
            )
        rows_by_id = {row["id"]: row for row in rows}
        reindexed = [
            replace(entry, metadata=rows_by_id.pop(entry.id)["metadata"]) if entry.id in rows_by_id else entry
            for entry in changed_neighbours
        ]
        ids, embeddings, metadatas, documents = encode_entries(reindexed, self.store, self.embedder, {})
        other_rows = list(rows_by_id.values())  # rows with the same text and vectors
        self.ensure_operation(kind, reason).store.update(
            [*ids, *(row["id"] for row in other_rows)],
            [*embeddings, *(row["embedding"] for row in other_rows)],
            [*metadatas, *(row["metadata"] for row in other_rows)],
            [*documents, *(row["document"] for row in other_rows)],
            unchanged_since=moment,
            deleted_ids=deleted_ids,
        )

    def _latest_positions(self) -> list[LogPosition]:
        rows = self.store.scan(order_by="created_at", descending=True, limit=N_LATEST)
        return [log_position(row) for row in rows]

    def _add_new_links(self, imported: Sequence[JournalEntry]) -> None:
        """Add the links of imported entries to the existing entries with the same ids, except links removed since."""
        links_by_id = {entry.id: entry.links for entry in imported if entry.links}

        def add_links() -> None:
            changed_rows = []
            with self.store.reading():
                moment = self.store.moment()
                for row in self.store.get(list(links_by_id)):
                    entry = from_row(row)
                    new_links = self._new_links(entry, links_by_id[entry.id])
                    if new_links:
                        changed_rows.append(changed_row(row, replace(entry, links=(*entry.links, *new_links))))
            check_may_change(self.store, [row["id"] for row in changed_rows])
            if changed_rows:
                self.rewrite(changed_rows, moment, "link")

        if links_by_id:
            retry(add_links)

    def _new_links(self, entry: JournalEntry, links: Sequence[Link]) -> list[Link]:
        """Return those of the given links that neither an entry nor an earlier version of it has."""
        new_links = [link for link in dict.fromkeys(links) if link not in entry.links]
        if not new_links:
            return []
        versions = item_versions(self.store.versions(entry.id), decode_entry)
        old_links = {link for version in versions for link in version.item.links}
        return [link for link in new_links if link not in old_links]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPosition:
    """The position of an entry in the log, with the beginning of its text."""

    id: str
    generation: int
    written_at: datetime
    title: str
    scope: frozenset[tuple[str, Any]]
    """Scope of the entry. Only entries of the same scope are its predecessors."""


def log_position(row: Mapping[str, Any]) -> LogPosition:
    """Return the position of a stored entry in the log."""
    metadata = row["metadata"]
    return LogPosition(
        id=row["id"],
        generation=metadata["generation"],
        written_at=stored_instant(metadata),
        title=metadata["title"],
        scope=frozenset(scope_of(metadata).items()),
    )


def preceding_beginnings(
    entries: Sequence[JournalEntry], stored_positions: Sequence[LogPosition]
) -> dict[str, tuple[str, ...]]:
    """Return the beginnings of each entry's predecessors in its generation and scope, oldest first, keyed by id.

    Args:
        stored_positions: Positions of stored entries of the same generations.
    """
    new_positions = {
        entry.id: LogPosition(
            id=entry.id,
            generation=entry.generation,
            written_at=log_time(entry),
            title=title_of(entry.content),
            scope=frozenset(scope_of(entry.metadata).items()),
        )
        for entry in entries
    }
    titles_by_group: dict[tuple[int, frozenset[tuple[str, Any]]], list[str]] = defaultdict(list)
    beginnings = {}
    for position in sorted([*stored_positions, *new_positions.values()], key=lambda position: position.written_at):
        titles = titles_by_group[position.generation, position.scope]
        if position.id in new_positions:
            beginnings[position.id] = tuple(titles[-N_NEIGHBOURS:])
        titles.append(position.title)
    return beginnings
