"""Lookup of records by id prefix, as shown in results."""

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
class Place:
    """A record id and its memory."""

    name: str
    memory: Memory[Any]
    id: str


def place_of(memory: MemorySystem, beginning: str, name: str = "") -> Place:
    """Return the record with an id prefix.

    Args:
        name: The memory to search. Empty for all of them.

    Raises:
        InvalidInput: The prefix is empty, or there is no memory with this name.
        NotFound: No record has such an id, or several have.
    """
    kinds = searchable_kinds()
    if name and name not in kinds:
        raise InvalidInput(f"expected one of {', '.join(kinds)} for a memory, got {name!r:.80}")
    if not beginning.strip():
        raise InvalidInput("an id is empty; take ids from `recall` or `search`")
    memories = {each: kinds[each].records(memory) for each in ([name] if name else kinds)}
    places = [
        Place(each, records, record_id)
        for each, records in memories.items()
        for record_id in records.collection.ids_with_prefix(beginning.strip())
    ]
    if len(places) != 1:
        raise NotFound(
            f"{'more than one record' if places else 'no record'} has an id that begins with {beginning!r:.80}; "
            "take the ids from `recall` or `search`"
        )
    return places[0]


def by_memory(places: Sequence[Place]) -> dict[str, list[str]]:
    """Return the ids of records by memory."""
    ids: dict[str, list[str]] = {}
    for place in places:
        ids.setdefault(place.name, []).append(place.id)
    return ids
