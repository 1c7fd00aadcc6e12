"""The list of experiences: a question, filters, an order and a page become rows. The store does the work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from atlas.core.types import Experience, Hit
from atlas.memory.system import MemorySystem
from atlas.views.rates import SuccessRate
from atlas.views.wording import OUTCOMES, SIGNS, counted, signed

PAGE_ROWS = 25
SEARCH_ROWS = 50
"""The best hits of a search; it has no further pages, because what ranks lower no longer answers the question."""

MEANING, WORDS = "Meaning", "Words"
NEWEST = "Newest first"

ORDERS: Mapping[str, tuple[str, bool]] = {
    NEWEST: ("created_at", True),
    "Oldest first": ("created_at", False),
    "Most steps first": ("n_steps", True),
    "Fewest steps first": ("n_steps", False),
    "Task, A to Z": ("title", False),
    "Domain, A to Z": ("domain", False),
}
"""What a list can be sorted by: the words for it, the key, and whether high values come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What a person asked for."""

    text: str = ""
    """A question; empty lists everything that passes the filters."""

    by: str = MEANING
    """`MEANING` or `WORDS`."""

    outcomes: tuple[str, ...] = ()
    """Only these; all where empty."""

    sources: tuple[Any, ...] = ()
    """Only these; all where empty."""

    order: str = NEWEST
    """A key of `ORDERS`; a search has its own order."""

    @property
    def is_search(self) -> bool:
        """Whether there is a question."""
        return bool(self.text.strip())

    @property
    def where(self) -> dict[str, Any]:
        """The filters, as the store takes them."""
        wanted = {"outcome": self.outcomes, "source": self.sources}
        return {key: {"$in": list(values)} for key, values in wanted.items() if values}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceRow:
    """One line of a list; what comes from the store is untrusted text."""

    id: str
    sign: str
    """`✓`, `✗` or `?`."""

    outcome: str
    """With its sign: `✓ succeeded`."""

    task: str
    source: str = ""
    domain: str = ""
    n_steps: int = 0
    created_at: datetime
    """In UTC."""

    similarity: float | None = None
    """Cosine with the question; None in a list that is not ranked by meaning."""

    bonuses: str = ""
    """What was added to the similarity for its place: `+0.05 success, +0.01 use`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of a list."""

    rows: tuple[ExperienceRow, ...]
    caption: str
    """How many there are and how well they went; holds nothing that memories hold."""


def n_pages(memory: MemorySystem, query: Query) -> int:
    """How many pages a list has; at least one."""
    return 1 if query.is_search else max(1, math.ceil(memory.experience.count(query.where) / PAGE_ROWS))


def listing(memory: MemorySystem, query: Query, page: int = 1) -> Listing:
    """One page of what a person asked for; the first is 1."""
    if query.is_search:
        rows = _by_meaning(memory, query) if query.by == MEANING else _by_words(memory, query)
        return Listing(rows=rows, caption=_search_caption(memory, query, len(rows)))
    order_by, descending = ORDERS[query.order]
    found = memory.experience.browse(
        query.where, order_by=order_by, descending=descending, limit=PAGE_ROWS, offset=(page - 1) * PAGE_ROWS
    )
    return Listing(rows=tuple(_listed(row) for row in found), caption=_caption(memory, query))


def similar_rows(memory: MemorySystem, experience_id: str, k: int = 8) -> tuple[ExperienceRow, ...]:
    """The experiences nearest to one."""
    return tuple(_hit(hit) for hit in memory.experience.similar(experience_id, k))


def _by_meaning(memory: MemorySystem, query: Query) -> tuple[ExperienceRow, ...]:
    hits = memory.experience.search_hits(query.text, SEARCH_ROWS, where=query.where, count_retrieval=False)
    return tuple(_hit(hit) for hit in hits)


def _by_words(memory: MemorySystem, query: Query) -> tuple[ExperienceRow, ...]:
    return tuple(
        _row(experience) for experience in memory.experience.search_words(query.text, SEARCH_ROWS, where=query.where)
    )


def _caption(memory: MemorySystem, query: Query) -> str:
    counts = memory.experience.values("outcome", query.where)
    rate, total = SuccessRate.of(counts), memory.experience.count()
    shown = f"{rate.n:,} of {counted(total, 'experience')}" if query.where else counted(total, "experience")
    if rate.share is None:
        return shown
    return f"{shown} · {rate.text} succeeded (n = {rate.n_known:,} with a known outcome)"


def _search_caption(memory: MemorySystem, query: Query, n_found: int) -> str:
    among = counted(memory.experience.count(query.where), "experience")
    if query.where:
        among += " left by the filters"
    if not n_found:
        return f"Nothing found among {among}"
    if query.by == MEANING:
        return f"The {n_found:,} nearest in meaning among {among}, best first"
    most = "The best " if n_found == SEARCH_ROWS else ""
    return f"{most}{n_found:,} that hold any of these words among {among}, most telling first"


def _listed(row: Mapping[str, Any]) -> ExperienceRow:
    metadata = row["metadata"]
    outcome = metadata["outcome"] if metadata.get("outcome") in OUTCOMES else "unknown"
    return ExperienceRow(
        id=row["id"],
        sign=SIGNS[outcome],
        outcome=signed(outcome),
        task=str(metadata.get("title", "")),
        source=str(metadata.get("source", "")),
        domain=str(metadata.get("domain", "")),
        n_steps=int(metadata.get("n_steps", 0)),
        created_at=datetime.fromisoformat(metadata["created_at"]).astimezone(UTC),
    )


def _row(experience: Experience, *, similarity: float | None = None, bonuses: str = "") -> ExperienceRow:
    return ExperienceRow(
        id=experience.id,
        sign=SIGNS[experience.outcome.label],
        outcome=signed(experience.outcome.label),
        task=" ".join(experience.task.description[:400].split()),
        source=str(experience.metadata.get("source", "")),
        domain=experience.task.domain,
        n_steps=len(experience.steps),
        created_at=experience.created_at.astimezone(UTC),
        similarity=similarity,
        bonuses=bonuses,
    )


def _hit(hit: Hit[Experience]) -> ExperienceRow:
    return _row(hit.item, similarity=hit.similarity, bonuses=bonuses_text(hit.signals))


def bonuses_text(signals: Mapping[str, float]) -> str:
    """`+0.05 success, +0.01 use`; signals that added nothing are left out."""
    added = {name: f"{value:+.2f}" for name, value in signals.items() if name != "similarity"}
    return ", ".join(f"{value} {name}" for name, value in added.items() if float(value))


def known_outcomes(memory: MemorySystem) -> Sequence[str]:
    """The outcomes that some experience has, in a fixed order."""
    held = memory.experience.values("outcome")
    return [outcome for outcome in OUTCOMES if outcome in held]


def known_sources(memory: MemorySystem) -> Sequence[Any]:
    """The sources that some experience has, most frequent first."""
    return list(memory.experience.values("source"))
