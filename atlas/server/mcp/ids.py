"""Records by the beginnings of their ids, as results show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atlas.core.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from atlas.memory.base.memory import Memory
    from atlas.memory.system import MemorySystem

MEMORIES = ("experience", "strategies", "concepts", "journal")


@dataclass(frozen=True, slots=True)
class Place:
    """A record, and the memory that holds it."""

    name: str
    memory: Memory[Any]
    id: str


def place_of(memory: MemorySystem, beginning: str, among: Sequence[str] = MEMORIES) -> Place:
    """Return where the record is whose id begins so.

    Args:
        among: Names of the memories that may hold it.

    Raises:
        InvalidInput: The beginning is empty, or there is no memory of such a name.
        NotFound: No record, or more than one, begins so.
    """
    if unknown := set(among) - set(MEMORIES):
        raise InvalidInput(f"a memory should be one of {', '.join(MEMORIES)}, but is {min(unknown)!r:.80}")
    if not beginning.strip():
        raise InvalidInput("an id should have at least one character, but is empty")
    found = [
        Place(name, held, record_id)
        for name in among
        for held in [getattr(memory, name)]
        for record_id in memory.storage.ledger.ids_beginning(held.collection_name, beginning.strip())
    ]
    if len(found) != 1:
        raise NotFound(
            f"{'no record' if not found else 'more than one record'} has an id that begins with {beginning!r:.80}; "
            "take the ids from `recall` or `search`"
        )
    return found[0]


def by_memory(places: Sequence[Place]) -> dict[str, list[str]]:
    """Return the ids of records by the memory that holds them."""
    held: dict[str, list[str]] = {}
    for place in places:
        held.setdefault(place.name, []).append(place.id)
    return held
