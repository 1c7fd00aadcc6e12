"""A kind of record, and the kinds that others have added."""

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
    """A kind of record: the memory that has such records, and how files and prompts show them."""

    noun: str
    """The word for one of them, which a line of a file begins with."""

    records: Callable[[Any], Any]
    """Function that returns the memory of a system."""

    types: tuple[type, ...]
    """Types of the items of an import that the memory takes."""

    add: Callable[[Any, list[Any]], list[str]]
    """Function that adds items to the memory, each once, and returns the ids of those that were new."""

    check: Callable[[Any], object] = lambda item: None
    """Function that raises `InvalidInput` for an item that the store could not hold."""

    id_of: Callable[[Any], str] = attrgetter("id")
    """The id that a stored record of the item has."""

    summary: Callable[[Any], str] = lambda record: ""
    """Function that returns the text of a record in a list of results."""

    is_searchable: bool = True
    """False if its records are only stored, so that no door offers them."""

    line: LineKind | None = None
    """Its lines in files, or None if it has none."""

    section: Section | None = None
    """Its section of a context block, or None if no prompt shows it."""


FURTHER: dict[str, MemoryKind] = {}
"""Kinds beside those of ATLAS, by the name that their memory has in results."""
