"""A kind of record, and the registry of added kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atlas.core.exchange import LineKind
    from atlas.memory.kinds.record_text import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryKind:
    """A kind of record: the memory that stores it, and its forms in files and prompts."""

    noun: str
    """Noun for a record. Lines of export files have it as their `kind`."""

    records: Callable[[Any], Any]
    """Function that returns the memory of this kind from a memory system."""

    types: tuple[type, ...]
    """Types of imported items that the memory accepts."""

    add: Callable[[Any, list[Any]], list[str]]
    """Function that adds items to the memory without duplicates, and returns the ids of the new ones."""

    check: Callable[[Any], object] = lambda item: None
    """Function that raises `InvalidInput` for an item that cannot be stored."""

    id_of: Callable[[Any], str] = attrgetter("id")
    """Function that returns the id of an item's stored record."""

    summary: Callable[[Any], str] = lambda record: ""
    """Function that returns a record's text in a list of results."""

    is_searchable: bool = True
    """False if records of this kind are stored but not offered for search."""

    line: LineKind | None = None
    """Form of the records in import and export files, or None if they are not exported."""

    section: Section | None = None
    """Form of the records in a context block, or None if blocks do not show them."""


ADDED_KINDS: dict[str, MemoryKind] = {}
"""Registered kinds in addition to ATLAS's own, keyed by the name of their memory."""
