"""The entries of a journal: written through two gates, read newest first, searched; as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from atlas.core.errors import NotFound
from atlas.core.journal_codec import TIERS, check_given, check_names, checked_entry, decode_entry
from atlas.core.operations import Usage
from atlas.core.settings import RankingWeights
from atlas.core.types import JournalEntry, Link
from atlas.infra.clock import SystemClock
from atlas.memory.backing import PlainStore, backing
from atlas.memory.columns import columns
from atlas.memory.editing import Editable, check_changes
from atlas.memory.journal_judging import Refusal, importance_of, noise, repeated
from atlas.memory.journal_kinds import EntryType, EntryTypes, kept_as
from atlas.memory.journal_records import (
    PLACED_AT,
    as_protea,
    before_each,
    changed_row,
    from_row,
    instant,
    to_entry,
    with_own,
    written_at,
)
from atlas.memory.newest import newest, place_after_all
from atlas.memory.records_async import retried
from atlas.memory.retrieval_async import AsyncRetrievalMemory, Row, Weights
from atlas.memory.versions import item_versions
from atlas.protocols.infra import Clock, Embedder, LLMClient, VectorStore, Where
from atlas.storage.history import Moment
from atlas.storage.vector_store import LedgerVectorStore

COLLECTION = "atlas_journal"
REFUSED_COLLECTION = "atlas_journal_refused"

LIVE = TIERS[:2]
"""The tiers that go into prompts."""

SEARCHED = TIERS[:3]
"""The tiers that a search finds without being asked for archived entries."""

N_COMPARED = 50
"""Latest entries of its type that an entry is compared with before it is written."""

N_LOOKED_AT = 400
"""Latest entries of all types among which those are looked for."""

ACCEPTED = "accepted what a gate had kept out"
"""Why such an entry was stored, as the history says it."""

EDITABLE: Editable = {
    "content": str,
    "generation": int,
    "importance": (int, float),
    "metadata": Mapping,
    "tier": str,
}

AnyStore = VectorStore | LedgerVectorStore | PlainStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedEntry:
    """What a gate kept out of the journal."""

    id: str
    entry_type: str
    content: str
    generation: int
    refused_at: str
    """ISO 8601."""

    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """What the gates kept out of the journal, by any process."""

    n_total: int
    by_gate: Mapping[str, int]
    latest: tuple[RefusedEntry, ...]
    """The last ones, newest first."""


class AsyncJournalEntries(AsyncRetrievalMemory[JournalEntry]):
    """The lines of an agent's log, in a vector store."""

    noun = "journal entry"

    def __init__(
        self,
        embedder: Embedder,
        vector_store: AnyStore,
        refused_store: AnyStore | None = None,
        collection_name: str = COLLECTION,
        *,
        keep_noise: bool = False,
        keep_repetitions: bool = False,
        llm: LLMClient | None = None,
        types: EntryTypes | None = None,
        weights: Weights = RankingWeights(),
        clock: Clock = SystemClock(),
    ) -> None:
        """Open a journal.

        Args:
            refused_store: Keeps what the gates refuse. Without one both gates are open: nothing goes without trace.
            keep_noise: Whether entries that tell nothing are written as well.
            keep_repetitions: Whether entries that say what one of the latest of their type says are written as well.
            llm: A language model, which writes the summaries of what is forgotten.
            types: Those that it knows; None for the built-in ones and those that were registered with its store.
        """
        super().__init__(embedder, vector_store, collection_name, weights, clock)
        self._refused = None if refused_store is None else backing(refused_store, embedder.dimension)
        self.keep_noise = keep_noise
        self.keep_repetitions = keep_repetitions
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

    async def aadd(
        self,
        entry_type: str,
        content: str,
        *,
        generation: int,
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        links: Sequence[Link | tuple[str, str]] = (),
    ) -> str | None:
        """Write an entry; its id, or None where a gate kept it out: `rejected` says why.

        Args:
            importance: In [0, 1]; by its type and what it says where it is None.
            metadata: Values that JSON can hold; a filter finds them as `meta.name`. Some keys are the journal's own.
            links: To entries that are there, each as a type and an id.

        Raises:
            InvalidInput: It says nothing, its type is not known, or a value cannot be kept.
            NotFound: An entry that it is linked to is not there.
        """
        check_given(entry_type, content, metadata, links)
        await self._recall_types()
        kind, now = self.types[entry_type], self._clock.now()
        place = await place_after_all(self._store, instant(now))
        entry = checked_entry(
            JournalEntry(
                entry_type=entry_type,
                content=content,
                generation=generation,
                created_at=now,
                importance=importance_of(kind, content, metadata or {}) if importance is None else importance,
                metadata=with_own(metadata or {}, {}) | ({PLACED_AT: place} if place > instant(now) else {}),
                links=tuple(dict.fromkeys(link if isinstance(link, Link) else Link(*link) for link in links)),
            )
        )
        to_entry(entry)  # whatever cannot be kept is refused before a gate would
        await self._check_there([link.target_id for link in entry.links])
        refusal = await self._refusal(entry, kind)
        if refusal is not None:
            await self._keep_out(entry, refusal)
            return None
        return (await self.aadd_entries([entry]))[0]

    async def aadd_entries(self, entries: Sequence[JournalEntry], reason: str = "") -> list[str]:
        """Write whole entries past the gates as one operation, without those whose ids are there; the others' ids.

        Their types may be any, and what they are linked to may come later. One that is there stays as it is, but for
        links that it never had: those are new, and one that was taken back stays so.

        Raises:
            InvalidInput: One of them cannot be kept; nothing was written.
        """
        made = {entry.id: written_at(entry, self._clock.now()) for entry in entries}
        for entry in made.values():
            to_entry(entry)
        held = await self._store.present(list(made))
        scoped = self if self.operation_id else self.within("store", reason)
        await scoped._gain_links([entry for entry in made.values() if entry.id in held])
        new = [entry for entry in made.values() if entry.id not in held]
        if not new:
            return []
        before = before_each(new, await self._latest())
        records = [to_entry(entry, before[entry.id]) for entry in new]
        return await scoped._store.add_unknown(*await columns(records, self._store, self.embedder, {}))

    async def aedit(self, entry_id: str, **changes: Any) -> JournalEntry:
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
        return await retried(lambda: self._edit(entry_id, changes))

    async def arejected(self, limit: int = 20) -> Refusals:
        """What the gates kept out: how many for which reason, and the latest of them; they are kept whole."""
        if self._refused is None:
            return Refusals(n_total=0, by_gate={}, latest=())
        rows = await self._refused.scan(order_by="created_at", descending=True, limit=limit)
        by_gate = await self._refused.count_by("gate")
        return Refusals(n_total=sum(by_gate.values()), by_gate=by_gate, latest=tuple(map(_refused_entry, rows)))

    async def aaccept(self, refused_id: str) -> str:
        """Write what a gate kept out, as it would have been written then; its id. Undone, it is kept out again.

        Raises:
            NotFound: No such entry was kept out.
        """
        rows = await self._refused.get([refused_id]) if self._refused else []
        if not rows or self._refused is None:
            raise NotFound(f"no entry {refused_id!r} was kept out; see: rejected()")
        scoped = self if self.operation_id else self.within("store", ACCEPTED)
        added = await scoped.aadd_entries([from_row(rows[0])])
        await self._refused.within("store", ACCEPTED, scoped.operation_id).delete([refused_id])
        return added[0] if added else refused_id

    # Reading

    async def aget_recent(self, limit: int = 10, *, tiers: Sequence[str] = LIVE) -> list[dict[str, Any]]:
        """The latest entries of all types, newest first, as Protea's `MemoryStore` gives them."""
        return [as_protea(entry) for entry in await self.arecent(limit, tiers=tiers)]

    async def aget_by_type(
        self, entry_type: str, limit: int = 10, *, tiers: Sequence[str] = LIVE
    ) -> list[dict[str, Any]]:
        """The latest entries of a type, newest first, as Protea's `MemoryStore` gives them."""
        return [as_protea(entry) for entry in await self.arecent(limit, [entry_type], tiers=tiers)]

    async def arecent(
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
        buried = set() if is_all or limit <= 0 else await self._buried()
        rows = await newest(self._store, where, limit + len(buried))
        return await self.aget_many([row["id"] for row in rows if row["id"] not in buried][: max(limit, 0)])

    async def asearch(
        self, query: str, k: int = 10, *, where: Where | None = None, with_archived: bool = False
    ) -> list[JournalEntry]:
        """The k entries most relevant to what is asked, best first.

        Args:
            where: Such as `{"entry_type": "crash_log", "generation": {"$gte": 50}, "meta.file": "a.py"}`.
            with_archived: Whether archived entries are found too.
        """
        return [hit.item for hit in await self.asearch_hits(query, k, where=where, with_buried=with_archived)]

    # Steps of the above

    async def _buried(self) -> set[str]:
        """The ids of entries that a person has buried, so that agents do not find them."""
        return set(await self._store.ids({"marks.buried": True}))

    async def _among(self, where: Where | None, with_buried: bool) -> Where | None:
        """Archived entries are found where buried ones are asked for."""
        if with_buried or not await self._store.count({"tier": TIERS[-1]}):
            return where
        return {"$and": [where or {}, {"tier": {"$in": list(SEARCHED)}}]}

    async def _read(self, rows: Sequence[Row]) -> list[JournalEntry]:
        return [from_row(row) for row in rows]

    def _scoped(self, kind: str, reason: str) -> LedgerVectorStore | PlainStore:
        return self._store if self.operation_id else self._store.within(kind, reason)

    async def _latest(self) -> list[tuple[int, datetime, str]]:
        """Generation, time and title of the latest entries."""
        rows = await self._store.scan(order_by="created_at", descending=True, limit=N_COMPARED)
        held = [row["metadata"] for row in rows]
        return [(one["generation"], datetime.fromisoformat(one["created_at"]), one["title"]) for one in held]

    async def _gain_links(self, known: Sequence[JournalEntry]) -> None:
        """Give entries that are there those of their links that they never had."""
        given = {entry.id: entry.links for entry in known if entry.links}

        async def gain() -> None:
            moment = await self._store.moment()
            changed = []
            for row in await self._store.get(list(given)):
                entry = from_row(row)
                new = await self._never_had(entry, given[entry.id])
                if new:
                    changed.append(changed_row(row, replace(entry, links=(*entry.links, *new))))
            if changed:
                await self._rewrite(changed, moment, "link", "")

        if given:
            await retried(gain)

    async def _recall_types(self) -> None:
        """Know the types that other processes have registered meanwhile."""
        self.types.recall(await asyncio.to_thread(self._store.kept))

    async def _never_had(self, entry: JournalEntry, links: Sequence[Link]) -> list[Link]:
        """Those of the links that neither the entry has nor an earlier version of it had."""
        new = [link for link in dict.fromkeys(links) if link not in entry.links]
        if not new:
            return []
        earlier = item_versions(await self._store.versions(entry.id), decode_entry)
        had = {link for version in earlier for link in version.item.links}
        return [link for link in new if link not in had]

    async def _refusal(self, entry: JournalEntry, kind: EntryType) -> Refusal | None:
        """Why an entry should be kept out, if it should and can."""
        if not kind.is_gated or self._refused is None:
            return None
        found = None if self.keep_noise else noise(entry.content)
        if found is not None or self.keep_repetitions:
            return found
        rows = await self._store.scan(order_by="created_at", descending=True, limit=N_LOOKED_AT)
        alike = [row["id"] for row in rows if row["metadata"]["entry_type"] == entry.entry_type][:N_COMPARED]
        return repeated(entry, await self.aget_many(alike))

    async def _keep_out(self, entry: JournalEntry, refusal: Refusal) -> None:
        assert self._refused is not None
        metadata = {
            **to_entry(entry).metadata,
            "gate": refusal.gate,
            "reason": refusal.reason,
            "like_id": refusal.like_id,
        }
        direction = np.eye(1, self.embedder.dimension, dtype=np.float32)[0]  # nobody looks for it by meaning
        await self._refused.within("refuse", refusal.reason).add([entry.id], [direction], [metadata], [entry.content])

    async def _edit(self, entry_id: str, changes: Mapping[str, Any]) -> JournalEntry:
        """`aedit`, unless the entry changes between being read and being written."""
        moment = await self._store.moment()
        row = await self._row(entry_id)
        before = from_row(row)
        if "metadata" in changes:
            changes = {**changes, "metadata": with_own(changes["metadata"], before.metadata)}
        changed = checked_entry(replace(before, **changes))
        if changed.content == before.content:
            await self._rewrite([changed_row(row, changed)], moment, "edit", "")
            return changed
        context = row["document"].removeprefix(before.content).removeprefix("\n\n")
        record = to_entry(changed, [context] if context else [])
        given = await columns([record], self._store, self.embedder, {})
        await self._scoped("edit", "").update(*given, unchanged_since=moment)
        return changed

    async def _rewrite(self, rows: Sequence[Row], moment: Moment, kind: str, reason: str) -> str | None:
        """Write rows whose texts are as they were; the operation's id."""
        scoped = self._scoped(kind, reason)
        await scoped.update(
            [row["id"] for row in rows],
            [row["embedding"] for row in rows],
            [row["metadata"] for row in rows],
            [row["document"] for row in rows],
            unchanged_since=moment,
        )
        return scoped.operation_id

    async def _check_there(self, ids: Sequence[str]) -> None:
        present = await self._store.present(list(ids)) if ids else set()
        for entry_id in ids:
            if entry_id not in present:
                raise self._not_found(entry_id)

    async def _usage_of(self, entries: Sequence[JournalEntry]) -> dict[str, Usage]:
        return await self._store.usage([entry.id for entry in entries])


def _refused_entry(row: Row) -> RefusedEntry:
    held = row["metadata"]
    return RefusedEntry(
        id=row["id"],
        entry_type=held["entry_type"],
        content=row["document"],
        generation=held["generation"],
        refused_at=held["created_at"],
        refusal=Refusal(held["gate"], held["reason"], held["like_id"]),
    )
