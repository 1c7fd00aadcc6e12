"""The state of the index that searches by meaning use."""

from __future__ import annotations

from atlas.core.imports.distribution import missing_package
from atlas.memory.system import MemorySystem
from atlas.storage.following_index import FollowingIndex, IndexUnusable
from atlas.views.shared.wording import counted


def index_state(memory: MemorySystem) -> str:
    """Return the state of the vector index as last seen by this process."""
    store, name = memory.storage, memory.experience.collection_name
    if store.model is None or store.collection(name).parts.nearest.is_exact():
        return "exact search of every record"
    if store.ledger.is_file and not store.indexes.location and (missing := missing_package("chroma", "the index")):
        return f"none: every record is compared, which takes longer the more there are; {missing}"
    if store.indexes.fault:
        return "out of reach: every record is compared"
    position = store.ledger.position(name)
    checkpoint = store.collection(name).parts.nearest.updater.checkpoint()
    if checkpoint.ledger_id != position.ledger_id:
        return "not built: every record is compared"
    n_behind = max(0, position.revision - checkpoint.revision)
    return "up to date" if not n_behind else f"{counted(n_behind, 'change')} behind, but searches include them"


def current_index_state(memory: MemorySystem) -> str:
    """Return the state of the vector index after a call to its service."""
    store = memory.storage
    if not store.indexes.location:
        return index_state(memory)
    if store.model is not None:
        for name in store.ledger.collections():
            _ask(store.collection(name).parts.nearest.index)
    state = index_state(memory)
    return f"{state} ({store.indexes.fault})" if store.indexes.fault else f"{store.indexes.location}, {state}"


def _ask(index: FollowingIndex | None) -> None:
    """Ask the service with a trivial request, to check that it is reachable."""
    try:
        if index is not None:
            index.count()
    except IndexUnusable:
        return  # the store knows of it from here on
