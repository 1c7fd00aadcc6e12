"""Which state of a store is shown: what everything that was worked out from it is kept under."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from atlas.memory.experience.memory import COLLECTION
from atlas.memory.system import MemorySystem
from atlas.storage.store import LEDGER
from atlas.storage.store import EmbeddingModel as EmbeddingModel
from atlas.views.shared.kinds import KINDS, Kind


class StoreState(NamedTuple):
    """Equal only where a store holds the same."""

    path: str
    is_read_only: bool
    ledger_id: str
    """Another one after a restore and after a change of the embedding model, which may bring a revision back."""

    revision: int


def store_state(memory: MemorySystem) -> StoreState:
    """Return the state of a memory's store now."""
    ledger = memory.storage.ledger
    return StoreState(
        path=str(memory.storage.path),
        is_read_only=memory.storage.read_only,
        ledger_id=ledger.position(COLLECTION).ledger_id,
        revision=ledger.revision(),
    )


def uses_seen(memory: MemorySystem, kind: Kind) -> int:
    """Return how many uses of a kind of memory are recorded: they change no revision of the store."""
    return sum(kind.records(memory).column("usage.n_uses").values())


def all_uses_seen(memory: MemorySystem) -> int:
    """Return how many uses of any kind of memory are recorded."""
    return sum(uses_seen(memory, kind) for kind in KINDS)


def ledger_file(store: Path) -> Path:
    """Return the file that is the store. Another one at its place is another store."""
    return store / LEDGER
