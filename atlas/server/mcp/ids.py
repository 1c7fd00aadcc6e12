"""Lookup of records by the id prefixes that results show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atlas.core.errors import InvalidInput, NotFound
from atlas.memory.kinds.table import searchable_kinds

if TYPE_CHECKING:
    from atlas.memory.base.memory import Memory
    from atlas.memory.system import MemorySystem


@dataclass(frozen=True, slots=True)
class RecordReference:
    """A record id and its memory."""

    name: str
    memory: Memory[Any]
    id: str


def find_record(memory: MemorySystem, prefix: str, name: str = "") -> RecordReference:
    """Return the one record whose id begins with a prefix.

    Args:
        name: The memory to search. Empty for all of them.

    Raises:
        InvalidInput: The prefix is empty, or there is no memory with this name.
        NotFound: No id begins with the prefix, or several ids do.
    """
    kinds = searchable_kinds()
    if name and name not in kinds:
        raise InvalidInput(f"expected one of {', '.join(kinds)} for a memory, got {name!r:.80}")
    if not prefix.strip():
        raise InvalidInput("an id is empty; take ids from `recall` or `search`")
    references = list[RecordReference]()
    for kind_name in [name] if name else kinds:
        records = kinds[kind_name].records(memory)
        ids = records.collection.ids_with_prefix(prefix.strip())
        references += [RecordReference(kind_name, records, record_id) for record_id in ids]
    if len(references) != 1:
        raise NotFound(
            f"{'more than one record' if references else 'no record'} has an id that begins with {prefix!r:.80}; "
            "take the ids from `recall` or `search`"
        )
    return references[0]


def group_by_memory(references: Sequence[RecordReference]) -> dict[str, list[str]]:
    """Return the ids of records, keyed by the name of their memory."""
    ids: dict[str, list[str]] = {}
    for reference in references:
        ids.setdefault(reference.name, []).append(reference.id)
    return ids
