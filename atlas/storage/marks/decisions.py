"""Decisions of people to keep records unchanged, which removes the records from the review queues.

Like judgements, decisions are stored as notes in the ledger, so backups contain them, and other processes see them
immediately. A name is a digest of ids, so that a purge leaves no trace of a record here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable

from atlas.protocols.infra import Clock
from atlas.storage.engine import Notes

DECISION_PREFIX = "kept:"
"""Prefix of the notes for decisions. The rest is the `decision_name`."""


class KeepDecisions:
    """Decisions to keep records as they are, of one store. New ones are visible to all processes immediately."""

    def __init__(self, notes: Notes, clock: Clock) -> None:
        self._notes = notes
        self._clock = clock

    def names(self) -> frozenset[str]:
        """Return the names of all decisions."""
        return frozenset(self._notes.read(DECISION_PREFIX))

    def add(self, names: Collection[str]) -> None:
        """Store decisions, given by their names (see `decision_name`).

        Raises:
            ReadOnlyStore: The store was opened for reading only.
        """
        text = json.dumps({"decided_at": self._clock.now().isoformat()})
        self._notes.write({DECISION_PREFIX + name: text for name in names})

    def delete(self, names: Collection[str]) -> None:
        """Delete decisions, given by their names."""
        self._notes.write({DECISION_PREFIX + name: None for name in names})


def decision_name(collection: str, ids: Iterable[str]) -> str:
    """Return the name of a decision on a group of records, independent of their order."""
    return hashlib.blake2b("\0".join([collection, *sorted(ids)]).encode(), digest_size=16).hexdigest()
