"""Logs whose records are embedded and indexed with the beginnings of their predecessors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

from atlas.core.errors import PlanOutdated
from atlas.core.filters import is_scope_name, scope_of
from atlas.memory.base.records import Entry, encode_entries, retry
from atlas.protocols.infra import WholeEmbedder
from atlas.storage.collection import Collection
from atlas.storage.records import Moment

TITLE_CHARACTERS = 200

N_NEIGHBOURS = 2
"""Number of predecessors whose beginnings are embedded and indexed with a record."""

Group = tuple[Any, frozenset[tuple[str, Any]]]
"""The value of `LogText.group_field`, and the scope, of a group of records."""

Groups = Mapping[Group, Sequence[str]]
"""Ids of records in order, keyed by group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogText:
    """The rules for the indexed text of a record in a log."""

    group_field: str
    """Metadata key of a record's group, such as a generation or a conversation. Each scope has groups of its own."""

    content_of: Callable[[Mapping[str, Any]], str]
    """Function from a full row to the record's own content."""

    beginnings: Callable[[Collection, Sequence[str]], Mapping[str, str]]
    """Function that returns the beginnings of existing records, keyed by id."""


@dataclass(frozen=True, slots=True)
class Log:
    """The records of a log in one view of a collection. Each is indexed with the beginnings of its predecessors."""

    store: Collection
    embedder: WholeEmbedder
    log_text: LogText

    def ensure_operation(self, kind: str, reason: str = "") -> Self:
        """Return this log if its writes belong to an operation, or else a view whose writes form a new one."""
        return replace(self, store=self.store.ensure_operation(kind, reason))

    def delete(self, ids: Sequence[str]) -> int:
        """Delete records and return their number, or raise `PlanOutdated` if a concurrent write has changed the log."""
        with self.store.reading():
            moment, n_present = self.store.moment(), len(self.store.existing_ids(ids))
        self.change_and_reindex(moment, "delete", deleted_ids=ids)
        return n_present

    def restore(self, ids: Sequence[str]) -> int:
        """Restore deleted records as one operation, and return their number."""
        scoped = self.ensure_operation("restore")
        n_restored = scoped.store.restore(list(ids))
        scoped.reindex_texts(ids)
        return n_restored

    def change_and_reindex(
        self,
        moment: Moment,
        kind: str,
        *,
        deleted_ids: Sequence[str] = (),
        changed_entries: Mapping[str, Entry] = MappingProxyType({}),
    ) -> None:
        """Delete and change records, and reindex the successors, whose indexed texts quote these records.

        Args:
            changed_entries: The new version of each changed record, keyed by id. Its document is only its own content.
        """
        with self.store.reading():
            records = find_changed_entries(
                self.store, self.log_text, deleted_ids=deleted_ids, changed_entries=changed_entries
            )
        if records or deleted_ids:
            arguments = encode_entries(records, self.store, self.embedder, {})
            self.ensure_operation(kind).store.update(*arguments, unchanged_since=moment, deleted_ids=deleted_ids)

    def reindex_texts(self, ids: Sequence[str]) -> None:
        """Reindex records and their successors, with the current beginnings of their predecessors."""

        def reindex() -> None:
            with self.store.reading():
                moment, rows = self.store.moment(), self.store.get(list(ids))
            entries = {row["id"]: Entry(row["id"], self.log_text.content_of(row), row["metadata"]) for row in rows}
            self.change_and_reindex(moment, "edit", changed_entries=entries)

        retry(reindex)

    def reindex_if_outdated(self, added_ids: Sequence[str], predecessor_ids: Sequence[str], moment: Moment) -> None:
        """Reindex added records if their predecessors were changed or deleted during embedding."""
        try:
            self.store.check_unchanged(predecessor_ids, moment)
        except PlanOutdated:
            self.reindex_texts(added_ids)


def indexed_text(content: str, beginnings: Sequence[str]) -> str:
    """Return the text to index for a record: its content, followed by the beginnings of its predecessors."""
    return "\n\n".join([content, *beginnings])


def title_of(content: str) -> str:
    """Return the beginning of a record's content, on one line."""
    return " ".join(content.split())[:TITLE_CHARACTERS]


@dataclass(frozen=True, slots=True, kw_only=True)
class _LogOrder:
    """The group and time of records, in insertion order."""

    groups: Mapping[str, Group]
    """The group of each record, keyed by id."""

    written_at: Mapping[str, str]

    def sort_by_time(
        self, *, excluded_ids: Set[str] = frozenset(), new_groups: Mapping[str, Group] = MappingProxyType({})
    ) -> Groups:
        """Return the ids of each group, oldest first. Ties are broken by the order of insertion.

        Args:
            excluded_ids: Ids to leave out.
            new_groups: The new group of each record that changes its group, keyed by id.
        """
        return _group_ids(
            (record_id, new_groups.get(record_id, self.groups[record_id]))
            for record_id in sorted(self.groups, key=self.written_at.__getitem__)
            if record_id not in excluded_ids
        )

    def sort_by_insertion(self) -> Groups:
        """Return the ids of each group in the order of insertion, ignoring back-dated times."""
        return _group_ids(self.groups.items())


def find_changed_entries(
    store: Collection,
    log_text: LogText,
    *,
    deleted_ids: Sequence[str] = (),
    changed_entries: Mapping[str, Entry] = MappingProxyType({}),
) -> list[Entry]:
    """Return the new version of each record whose indexed text changes when records are deleted or changed.

    The groups are scanned once by time, and only the few successors are read in full.

    Args:
        deleted_ids: Ids of deleted records.
        changed_entries: The new version of each changed record, keyed by id. Its document is only its own content. In
            the result, the document is the full indexed text.
    """
    changed_ids = {*deleted_ids, *changed_entries}
    old_groups = {
        _group_key(row["metadata"], log_text.group_field) for row in store.get_without_content(list(changed_ids))
    }
    new_groups = {entry.id: _group_key(entry.metadata, log_text.group_field) for entry in changed_entries.values()}
    order = _read_log_order(store, log_text.group_field, old_groups | {*new_groups.values()})
    new_order = order.sort_by_time(excluded_ids=set(deleted_ids), new_groups=new_groups)
    orders_to_search = (order.sort_by_time(), order.sort_by_insertion(), new_order)
    successors = set(changed_entries).union(*(_successors(log_order, changed_ids) for log_order in orders_to_search))
    rows = store.get([entry_id for entry_id in order.groups if entry_id in successors - set(deleted_ids)])
    predecessors = _predecessors(new_order, [row["id"] for row in rows])
    titles = dict(
        log_text.beginnings(
            store, list({record_id for neighbours in predecessors.values() for record_id in neighbours})
        )
    )
    titles |= {entry.id: title_of(entry.document) for entry in changed_entries.values()}
    entries = []
    for row in rows:
        entry = changed_entries.get(row["id"])
        metadata = row["metadata"] if entry is None else entry.metadata
        beginnings = [titles[record_id] for record_id in predecessors[row["id"]] if record_id in titles]
        document = indexed_text(log_text.content_of(row) if entry is None else entry.document, beginnings)
        if (document, metadata) != (row["document"], row["metadata"]):
            entries.append(Entry(row["id"], document, metadata))
    return entries


def _group_key(metadata: Mapping[str, Any], group_field: str) -> Group:
    return metadata[group_field], frozenset(scope_of(metadata).items())


def _read_log_order(store: Collection, group_field: str, groups: Set[Group]) -> _LogOrder:
    """Return the group and time of each record in these groups, in the order of insertion."""
    where = {group_field: {"$in": sorted({value for value, _ in groups})}}
    if not groups:
        return _LogOrder(groups={}, written_at={})
    ids = store.ids(where)
    values, written_at = store.column(group_field, where), store.column("created_at", where)
    names = sorted(filter(is_scope_name, store.keys()))
    scopes = {name: store.column(name, where) for name in names}
    groups_by_id = dict[str, Group]()
    for record_id, value in values.items():
        scope = frozenset((name, scopes[name][record_id]) for name in names if record_id in scopes[name])
        groups_by_id[record_id] = value, scope
    groups_to_read = {
        record_id: groups_by_id[record_id]
        for record_id in ids
        if groups_by_id.get(record_id) in groups and record_id in written_at  # may be deleted concurrently
    }
    return _LogOrder(groups=groups_to_read, written_at=written_at)


def _group_ids(records: Iterable[tuple[str, Group]]) -> Groups:
    """Return the ids of records by group, in the given order."""
    ids_by_group: dict[Group, list[str]] = defaultdict(list)
    for record_id, group in records:
        ids_by_group[group].append(record_id)
    return ids_by_group


def _successors(log: Groups, changed_ids: Set[str]) -> set[str]:
    """Return the ids of the successors whose indexed texts contain beginnings of changed records."""
    successors = set[str]()
    for ids in log.values():
        for index, entry_id in enumerate(ids):
            if entry_id in changed_ids:
                successors.update(ids[index + 1 : index + 1 + N_NEIGHBOURS])
    return successors


def _predecessors(log: Groups, entry_ids: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the ids of each record's predecessors in its group, keyed by the record's id."""
    id_set = set(entry_ids)
    predecessors = dict[str, Sequence[str]]()
    for ids in log.values():
        for index, entry_id in enumerate(ids):
            if entry_id in id_set:
                predecessors[entry_id] = ids[max(0, index - N_NEIGHBOURS) : index]
    return predecessors
