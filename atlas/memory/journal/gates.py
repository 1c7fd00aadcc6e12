"""The two gates before a journal's entries, and accepting refused entries after all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.types import JournalEntry
from atlas.infra.secrets import scrub_text
from atlas.memory.base.marks import check_own_under_review
from atlas.memory.base.memory import Row
from atlas.memory.journal.entries import EntryLog
from atlas.memory.journal.entry_types import EntryType
from atlas.memory.journal.importance import NOISE, REPEATED, Refusal, noise, repeated
from atlas.memory.journal.records import from_row, to_entry
from atlas.storage.collection import Collection

REFUSED_COLLECTION = "atlas_journal_refused"

N_COMPARED = 50
"""Latest entries of its type that an entry is compared with before it is written."""

N_LOOKED_AT = 400
"""Latest entries of all types among which those are looked for."""

ACCEPTED = "accepted a refused entry"
"""Reason for such an entry, as History shows it."""

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
    source: str
    """Source of the setting: `caller`, for what this journal was opened with, such as an environment variable,
    `store`, for what was switched for all, `default`, or `no store`, without a store for refused entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedEntry:
    """An entry that a gate refused."""

    id: str
    entry_type: str
    content: str
    generation: int
    refused_at: str
    """ISO 8601."""

    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """All that the gates refused, in any process."""

    n_total: int
    by_gate: Mapping[str, int]
    latest: tuple[RefusedEntry, ...]
    """The last ones, newest first."""

    def why(self, content: str) -> str:
        """Return why an entry of this content was refused, in general terms if it is not among the latest."""
        texts = (content, scrub_text(content, Counter(), homes=False))
        reasons = (refused.refusal.reason for refused in self.latest if refused.content in texts)
        return next(reasons, "a gate of the journal refuses it")


@dataclass(frozen=True, slots=True)
class Gates:
    """Both gates of one journal, and the collection of refused entries."""

    refused: Collection | None
    """Store of refused entries. Without one both gates are off, so that every entry leaves a trace."""

    keep_noise: bool | None
    """None for the store's setting."""

    keep_repetitions: bool | None
    """None for the store's setting."""

    def states(self, texts: Mapping[str, str]) -> tuple[Gate, ...]:
        """Return the gates, given the store's settings. The caller's settings go before the store's."""
        return tuple(
            self._state(name, keeps, texts.get(KEPT + name))
            for name, keeps in zip(GATES, (self.keep_noise, self.keep_repetitions), strict=True)
        )

    def refuse(self, entry: JournalEntry, kind: EntryType, texts: Mapping[str, str], log: EntryLog) -> bool:
        """Keep an entry among the refused ones, with the reason, if a gate refuses it. Return whether one does."""
        refusal = self._refusal(entry, kind, texts, log)
        if refusal is None or self.refused is None:
            return False
        metadata = {
            **to_entry(entry).metadata,
            "gate": refusal.gate,
            "reason": refusal.reason,
            "like_id": refusal.like_id,
        }
        direction = np.eye(1, log.embedder.dimension, dtype=np.float32)[0]  # nobody looks for it by meaning
        self.refused.within("refuse", refusal.reason).add([entry.id], [direction], [metadata], [entry.content])
        return True

    def rejected(self, limit: int) -> Refusals:
        """Return the number of refused entries by reason, and the latest of them."""
        if self.refused is None:
            return Refusals(n_total=0, by_gate={}, latest=())
        with self.refused.reading():
            rows = self.refused.scan(order_by="created_at", descending=True, limit=limit)
            by_gate = self.refused.count_by("gate")
        return Refusals(n_total=sum(by_gate.values()), by_gate=by_gate, latest=tuple(map(_refused_entry, rows)))

    def accept(self, refused_id: str, log: EntryLog) -> str:
        """Write a refused entry into a log. Return its id, or raise `NotFound` or, under review, `NotAllowed`."""
        rows = self.refused.get([refused_id]) if self.refused else []
        if not rows or self.refused is None:
            raise NotFound(f"no entry {refused_id!r} was refused; see: rejected()")
        check_own_under_review(self.refused.marks([refused_id]), "accept entries")
        scoped = log.within("store", ACCEPTED)
        added = scoped.add([from_row(rows[0])])
        self.refused.within("store", ACCEPTED, scoped.store.operation_id).delete([refused_id])
        return added[0] if added else refused_id

    def _refusal(self, entry: JournalEntry, kind: EntryType, texts: Mapping[str, str], log: EntryLog) -> Refusal | None:
        """Return why an entry should be refused, if it should and can be."""
        is_on = {gate.name: gate.is_on and kind.is_gated for gate in self.states(texts)}
        found = noise(entry.content) if is_on[NOISE] else None
        if found is not None or not is_on[REPEATED]:
            return found
        with log.store.reading():
            rows = log.store.scan(order_by="created_at", descending=True, limit=N_LOOKED_AT)
            alike = [row["id"] for row in rows if row["metadata"]["entry_type"] == entry.entry_type][:N_COMPARED]
            return repeated(entry, log.get(alike))

    def _state(self, name: str, keeps: bool | None, stored: str | None) -> Gate:
        if self.refused is None:
            return Gate(name=name, is_on=False, source="no store")
        if keeps is not None:
            return Gate(name=name, is_on=not keeps, source="caller")
        return Gate(name=name, is_on=stored != OFF, source="store" if stored in (ON, OFF) else "default")


def kept_switch(name: str, is_on: bool) -> tuple[str, str]:
    """Return the name and the text under which a store keeps whether a gate is on.

    Raises:
        InvalidInput: There is no such gate.
    """
    if name not in GATES:
        raise InvalidInput(f"a gate should be one of {', '.join(GATES)}, but is {name!r}")
    return KEPT + name, ON if is_on else OFF


def _refused_entry(row: Row) -> RefusedEntry:
    metadata = row["metadata"]
    return RefusedEntry(
        id=row["id"],
        entry_type=metadata["entry_type"],
        content=row["document"],
        generation=metadata["generation"],
        refused_at=metadata["created_at"],
        refusal=Refusal(metadata["gate"], metadata["reason"], metadata["like_id"]),
    )
