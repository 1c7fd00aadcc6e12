"""A kind of memory, as pages and commands describe it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atlas.memory.base.memory import Memory
from atlas.memory.system import MemorySystem
from atlas.views.kinds.filters import Filters


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of memory, in our own words. Everything that draws a kind reads it here."""

    noun: str
    """The word for one of them, and the beginning of the keys of its widgets."""

    page: str
    """The page that shows them, by its name in an address."""

    records: Callable[[MemorySystem], Memory[Any]]
    """The memory that holds them."""

    when_pinned: str
    """The effect of a pin, in a sentence."""

    filters: Filters = ()
    """What its list can be narrowed by, in the order of the boxes."""
