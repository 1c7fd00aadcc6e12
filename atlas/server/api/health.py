"""Health of the server. It needs no key, and says nothing of what the store holds."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import APIRouter

from atlas.memory.system import MemorySystem
from atlas.server.api.parts import Served, Warm
from atlas.server.api.shapes import Health
from atlas.server.spool import Spool

router = APIRouter()


@router.get("/health")
def health(memory: Served, is_warm: Warm) -> Health:
    """Say whether the store can be read, and whether searches are as good and as fast as they will be."""
    memory.revision()
    spool = Spool(memory.storage.path)
    return Health(
        status="ready",
        version=version("atlas-memory"),
        schema_version=memory.storage.schema_version,
        store=memory.storage.path.name,
        is_model_ready=is_warm,
        n_behind=_n_behind(memory),
        is_index_reachable=not memory.storage.indexes.fault,
        n_traces_waiting=spool.n_waiting(),
        n_traces_refused=spool.n_refused(),
    )


def _n_behind(memory: MemorySystem) -> int:
    store = memory.storage
    if store.model is None:  # nothing was ever embedded
        return 0
    return sum(store.collection(name).parts.nearest.n_behind() for name in store.ledger.collections())
