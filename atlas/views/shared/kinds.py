"""The kinds of memories that a page can be about, and the words for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atlas.memory.base.memory import Memory
from atlas.memory.journal import REFUSED_COLLECTION
from atlas.memory.system import MemorySystem


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of memory, in our own words."""

    noun: str
    """The word for one of them, and the beginning of the keys of its widgets."""

    page: str
    """The page that shows them, by its name in an address."""

    records: Callable[[MemorySystem], Memory[Any]]
    """The memory that holds them."""

    when_pinned: str
    """The effect of a pin, in a sentence."""


EXPERIENCE = Kind("experience", "experiences", lambda memory: memory.experience, "Pinned experiences are never pruned.")
CONCEPT = Kind("concept", "concepts", lambda memory: memory.concepts, "Pinned concepts are never pruned.")
STRATEGY = Kind(
    "strategy", "strategies", lambda memory: memory.strategies, "Outcomes alone never retire pinned strategies."
)
JOURNAL = Kind("entry", "journal", lambda memory: memory.journal, "Pinned entries are never pruned.")
KINDS = (EXPERIENCE, CONCEPT, STRATEGY, JOURNAL)
"""The kinds that have a page."""


def kind_of(memory: MemorySystem, collection: str) -> Kind:
    """Return the kind that keeps its records in a collection, or experiences if no page knows it."""
    if collection == REFUSED_COLLECTION:
        return JOURNAL
    return next((kind for kind in KINDS if kind.records(memory).collection_name == collection), EXPERIENCE)


def kind_on(page: str) -> Kind:
    """Return the kind that a page is about, or experiences if it is about none alone."""
    return next((kind for kind in KINDS if kind.page == page), EXPERIENCE)
