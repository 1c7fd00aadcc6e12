"""The two gates before a journal's entries, what they keep out, and letting it in; as coroutines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.journal_codec import check_given, checked_entry
from atlas.core.settings import RankingWeights
from atlas.core.types import JournalEntry, Link
from atlas.infra.clock import SystemClock
from atlas.infra.twin import twin
from atlas.memory.base.latest import place_after_all
from atlas.memory.base.retrieval import Row, Weights
from atlas.memory.journal.entries import COLLECTION, AnyStore, JournalEntries
from atlas.memory.journal.entry_types import EntryType, EntryTypes
from atlas.memory.journal.importance import NOISE, REPEATED, Refusal, importance_of, noise, repeated
from atlas.memory.journal.records import PLACED_AT, from_row, instant, to_entry, with_own
from atlas.protocols.infra import Clock, Embedder, LLMClient
from atlas.storage.plain.collection import backing

REFUSED_COLLECTION = "atlas_journal_refused"

N_COMPARED = 50
"""Latest entries of its type that an entry is compared with before it is written."""

N_LOOKED_AT = 400
"""Latest entries of all types among which those are looked for."""

ACCEPTED = "accepted what a gate had kept out"
"""Why such an entry was stored, as the history says it."""

GATES = (NOISE, REPEATED)

KEPT = "gate:"
"""Before the names of gates, where a store keeps whether each is on."""

ON, OFF = "on", "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A gate before a journal's entries."""

    name: str
    """`noise` or `near-duplicate`."""

    is_on: bool
    said_by: str
    """Who says whether it is on: `caller`, for what this journal was opened with, such as an environment variable;
    `store`, for what was switched for all; `default`; or `no store`, where nothing could keep what it refuses."""


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


class GatedEntries(JournalEntries):
    """The lines of an agent's log, of which two gates keep out what tells nothing or nothing new."""

    def __init__(
        self,
        embedder: Embedder,
        vector_store: AnyStore,
        refused_store: AnyStore | None = None,
        collection_name: str = COLLECTION,
        *,
        keep_noise: bool | None = None,
        keep_repetitions: bool | None = None,
        llm: LLMClient | None = None,
        types: EntryTypes | None = None,
        weights: Weights = RankingWeights(),
        clock: Clock = SystemClock(),
    ) -> None:
        """Open a journal.

        Args:
            refused_store: Keeps what the gates refuse. Without one both gates are off: nothing goes without trace.
            keep_noise: Whether entries that tell nothing are written as well; None for what `switch_gate` said last.
            keep_repetitions: Whether entries that say what one of the latest of their type says are written as well;
                None for what `switch_gate` said last.
            llm: A language model, which writes the summaries of what is forgotten.
            types: Those that it knows; None for the built-in ones and those that were registered with its store.
        """
        super().__init__(embedder, vector_store, collection_name, llm=llm, types=types, weights=weights, clock=clock)
        self._refused = None if refused_store is None else backing(refused_store, self.embedder.dimension)
        self.keep_noise = keep_noise
        self.keep_repetitions = keep_repetitions

    def gates(self) -> tuple[Gate, ...]:
        """Both gates as they are now, that for noise first."""
        return self._gates(self._store.kept())

    def switch_gate(self, name: str, is_on: bool) -> None:
        """Switch a gate on or off for all who write into this store, unless they were told otherwise themselves.

        Args:
            name: `noise` or `near-duplicate`.

        Raises:
            InvalidInput: There is no such gate.
        """
        if name not in GATES:
            raise InvalidInput(f"a gate should be one of {', '.join(GATES)}, but is {name!r}")
        self._store.keep(KEPT + name, ON if is_on else OFF)

    def add(
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
        kept = self._recall()
        kind, now = self.types[entry_type], self._clock.now()
        place = place_after_all(self._store, instant(now))
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
        self._check_there([link.target_id for link in entry.links])
        refusal = self._refusal(entry, kind, kept)
        if refusal is not None:
            self._keep_out(entry, refusal)
            return None
        return self.add_entries([entry])[0]

    aadd = twin(add)

    def rejected(self, limit: int = 20) -> Refusals:
        """What the gates kept out: how many for which reason, and the latest of them; they are kept whole."""
        if self._refused is None:
            return Refusals(n_total=0, by_gate={}, latest=())
        rows = self._refused.scan(order_by="created_at", descending=True, limit=limit)
        by_gate = self._refused.count_by("gate")
        return Refusals(n_total=sum(by_gate.values()), by_gate=by_gate, latest=tuple(map(_refused_entry, rows)))

    arejected = twin(rejected)

    def accept(self, refused_id: str) -> str:
        """Write what a gate kept out, as it would have been written then; its id. Undone, it is kept out again.

        Raises:
            NotFound: No such entry was kept out.
        """
        rows = self._refused.get([refused_id]) if self._refused else []
        if not rows or self._refused is None:
            raise NotFound(f"no entry {refused_id!r} was kept out; see: rejected()")
        scoped = self if self.operation_id else self.within("store", ACCEPTED)
        added = scoped.add_entries([from_row(rows[0])])
        self._refused.within("store", ACCEPTED, scoped.operation_id).delete([refused_id])
        return added[0] if added else refused_id

    aaccept = twin(accept)

    # Steps of the above

    def _gates(self, kept: Mapping[str, str]) -> tuple[Gate, ...]:
        """The gates, given what the store keeps: the caller's word goes before the store's, and that before none."""
        return tuple(
            self._gate(name, keeps, kept.get(KEPT + name))
            for name, keeps in zip(GATES, (self.keep_noise, self.keep_repetitions), strict=True)
        )

    def _gate(self, name: str, keeps: bool | None, said: str | None) -> Gate:
        if self._refused is None:
            return Gate(name=name, is_on=False, said_by="no store")
        if keeps is not None:
            return Gate(name=name, is_on=not keeps, said_by="caller")
        return Gate(name=name, is_on=said != OFF, said_by="store" if said in (ON, OFF) else "default")

    def _refusal(self, entry: JournalEntry, kind: EntryType, kept: Mapping[str, str]) -> Refusal | None:
        """Why an entry should be kept out, if it should and can."""
        is_on = {gate.name: gate.is_on and kind.is_gated for gate in self._gates(kept)}
        found = noise(entry.content) if is_on[NOISE] else None
        if found is not None or not is_on[REPEATED]:
            return found
        rows = self._store.scan(order_by="created_at", descending=True, limit=N_LOOKED_AT)
        alike = [row["id"] for row in rows if row["metadata"]["entry_type"] == entry.entry_type][:N_COMPARED]
        return repeated(entry, self.get_many(alike))

    def _keep_out(self, entry: JournalEntry, refusal: Refusal) -> None:
        assert self._refused is not None
        metadata = {
            **to_entry(entry).metadata,
            "gate": refusal.gate,
            "reason": refusal.reason,
            "like_id": refusal.like_id,
        }
        direction = np.eye(1, self.embedder.dimension, dtype=np.float32)[0]  # nobody looks for it by meaning
        self._refused.within("refuse", refusal.reason).add([entry.id], [direction], [metadata], [entry.content])


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
