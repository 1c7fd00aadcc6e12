"""Gates that refuse noise and near-duplicates in a journal. Refused entries can still be accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.filters import scope_of
from atlas.core.types import JournalEntry
from atlas.infra.secrets import scrub_text
from atlas.memory.base.marks import check_own_under_review
from atlas.memory.base.memory import Row
from atlas.memory.journal.entries import EntryLog
from atlas.memory.journal.entry_types import EntryType
from atlas.memory.journal.importance import NOISE, REPEATED, Refusal, find_noise, find_repetition
from atlas.memory.journal.records import from_row, to_entry
from atlas.storage.collection import Collection

REFUSED_COLLECTION = "atlas_journal_refused"

N_COMPARED = 50
"""Number of latest entries of the same type that a new entry is compared with."""

N_SCANNED = 400
"""Number of latest entries of all types among which entries of the same type are searched."""

ACCEPTANCE_REASON = "accepted a refused entry"
"""Reason that the history shows for an accepted entry."""

GATES = (NOISE, REPEATED)

NOTE_PREFIX = "gate:"
"""Prefix of the store's notes for gates."""

ON, OFF = "on", "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The state of a gate, which refuses some of the new entries of a journal."""

    name: str
    """`noise` or `near-duplicate`."""

    is_on: bool
    source: str
    """Source of the setting: `caller` (an argument or environment variable), `store` (set by `switch_gate`), `default`,
    or `no store` (off, because there is no store for refused entries)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedEntry:
    """An entry that a gate refused."""

    id: str
    entry_type: str
    content: str
    generation: int
    refused_at: str
    """Time of the refusal, in ISO 8601."""

    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """The entries that the gates have refused, in all processes."""

    n_total: int
    by_gate: Mapping[str, int]
    latest: tuple[RefusedEntry, ...]
    """The latest refused entries, newest first."""

    def why(self, content: str) -> str:
        """Return the reason why an entry with this content was refused.

        Return a general reason if the entry is not among the latest refused ones.
        """
        texts = (content, scrub_text(content, Counter(), homes=False))
        reasons = (entry.refusal.reason for entry in self.latest if entry.content in texts)
        return next(reasons, "it was refused by a gate of the journal")


@dataclass(frozen=True, slots=True)
class Gates:
    """Both gates of one journal, and the collection of refused entries."""

    refused: Collection | None
    """Store of refused entries. Without such a store both gates are off, so that no entry is lost."""

    keep_noise: bool | None
    """True to accept noise. None for the store's setting."""

    keep_repetitions: bool | None
    """True to accept near-duplicates. None for the store's setting."""

    def states(self, notes: Mapping[str, str]) -> tuple[Gate, ...]:
        """Return the state of both gates. The caller's settings take precedence over the store's."""
        return tuple(
            self._state(name, accepts_all, notes.get(NOTE_PREFIX + name))
            for name, accepts_all in zip(GATES, (self.keep_noise, self.keep_repetitions), strict=True)
        )

    def store_if_refused(self, entry: JournalEntry, kind: EntryType, notes: Mapping[str, str], log: EntryLog) -> bool:
        """Store an entry as refused if a gate refuses it, and return whether one does."""
        refusal = self._find_refusal(entry, kind, notes, log)
        if refusal is None or self.refused is None:
            return False
        metadata = {
            **to_entry(entry).metadata,
            "gate": refusal.gate,
            "reason": refusal.reason,
            "like_id": refusal.like_id,
        }
        placeholder_vector = np.eye(1, log.embedder.dimension, dtype=np.float32)[
            0
        ]  # refused entries are never searched
        self.refused.as_operation("refuse", refusal.reason).add(
            [entry.id], [placeholder_vector], [metadata], [entry.content]
        )
        return True

    def rejected(self, limit: int) -> Refusals:
        """Return the numbers of refused entries, and the latest refused entries."""
        if self.refused is None:
            return Refusals(n_total=0, by_gate={}, latest=())
        with self.refused.reading():
            rows = self.refused.scan(order_by="created_at", descending=True, limit=limit)
            by_gate = self.refused.count_by("gate")
        return Refusals(n_total=sum(by_gate.values()), by_gate=by_gate, latest=tuple(map(_to_refused_entry, rows)))

    def accept(self, refused_id: str, log: EntryLog) -> str:
        """Write a refused entry into a log and return its id. Raise `NotFound`, or `NotAllowed` under review."""
        rows = self.refused.get([refused_id]) if self.refused else []
        if not rows or self.refused is None:
            raise NotFound(f"there is no refused entry {refused_id!r}; rejected() lists them")
        check_own_under_review(self.refused.marks([refused_id]), "accept entries")
        operation_log = log.ensure_operation("store", ACCEPTANCE_REASON)
        added_ids = operation_log.add([from_row(rows[0])])
        self.refused.as_operation("store", ACCEPTANCE_REASON, operation_log.store.operation_id).delete([refused_id])
        return added_ids[0] if added_ids else refused_id

    def _find_refusal(
        self, entry: JournalEntry, kind: EntryType, notes: Mapping[str, str], log: EntryLog
    ) -> Refusal | None:
        """Return the refusal of an entry, or None to accept the entry."""
        applies = {gate.name: gate.is_on and kind.is_gated for gate in self.states(notes)}
        refusal = find_noise(entry.content) if applies[NOISE] else None
        if refusal is not None or not applies[REPEATED]:
            return refusal
        with log.store.reading():
            scope = scope_of(entry.metadata)
            rows = log.store.scan(scope or None, order_by="created_at", descending=True, limit=N_SCANNED)
            metadatas = {row["id"]: row["metadata"] for row in rows if scope_of(row["metadata"]) == scope}
            same_type_ids = [
                entry_id for entry_id, metadata in metadatas.items() if metadata["entry_type"] == entry.entry_type
            ]
            return find_repetition(entry, log.get(same_type_ids[:N_COMPARED]))

    def _state(self, name: str, accepts_all: bool | None, note: str | None) -> Gate:
        if self.refused is None:
            return Gate(name=name, is_on=False, source="no store")
        if accepts_all is not None:
            return Gate(name=name, is_on=not accepts_all, source="caller")
        return Gate(name=name, is_on=note != OFF, source="store" if note in (ON, OFF) else "default")


def gate_note(name: str, is_on: bool) -> tuple[str, str]:
    """Return name and value of the store note that switches a gate on or off.

    Raises:
        InvalidInput: There is no such gate.
    """
    if name not in GATES:
        raise InvalidInput(f"expected one of {', '.join(GATES)} for a gate, got {name!r}")
    return NOTE_PREFIX + name, ON if is_on else OFF


def _to_refused_entry(row: Row) -> RefusedEntry:
    metadata = row["metadata"]
    return RefusedEntry(
        id=row["id"],
        entry_type=metadata["entry_type"],
        content=row["document"],
        generation=metadata["generation"],
        refused_at=metadata["created_at"],
        refusal=Refusal(metadata["gate"], metadata["reason"], metadata["like_id"]),
    )
