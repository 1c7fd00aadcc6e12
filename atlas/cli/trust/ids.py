"""Ids of records in any memory, from the beginnings of them that a person types."""

from __future__ import annotations

from collections.abc import Iterable

from atlas.core.errors import NotFound
from atlas.memory.kinds.table import known_kinds
from atlas.memory.system import MemorySystem
from atlas.remote.system import RemoteMemory


def expand_ids(memory: MemorySystem | RemoteMemory, beginnings: Iterable[str]) -> list[str]:
    """Return the id of each record from a prefix. A server takes whole ids only.

    Raises:
        NotFound: No record, or more than one, has a prefix.
    """
    if isinstance(memory, RemoteMemory):
        return [*beginnings]
    return [_expand_id(memory, beginning) for beginning in beginnings]


def _expand_id(memory: MemorySystem, beginning: str) -> str:
    memories = [kind.records(memory) for kind in known_kinds().values()]
    ids = [
        i
        for kind_memory in memories
        for i in memory.storage.ledger.ids_with_prefix(kind_memory.collection_name, beginning)
    ]
    if beginning in ids:
        return beginning
    if len(ids) != 1:
        raise NotFound(f"{'no' if not ids else 'more than one'} record has an id that begins with {beginning!r}")
    return ids[0]
