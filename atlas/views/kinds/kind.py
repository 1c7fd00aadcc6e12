"""Descriptions of the kinds of memories, for pages and commands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlas.memory.base.memory import Memory
from atlas.memory.base.success_rates import lower_bound
from atlas.memory.system import MemorySystem
from atlas.views.kinds.columns import NO_TABLES, Tables
from atlas.views.kinds.fields import Fields
from atlas.views.kinds.filters import Filters, Values, where_of

NEWEST, OLDEST = "Newest first", "Oldest first"
"""Orders that every list has."""


@dataclass(frozen=True, slots=True)
class Order:
    """One order of a list."""

    key: str
    """The stored field that it sorts by."""

    is_descending: bool = False
    worth: Callable[[int, int], tuple[float, ...]] | None = None
    """The rank of a record, given how many of its uses succeeded and how many there were.

    High ranks come first, and records without a use last, in the order of the key.
    """


NOTHING = "Nothing is remembered yet."

SUREST = "Most reliable first"
SUREST_FIRST: Mapping[str, Order] = {
    SUREST: Order("created_at", True, worth=lambda n_succeeded, n: (lower_bound(n_succeeded, n),))
}
BY_TIME: Mapping[str, Order] = {NEWEST: Order("created_at", is_descending=True), OLDEST: Order("created_at")}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """Trusted text that describes a kind of memory, for all pages."""

    noun: str
    """Noun for a record, and prefix of widget keys."""

    page: str
    """Name of its page in URLs."""

    about: str = ""
    """The purpose of the page, in one sentence."""

    nothing: str = NOTHING
    """The title of the page while it is empty."""

    contents: str = ""
    """Sentence on the contents of the page when it is not empty."""

    home: str = "store"
    """Noun for the whole memory: `library`."""

    records: Callable[[MemorySystem], Memory[Any]]
    """Function that returns the memory."""

    when_pinned: str
    """The effect of a pin, in a sentence."""

    filters: Filters = ()
    """Filters of its list, in the order of their boxes."""

    orders: Mapping[str, Order] = field(default_factory=lambda: BY_TIME)
    """Orders of its list, by label. The first is the default."""

    question: str = ""
    """The text of the box for a search while it is empty."""

    is_scoped: bool = False
    """True if the filters are the scope, which other pages share."""

    can_search_words: bool = False
    """True if its list supports keyword search."""

    shows_uses: bool = False
    """True if its list shows how the tasks went that its records were used for."""

    left_out: Callable[[MemorySystem], Collection[str]] = lambda memory: ()
    """Function that returns the ids of records that agents are not given, which are listed last."""

    unretire: Callable[[Memory[Any], Sequence[str]], int] = lambda records, ids: records.change_marks(ids, buried=False)
    """Function that brings retired records back into searches, and returns how many it changed."""

    is_exported: bool = True
    """True if its records have lines of JSON that `atlas import` reads."""

    tables: Tables = NO_TABLES
    """Columns of its tables."""

    similar_caption: str = "The nearest in meaning. Click one to open it."
    fields: Fields = ()
    """Editable fields, in the order of their input boxes."""

    def retired_ids(self, memory: MemorySystem, ids: Sequence[str]) -> set[str]:
        """Return those of some records that agents are not given: retired by hand, or for their outcomes."""
        marks = self.records(memory).marks(ids)
        left_out = self.left_out(memory)
        return {record_id for record_id, mark in marks.items() if mark.buried or record_id in left_out}

    def where(self, memory: MemorySystem, values: Values) -> dict[str, Any]:
        """Return the store's filter for values of its filters."""
        return where_of(self.filters, values, self.records(memory))
