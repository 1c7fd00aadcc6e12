"""The list of experiences: a scope, an order and a page become rows. The store does the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS, Marks
from atlas.core.statistics import SuccessRate
from atlas.core.types import Experience
from atlas.maps.map import MemoryMap
from atlas.memory.base.ranking import explain
from atlas.memory.system import MemorySystem
from atlas.storage.sqlite.stored import stored_instant
from atlas.views.lists.listing import PAGE_ROWS, Listing, Row, listed_caption, page_start
from atlas.views.shared.rates import rate_text
from atlas.views.shared.scope import BEST_MATCH, Scope, domain_names
from atlas.views.shared.wording import OUTCOMES, SIGNS, attempts_text, signed

NEWEST = "Newest first"

ORDERS: Mapping[str, tuple[str, bool]] = {
    NEWEST: ("created_at", True),
    "Oldest first": ("created_at", False),
    "Most steps first": ("n_steps", True),
    "Fewest steps first": ("n_steps", False),
    "Task, A to Z": ("title", False),
    "Source, A to Z": ("source", False),
}
"""Orders of a list: the words for each, its key, and whether high values come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A person's question and filters."""

    scope: Scope = field(default_factory=Scope)
    where: Mapping[str, Any] = field(default_factory=dict)
    """The scope's filter, as the store takes it."""

    order: str = NEWEST
    """A key of `ORDERS`. A search has its own order."""

    with_irrelevant: bool = False
    """True where a search by best match also lists what has nothing to do with the question."""

    distinct: bool = False
    """True where it shows attempts at one task that are alike as one: the best of them."""

    @property
    def is_search(self) -> bool:
        """True where there is a question."""
        return self.scope.is_search

    @property
    def is_by_words(self) -> bool:
        """True where only words count, so that no model is asked what it means."""
        return self.scope.by != BEST_MATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceRow(Row):
    """One line of a list. What comes from the store is untrusted text."""

    sign: str
    """`✓`, `✗` or `?`."""

    outcome: str
    """With its sign: `✓ succeeded`."""

    task: str
    domain: str = ""
    """The domain that it lies in on the map. Empty where it lies in none."""

    source: str = ""
    n_steps: int = 0
    created_at: datetime
    """In UTC."""

    attempts: str = ""
    """`×4: 3 succeeded, 1 failed`, where it stands for several that are alike. Empty where for itself alone."""


def listed_page(memory: MemorySystem, query: Query, page: int = 1) -> Listing[ExperienceRow]:
    """Return one page of a list without a question. The first is 1."""
    order_by, descending = ORDERS[query.order]
    outcomes = memory.experience.values("outcome", query.where)
    n_found = sum(outcomes.values())
    offset = page_start(page, n_found)
    found = memory.experience.browse(
        query.where, order_by=order_by, descending=descending, limit=PAGE_ROWS, offset=offset
    )
    return Listing(
        rows=tuple(_listed(row) for row in found),
        n=n_found,
        caption=_caption(memory, query, SuccessRate.of(outcomes)),
    )


def placed_and_marked(
    memory: MemorySystem, rows: Sequence[ExperienceRow], memory_map: MemoryMap | None
) -> tuple[ExperienceRow, ...]:
    """Return rows with their domains and what people have said of them."""
    ids = [row.id for row in rows]
    domains, marks = domain_names(memory_map, ids), memory.experience.marks(ids)
    return tuple(
        replace(row, domain=domains.get(row.id, ""), marks=marks_text(marks.get(row.id, NO_MARKS))) for row in rows
    )


def marks_text(marks: Marks) -> str:
    """Return `pinned, buried` and the tags, as one line."""
    said = {"pinned": marks.pinned, "buried": marks.buried, "note": bool(marks.note)}
    return ", ".join([*(name for name, holds in said.items() if holds), *marks.tags])


def similar_rows(memory: MemorySystem, experience_id: str, k: int = 8) -> tuple[ExperienceRow, ...]:
    """Return the experiences nearest to one."""
    return tuple(row_of(hit.item, hit) for hit in memory.experience.similar(experience_id, k, with_buried=True))


def _caption(memory: MemorySystem, query: Query, rate: SuccessRate) -> str:
    shown = listed_caption(rate.n, memory.experience.count(), "experience", is_narrow=bool(query.where))
    if rate.share is None:
        return shown
    return f"{shown} · {rate_text(rate)} succeeded (n = {rate.n_known:,} with a known outcome)"


def _listed(row: Mapping[str, Any]) -> ExperienceRow:
    metadata = row["metadata"]
    outcome = metadata["outcome"] if metadata.get("outcome") in OUTCOMES else "unknown"
    return ExperienceRow(
        id=row["id"],
        sign=SIGNS[outcome],
        outcome=signed(outcome),
        task=str(metadata.get("title", "")),
        source=str(metadata.get("source", "")),
        n_steps=int(metadata.get("n_steps", 0)),
        created_at=stored_instant(metadata).astimezone(UTC),
    )


def row_of(experience: Experience, hit: Hit[Any] | None = None) -> ExperienceRow:
    """Return a line of a list that a search gave. Without a hit, the search ranked by words alone."""
    return ExperienceRow(
        id=experience.id,
        sign=SIGNS[experience.outcome.label],
        outcome=signed(experience.outcome.label),
        task=" ".join(experience.task.description[:400].split()),
        source=str(experience.metadata.get("source", "")),
        n_steps=len(experience.steps),
        created_at=experience.created_at.astimezone(UTC),
        attempts=attempts_text(hit.outcomes) if hit else "",
        relevance=hit.relevance if hit else None,
        why=explain(hit) if hit else "",
    )
