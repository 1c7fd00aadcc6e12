"""Expansion of id prefixes that a person types to full ids, in any memory."""

from __future__ import annotations

from collections.abc import Iterable

from atlas.core.errors import NotFound
from atlas.memory.kinds.table import known_kinds
from atlas.memory.system import MemorySystem
from atlas.remote.system import RemoteMemory


def expand_ids(memory: MemorySystem | RemoteMemory, prefixes: Iterable[str]) -> list[str]:
    """Return the full ids of records, given prefixes of the ids. A server takes full ids only.

    Raises:
        NotFound: No id begins with a prefix, or more than one does.
    """
    if isinstance(memory, RemoteMemory):
        return [*prefixes]
    return [_expand_id(memory, prefix) for prefix in prefixes]


def _expand_id(memory: MemorySystem, prefix: str) -> str:
    ids = list[str]()
    for kind in known_kinds().values():
        ids += memory.storage.ledger.ids_with_prefix(kind.records(memory).collection_name, prefix)
    if prefix in ids:
        return prefix
    if len(ids) != 1:
        raise NotFound(
            f"{'no' if not ids else 'more than one'} record has an id that begins with {prefix!r}; "
            "copy an id from a list or a search"
        )
    return ids[0]
