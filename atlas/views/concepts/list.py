"""The list of concepts: a question, filters, an order and a page become rows. The store does the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS, Usage
from atlas.core.statistics import SuccessRate
from atlas.core.types import CodeConcept
from atlas.memory.system import MemorySystem
from atlas.views.concepts.purpose import purpose_of
from atlas.views.kinds.filters import known_tags
from atlas.views.lists.listing import (
    NEWEST,
    PAGE_ROWS,
    Listing,
    Question,
    Row,
    best_matches,
    explained,
    listed_caption,
    marks_text,
    on_page,
    page_start,
)
from atlas.views.shared.rates import rate_line
from atlas.views.shared.wording import counted, found_caption

MOST_USED = "Most used first"

ORDERS: Mapping[str, tuple[str, bool]] = {
    NEWEST: ("created_at", True),
    "Oldest first": ("created_at", False),
    "Name, A to Z": ("title", False),
    MOST_USED: ("usage.n_uses", True),
}
"""Orders of the list: our words for each, its key, and whether high values come first."""

DESCRIPTION_CHARACTERS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptQuery(Question):
    """A person's question, and what narrows it."""

    sources: tuple[Any, ...] = ()
    """Only these, or all if empty. The same holds for the next two."""

    languages: tuple[Any, ...] = ()
    tags: tuple[Any, ...] = ()
    order: str = NEWEST
    """A key of `ORDERS`. A search has its own order."""

    def where(self) -> dict[str, Any]:
        """Return the filter as the store takes it."""
        wanted = {"source": self.sources, "language": self.languages, "marks.tags": self.tags}
        return {key: {"$in": list(values)} for key, values in wanted.items() if values}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptOptions:
    """Values that narrow the list, with how many concepts have each, most frequent first. Untrusted text."""

    sources: Mapping[Any, int]
    languages: Mapping[Any, int]
    tags: Mapping[Any, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptRow(Row):
    """One line of the list. Texts from the store are untrusted."""

    name: str
    description: str
    source: str
    language: str
    n_uses: int
    succeeded: str
    """The rate with its interval and the number of uses, or a dash if nobody used it."""

    created_at: datetime | None
    """In UTC."""


def concept_options(memory: MemorySystem) -> ConceptOptions:
    """Return the values that the list of concepts can be narrowed by."""
    library = memory.concepts
    return ConceptOptions(
        sources=library.values("source"), languages=library.values("language"), tags=known_tags(library)
    )


def search_concepts(memory: MemorySystem, query: ConceptQuery) -> tuple[Hit[CodeConcept], ...]:
    """Return everything that answers a question, best first, at most `SEARCH_ROWS`."""
    found = best_matches(memory.concepts, query.text, query.where(), with_irrelevant=query.with_irrelevant)
    return tuple(found.hits)


def found_concepts(
    memory: MemorySystem, query: ConceptQuery, found: Sequence[Hit[CodeConcept]], page: int = 1
) -> Listing[ConceptRow]:
    """Return one page of what a search found, counted from 1."""
    rows = _rows(memory, explained(on_page(found, page)))
    return Listing(rows=rows, n=len(found), caption=_search_caption(memory, query, len(found)))


def listed_concepts(memory: MemorySystem, query: ConceptQuery, page: int = 1) -> Listing[ConceptRow]:
    """Return one page of the list without a question, counted from 1."""
    n = memory.concepts.count(query.where())
    found = memory.concepts.get_many(_page_ids(memory, query, page_start(page, n)))
    return Listing(
        rows=_rows(memory, [(concept, None, "") for concept in found]),
        n=n,
        caption=listed_caption(n, memory.concepts.count(), "concept", is_narrow=bool(query.where())),
    )


def similar_concepts(memory: MemorySystem, concept_id: str, k: int = 8) -> tuple[ConceptRow, ...]:
    """Return the concepts nearest to one."""
    return _rows(memory, explained(memory.concepts.similar(concept_id, k, with_buried=True)))


def rate_of(usage: Usage) -> SuccessRate:
    """Return how the tasks went that something was used for."""
    return SuccessRate(n_succeeded=usage.n_successes, n_failed=usage.n_uses - usage.n_successes)


def _page_ids(memory: MemorySystem, query: ConceptQuery, offset: int) -> list[str]:
    order_by, descending = ORDERS[query.order]
    if not order_by.startswith("usage."):
        rows = memory.concepts.browse(
            query.where(), order_by=order_by, descending=descending, limit=PAGE_ROWS, offset=offset
        )
        return [row["id"] for row in rows]
    used = memory.concepts.column(order_by, query.where())
    ids = sorted(memory.concepts.ids(query.where()), key=lambda concept_id: -used.get(concept_id, 0))
    return ids[offset : offset + PAGE_ROWS]


def _rows(memory: MemorySystem, found: Sequence[tuple[CodeConcept, float | None, str]]) -> tuple[ConceptRow, ...]:
    ids = [concept.id for concept, _, _ in found]
    marks, usage = memory.concepts.marks(ids), memory.concepts.usage(ids)
    return tuple(
        ConceptRow(
            id=concept.id,
            name=concept.name,
            description=" ".join(purpose_of(concept.description)[0][:DESCRIPTION_CHARACTERS].split()),
            source=concept.source,
            language=concept.language,
            n_uses=usage[concept.id].n_uses,
            succeeded=rate_line(rate_of(usage[concept.id])),
            created_at=concept.created_at.astimezone(UTC) if concept.created_at else None,
            marks=marks_text(marks.get(concept.id, NO_MARKS)),
            relevance=relevance,
            why=why,
        )
        for concept, relevance, why in found
    )


def _search_caption(memory: MemorySystem, query: ConceptQuery, n_found: int) -> str:
    among = counted(memory.concepts.count(query.where()), "concept")
    return found_caption(n_found, among, with_irrelevant=query.with_irrelevant)
