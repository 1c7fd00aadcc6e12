"""Views that a feature has of its kind of memory: lines of lists, cards, single records in full, and plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from atlas.core.hits import Hit
from atlas.core.operations import Marks
from atlas.core.settings import RankingWeights
from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.lists.editable import EditableFields
from atlas.views.lists.hits import CardText, HitCard, record_card
from atlas.views.lists.queries import Count, Listing, Query, R, SearchResult
from atlas.views.lists.selection import SelectionSummary, chosen_used
from atlas.views.shared.plans import PlanRequest
from atlas.views.shared.state import uses_seen
from atlas.views.shared.versions import version_changes


class Detail(Protocol):
    """One record in full, as far as every panel shows it."""

    @property
    def id(self) -> str:
        """The record's id."""

    @property
    def marks(self) -> Marks:
        """The pin, the tags and the note that people gave it."""

    @property
    def editable(self) -> EditableFields:
        """The editable fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A planned change of records that a person has chosen."""

    name: str
    """The end of the keys of its buttons."""

    label: str
    request: Callable[[tuple[str, ...]], PlanRequest[Any]]
    """Function that returns the request for records, by their ids."""

    help_text: str
    """May have a place for `it` or `them`."""

    least: int = 1
    """Smallest number of selected records."""


def merging(request: Callable[[tuple[str, ...]], PlanRequest[Any]], help_text: str) -> Act:
    """Return the act that merges records."""
    return Act(name="merge", label="Merge …", request=request, help_text=help_text, least=2)


def deleting(request: Callable[[tuple[str, ...]], PlanRequest[Any]], help_text: str) -> Act:
    """Return the act that deletes records."""
    return Act(name="delete", label="Delete …", request=request, help_text=help_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindViews(Generic[R]):
    """The views of one kind of memory."""

    kind: Kind
    rows: Callable[[MemorySystem, Sequence[Any], Mapping[str, Hit[str]]], tuple[R, ...]]
    """Function that returns rows of records, with the hits of a search by meaning, by id."""

    stored_rows: Callable[[MemorySystem, Sequence[Mapping[str, Any]]], tuple[R, ...]] | None = None
    """Lines made from the rows of `browse`, for kinds whose records are not read completely."""

    grouped_page: Callable[[MemorySystem, Query, int], Listing[R]] | None = None
    """A page of the list without a question in which records that belong together are one line."""

    grouped_ids: Callable[[MemorySystem, Query], Sequence[Sequence[str]]] | None = None
    """The ids of the records of each line on all pages of such a list, if a line stands for several."""

    count: Callable[[MemorySystem, Query], Count] | None = None
    """Function that returns the number of records in a list without a query, and an addition to its caption."""

    found_note: Callable[[MemorySystem, SearchResult], str] = lambda memory, result: ""
    """The addition to the caption of a search."""

    card: Callable[[MemorySystem, Any, str], CardText]
    """Texts of the card of a record that a question found."""

    detail: Callable[[MemorySystem, str], Detail | None]
    """One record in full, by its id, or None if it does not exist."""

    editable: Callable[[Any], EditableFields]
    """The fields of a stored record that can be changed."""

    versioned: Sequence[str] = ()
    """Names of the fields that earlier versions keep, empty if there are no versions."""

    acts: Sequence[Act]
    """Acts on a selection, in their order. The one that deletes is offered for a single record too."""

    selection: Callable[[MemorySystem, Sequence[str], str], SelectionSummary] | None = None
    """Function that returns the current state of a selection, given its ids and origin.

    By default its rate is the success rate of its uses.
    """

    def act(self, name: str) -> Act:
        """Return the act of a name."""
        return next(act for act in self.acts if act.name == name)

    def chosen(self, memory: MemorySystem, ids: Sequence[str], origin: str) -> SelectionSummary:
        """Return the current state of a selection, given its ids and its origin. Some records may be deleted."""
        if self.selection is not None:
            return self.selection(memory, ids, origin)
        return chosen_used(memory, ids, origin, self.kind)

    def chosen_state(self, memory: MemorySystem) -> int:
        """Return a number for cache keys that grows with recorded uses, which do not change the store's revision."""
        return uses_seen(memory, self.kind) if self.selection is None else 0

    def hit_card(
        self, memory: MemorySystem, record: Any, hit: Hit[Any] | None, text: str, weights: RankingWeights
    ) -> HitCard:
        """Return the card of a record that a question found.

        Args:
            hit: None for a search that ranks by words alone.
            weights: The weights that it was ranked by.
        """
        card_text = self.card(memory, record, text)
        return record_card(self.kind.records(memory), record.id, card_text, hit=hit, text=text, weights=weights)

    def found_card(self, memory: MemorySystem, query: Query, result: SearchResult, record_id: str) -> HitCard | None:
        """Return the card of a record among the results of a question, or None if it is not in the store.

        It takes some milliseconds, and more if the record's text is longer than the model's input.
        """
        records = self.kind.records(memory)
        record = records.get(record_id)
        if record is None:
            return None
        return self.hit_card(memory, record, result.hits.get(record_id), query.text, records.weights)

    def changes_to(self, memory: MemorySystem, record_id: str, number: int) -> dict[str, Any]:
        """Return the changes, as `edit` takes them, that restore a version of a record. See `version_changes`."""
        records: Any = self.kind.records(memory)
        return version_changes(records.get(record_id), records.versions(record_id), number, self.versioned)
