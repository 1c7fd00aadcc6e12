"""The kinds of memories that a page can be about, and how the parts of a page speak of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atlas.memory.base.retrieval import RetrievalMemory
from atlas.memory.journal.memory import REFUSED_COLLECTION
from atlas.memory.system import MemorySystem


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of memory. The words are our own."""

    noun: str
    """Name of one. Also the beginning of its widgets' keys."""

    page: str
    """The page that shows them, as its address says it."""

    records: Callable[[MemorySystem], RetrievalMemory[Any]]
    """The memory that holds them."""


EXPERIENCE = Kind("experience", "experiences", lambda memory: memory.experience)
CONCEPT = Kind("concept", "concepts", lambda memory: memory.concepts)
STRATEGY = Kind("strategy", "strategies", lambda memory: memory.strategies)
JOURNAL = Kind("entry", "journal", lambda memory: memory.journal)
KINDS = (EXPERIENCE, CONCEPT, STRATEGY, JOURNAL)
"""Kinds of memory that have a page."""


def kind_of(memory: MemorySystem, collection: str) -> Kind:
    """Return the kind whose memory keeps its records in a collection. Experiences where no page knows it."""
    if collection == REFUSED_COLLECTION:
        return JOURNAL
    return next((kind for kind in KINDS if kind.records(memory).collection_name == collection), EXPERIENCE)


def kind_on(page: str) -> Kind:
    """Return the kind that a page is about."""
    return next((kind for kind in KINDS if kind.page == page), EXPERIENCE)
