"""Decisions of people to keep records as they are, so that no queue asks about them again.

Like judgements, they are texts that the ledger keeps: a backup holds them, and processes see each other's at once. A
name is a digest of ids, so a purge leaves no trace of a record here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable

from atlas.protocols.infra import Clock
from atlas.storage.engine import Notes

KEPT = "kept:"
"""The beginning of the name of each decision's text. The rest is what `decision_name` returns."""


class DecisionBook:
    """The decisions on one store. Each holds for every process that has the store open, at once."""

    def __init__(self, notes: Notes, clock: Clock) -> None:
        self._notes = notes
        self._clock = clock

    def kept(self) -> frozenset[str]:
        """Return the names of all decisions."""
        return frozenset(self._notes.read(KEPT))

    def keep(self, names: Collection[str]) -> None:
        """Keep what these names stand for as it is.

        Raises:
            ReadOnlyStore: The store was opened for reading only.
        """
        text = json.dumps({"decided_at": self._clock.now().isoformat()})
        self._notes.write({KEPT + name: text for name in names})

    def forget(self, names: Collection[str]) -> None:
        """Take decisions back."""
        self._notes.write({KEPT + name: None for name in names})


def decision_name(collection: str, ids: Iterable[str]) -> str:
    """Return the name of a decision on a group of records, independent of their order."""
    return hashlib.blake2b("\0".join([collection, *sorted(ids)]).encode(), digest_size=16).hexdigest()
