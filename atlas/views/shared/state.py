"""Which state of a store is shown: what everything that was worked out from it is kept under."""

from __future__ import annotations

from typing import NamedTuple

from atlas.memory.experience.memory import COLLECTION
from atlas.memory.system import MemorySystem
from atlas.views.shared.kinds import Kind


class StoreState(NamedTuple):
    """Equal only where a store holds the same."""

    path: str
    is_read_only: bool
    ledger_id: str
    """Another one after a restore and after a change of the embedding model, which may bring a revision back."""

    revision: int


def store_state(memory: MemorySystem) -> StoreState:
    """The state of a memory's store now."""
    ledger = memory.storage.ledger
    return StoreState(
        path=str(memory.storage.path),
        is_read_only=memory.storage.read_only,
        ledger_id=ledger.position(COLLECTION).ledger_id,
        revision=ledger.revision(),
    )


def uses_seen(memory: MemorySystem, kind: Kind) -> int:
    """Another number wherever other uses of a kind of memory are recorded: those change no revision of the store."""
    return sum(kind.records(memory).column("usage.n_uses").values())
