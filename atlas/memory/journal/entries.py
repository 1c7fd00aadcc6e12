"""The entries of a journal: written, changed, read newest first, searched; as coroutines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from atlas.core.errors import PlanOutdated
from atlas.core.journal_codec import TIERS, check_names, checked_entry, decode_entry
from atlas.core.operations import Usage
from atlas.core.settings import RankingWeights
from atlas.core.types import JournalEntry, Link
from atlas.infra.clock import SystemClock
from atlas.infra.twin import twin
from atlas.memory.base.columns import columns
from atlas.memory.base.edits import Editable, check_changes
from atlas.memory.base.latest import newest
from atlas.memory.base.records import retried
from atlas.memory.base.retrieval import RetrievalMemory, Row, Weights
from atlas.memory.base.versions import item_versions
from atlas.memory.journal.entry_types import EntryType, EntryTypes, kept_as
from atlas.memory.journal.neighbours import Line, before_each, line_of, renewed
from atlas.memory.journal.records import (
    as_protea,
    changed_row,
    from_row,
    to_entry,
    with_own,
    written_at,
)
from atlas.protocols.infra import Clock, Embedder, LLMClient, VectorStore, Where
from atlas.storage.collection import Collection
from atlas.storage.records import Moment

COLLECTION = "atlas_journal"

LIVE = TIERS[:2]
"""The tiers that go into prompts."""

SEARCHED = TIERS[:3]
"""The tiers that a search finds without being asked for archived entries."""

N_LATEST = 50
"""Entries among which those just before a new one are looked for."""

EDITABLE: Editable = {
    "content": str,
    "generation": int,
    "importance": (int, float),
    "metadata": Mapping,
    "tier": str,
}

AnyStore = VectorStore | Collection


class JournalEntries(RetrievalMemory[JournalEntry]):
    """The lines of an agent's log, in a vector store."""

    noun = "journal entry"

    def __init__(
        self,
        embedder: Embedder,
        vector_store: AnyStore,
        collection_name: str = COLLECTION,
        *,
        llm: LLMClient | None = None,
        types: EntryTypes | None = None,
        weights: Weights = RankingWeights(),
        clock: Clock = SystemClock(),
    ) -> None:
        """Open a journal.

        Args:
            llm: A language model, which writes the summaries of what is forgotten.
            types: Those that it knows; None for the built-in ones and those that were registered with its store.
        """
        super().__init__(embedder, vector_store, collection_name, weights, clock)
        self.llm = llm
        self.types = types or EntryTypes(self._store.kept())

    def register_type(
        self,
        name: str,
        importance: float,
        half_life_days: float | None = 60.0,
        *,
        is_gated: bool = True,
        counts_as: str = "",
    ) -> None:
        """Take entries of one more type, or treat those of a type differently from now on; the store keeps it.

        Args:
            importance: Of an entry of whose content nothing is known, in [0, 1].
            half_life_days: After how long one that nobody used is worth half; None for what is never forgotten.
            is_gated: Whether noise and repetitions of this type are kept out.
            counts_as: A type in whose place contexts take it.

        Raises:
            InvalidInput: One of them is impossible.
        """
        registered = EntryType(
            name=name,
            importance=importance,
            half_life_days=half_life_days,
            is_gated=is_gated,
            counts_as=counts_as,
        )
        self.types.register(registered)
        key, text = kept_as(registered)
        if self._store.kept().get(key) != text:
            self._store.keep(key, text)

    # Writing

    def add_entries(self, entries: Sequence[JournalEntry], reason: str = "") -> list[str]:
        """Write whole entries past the gates as one operation, without those whose ids are there; the others' ids.

        Their types may be any, and what they are linked to may come later. One that is there stays as it is, but for
        links that it never had: those are new, and one that was taken back stays so.

        Raises:
            InvalidInput: One of them cannot be kept; nothing was written.
        """
        made = {entry.id: written_at(entry, self._clock.now()) for entry in entries}
        for entry in made.values():
            to_entry(entry)
        held = self._store.present(list(made)) | self._store.purged(list(made))
        scoped = self if self.operation_id else self.within("store", reason)
        scoped._gain_links([entry for entry in made.values() if entry.id in held])
        new = [entry for entry in made.values() if entry.id not in held]
        if not new:
            return []
        moment, latest = self._store.moment(), self._latest()
        before = before_each(new, latest)
        records = [to_entry(entry, before[entry.id]) for entry in new]
        added = scoped._store.add_unknown(*columns(records, self._store, self.embedder, {}))
        scoped._settle(added, [line.id for line in latest], moment)
        return added

    aadd_entries = twin(add_entries)

    def edit(self, /, entry_id: str, **changes: Any) -> JournalEntry:
        """Change an entry, and embed it anew if what it says has changed; the changed one.

        Args:
            changes: New values of `content`, `generation`, `importance`, `metadata` or `tier`; in other metadata, what
                the journal itself noted stays.

        Raises:
            NotFound: It is not there.
            InvalidInput: Another field, or a value that cannot be kept.
            PlanOutdated: Others changed it each time before this could be written; nothing was done.
        """
        check_changes(changes, EDITABLE)
        return retried(lambda: self._edit(entry_id, changes))

    aedit = twin(edit)

    def delete(self, ids: Sequence[str]) -> int:
        """Delete entries; how many there were. They stay in the history, from which `undo` brings them back.

        Their beginnings are taken out of the texts of the entries just after them, which are embedded anew, as part of
        the same operation: no search finds what was deleted.

        Raises:
            PlanOutdated: Others changed them each time before this could be done; nothing was done.
        """
        gone = list(dict.fromkeys(ids))
        return retried(lambda: self._delete(gone))

    def restore(self, ids: Sequence[str]) -> int:
        """Bring deleted entries back, as one operation; how many. Those that are there stay as they are.

        They and the entries just after them are embedded with what stands before each now.

        Raises:
            NotFound: There never was an entry of one of the ids; nothing was done.
        """
        scoped = self if self.operation_id else self.within("restore")
        n_restored = scoped._store.restore(list(ids))
        scoped._renew_present(ids)
        return n_restored

    # Reading

    def get_recent(self, limit: int = 10, *, tiers: Sequence[str] = LIVE) -> list[dict[str, Any]]:
        """The latest entries of all types, newest first, as Protea's `MemoryStore` gives them."""
        return [as_protea(entry) for entry in self.recent(limit, tiers=tiers)]

    aget_recent = twin(get_recent)

    def get_by_type(self, entry_type: str, limit: int = 10, *, tiers: Sequence[str] = LIVE) -> list[dict[str, Any]]:
        """The latest entries of a type, newest first, as Protea's `MemoryStore` gives them."""
        return [as_protea(entry) for entry in self.recent(limit, [entry_type], tiers=tiers)]

    aget_by_type = twin(get_by_type)

    def recent(
        self, limit: int = 10, entry_types: Sequence[str] | None = None, *, tiers: Sequence[str] = LIVE
    ) -> list[JournalEntry]:
        """The latest entries, newest first; of those written at one instant, the last added is the newest.

        Args:
            entry_types: None for all.
            tiers: Those that were forgotten so far come too; `core.journal_codec.TIERS` for all, buried ones as well.
        """
        check_names(tiers, "tiers", TIERS[0])
        check_names(entry_types or (), "entry_types", "task")
        is_all = set(tiers) >= set(TIERS)
        where: dict[str, Any] = {} if is_all else {"tier": {"$in": list(tiers)}}
        if entry_types is not None:
            where["entry_type"] = {"$in": list(entry_types)}
        buried = set() if is_all or limit <= 0 else self._buried()
        rows = newest(self._store, where, limit + len(buried))
        return self.get_many([row["id"] for row in rows if row["id"] not in buried][: max(limit, 0)])

    arecent = twin(recent)

    def search(
        self, query: str, k: int = 10, *, where: Where | None = None, with_archived: bool = False
    ) -> list[JournalEntry]:
        """The k entries most relevant to what is asked, best first.

        Args:
            where: Such as `{"entry_type": "crash_log", "generation": {"$gte": 50}, "meta.file": "a.py"}`.
            with_archived: Whether archived entries are found too.
        """
        return [hit.item for hit in self.search_hits(query, k, where=where, with_buried=with_archived)]

    asearch = twin(search)

    # Steps of the above

    def _buried(self) -> set[str]:
        """The ids of entries that a person has buried, so that agents do not find them."""
        return set(self._store.ids({"marks.buried": True}))

    def _among(self, where: Where | None, with_buried: bool) -> Where | None:
        """Archived entries are found where buried ones are asked for."""
        if with_buried or not self._store.count({"tier": TIERS[-1]}):
            return where
        return {"$and": [where or {}, {"tier": {"$in": list(SEARCHED)}}]}

    def _read(self, rows: Sequence[Row]) -> list[JournalEntry]:
        return [from_row(row) for row in rows]

    def _scoped(self, kind: str, reason: str) -> Collection:
        return self._store if self.operation_id else self._store.within(kind, reason)

    def _latest(self) -> list[Line]:
        rows = self._store.scan(order_by="created_at", descending=True, limit=N_LATEST)
        return [line_of(row) for row in rows]

    def _settle(self, added: Sequence[str], latest: Sequence[str], moment: Moment) -> None:
        """Tell new entries anew where others changed or deleted, while they were embedded, what stood before them."""
        try:
            self._store.check_unchanged(latest, moment)
        except PlanOutdated:
            self._renew_present(added)

    def _renew_present(self, ids: Sequence[str]) -> None:
        """Embed entries, and those just after them, with what stands before each now."""

        def renew() -> None:
            moment = self._store.moment()
            self._renew(moment, "edit", changed={entry.id: entry for entry in self.get_many(ids)})

        retried(renew)

    def _gain_links(self, known: Sequence[JournalEntry]) -> None:
        """Give entries that are there those of their links that they never had."""
        given = {entry.id: entry.links for entry in known if entry.links}

        def gain() -> None:
            moment = self._store.moment()
            changed = []
            for row in self._store.get(list(given)):
                entry = from_row(row)
                new = self._never_had(entry, given[entry.id])
                if new:
                    changed.append(changed_row(row, replace(entry, links=(*entry.links, *new))))
            if changed:
                self._rewrite(changed, moment, "link", "")

        if given:
            retried(gain)

    def _recall(self) -> Mapping[str, str]:
        """The texts that the store keeps; the types that other processes have registered meanwhile are known then."""
        kept = self._store.kept()
        self.types.recall(kept)
        return kept

    def _never_had(self, entry: JournalEntry, links: Sequence[Link]) -> list[Link]:
        """Those of the links that neither the entry has nor an earlier version of it had."""
        new = [link for link in dict.fromkeys(links) if link not in entry.links]
        if not new:
            return []
        earlier = item_versions(self._store.versions(entry.id), decode_entry)
        had = {link for version in earlier for link in version.item.links}
        return [link for link in new if link not in had]

    def _edit(self, entry_id: str, changes: Mapping[str, Any]) -> JournalEntry:
        """`aedit`, unless the entry changes between being read and being written."""
        moment = self._store.moment()
        row = self._row(entry_id)
        before = from_row(row)
        if "metadata" in changes:
            changes = {**changes, "metadata": with_own(changes["metadata"], before.metadata)}
        changed = checked_entry(replace(before, **changes))
        if (changed.content, changed.generation) == (before.content, before.generation):
            self._rewrite([changed_row(row, changed)], moment, "edit", "")
        else:
            self._renew(moment, "edit", changed={entry_id: changed})
        return changed

    def _delete(self, ids: Sequence[str]) -> int:
        moment = self._store.moment()
        n_present = len(self._store.present(ids))
        self._renew(moment, "delete", gone=ids)
        return n_present

    def _renew(
        self,
        moment: Moment,
        kind: str,
        *,
        gone: Sequence[str] = (),
        changed: Mapping[str, JournalEntry] = MappingProxyType({}),
    ) -> None:
        """Delete and change entries, and what others hold of them."""
        records = renewed(self._store, gone=gone, changed=changed)
        if records or gone:
            given = columns(records, self._store, self.embedder, {})
            self._scoped(kind, "").update(*given, unchanged_since=moment, dropped=gone)

    def _rewrite(self, rows: Sequence[Row], moment: Moment, kind: str, reason: str) -> str | None:
        """Write rows whose texts are as they were; the operation's id."""
        scoped = self._scoped(kind, reason)
        scoped.update(
            [row["id"] for row in rows],
            [row["embedding"] for row in rows],
            [row["metadata"] for row in rows],
            [row["document"] for row in rows],
            unchanged_since=moment,
        )
        return scoped.operation_id

    def _check_there(self, ids: Sequence[str]) -> None:
        present = self._store.present(list(ids)) if ids else set()
        for entry_id in ids:
            if entry_id not in present:
                raise self._not_found(entry_id)

    def _usage_of(self, entries: Sequence[JournalEntry]) -> dict[str, Usage]:
        return self._store.usage([entry.id for entry in entries])
