"""Judged queries whose first hit is not right, as a list that leads to Ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlas.core.hits import Hit
from atlas.core.types import Experience
from atlas.evaluation.judged import judged_queries
from atlas.evaluation.measures import JudgedQuery
from atlas.memory.system import MemorySystem
from atlas.views.lists.queries import Row
from atlas.views.shared.wording import counted, shortened

MAX_SEARCHED = 120
"""Most judged queries that are searched. More would take many seconds."""

MAX_ROWS = 10
DEPTH = 10
"""Number of first hits among which a right one is looked for."""

TITLE_CHARACTERS = 90
NOTHING, DELETED = "nothing", "deleted since"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissRow(Row):
    """A judged query whose first hit is not right. Its id is the query. All texts but the rank are untrusted."""

    query: str
    first: str
    """Task of the first hit, or `NOTHING`."""

    right: str
    """Task of the best placed record that was judged right."""

    rank: str
    """The place of that record: `3`, or `not in 10`."""

    action: str = "Ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Misses:
    """The judged queries that search answers worst."""

    rows: tuple[MissRow, ...]
    """At most `MAX_ROWS`, those whose right record is farthest down first."""

    n: int
    """Number of queries whose first hit is not right."""

    n_searched: int

    @property
    def sentence(self) -> str:
        """The number of queries that failed, and how many of them are listed."""
        latest = "the latest " if self.n_searched == MAX_SEARCHED else ""
        of = f"{self.n:,} of {latest}{counted(self.n_searched, 'judged query')}"
        shown = f" The {len(self.rows)} worst:" if self.n > len(self.rows) else ""
        return f"For {of}, the first hit is not one that was judged right.{shown}"


def missed_queries(memory: MemorySystem) -> Misses:
    """Return the judged queries whose first hit is not right, of the `MAX_SEARCHED` latest.

    No search counts as a retrieval.
    """
    ids = {*memory.experience.ids({"marks.buried": False})}
    task = judged_queries(memory.storage.judgements.all(), memory.experience.collection_name, ids)
    queries = task.queries[-MAX_SEARCHED:] if task is not None else ()
    ranked = [(query, _hits(memory, query.text)) for query in queries]
    missed = [(query, hits, _rank(query, hits)) for query, hits in ranked if _rank(query, hits) != 1]
    worst = sorted(missed, key=lambda miss: -(miss[2] or DEPTH + 1))[:MAX_ROWS]
    return Misses(
        rows=tuple(_row(memory, query, hits, rank) for query, hits, rank in worst),
        n=len(missed),
        n_searched=len(queries),
    )


def _hits(memory: MemorySystem, text: str) -> Sequence[Hit[Experience]]:
    """Return the first hits of a query, as an agent gets them."""
    return memory.experience.retrieve(text, DEPTH, count_retrieval=False).hits


def _rank(query: JudgedQuery, hits: Sequence[Hit[Experience]]) -> int | None:
    """Return the place of the first right hit, counted from 1, or None if there is none."""
    return next((place for place, hit in enumerate(hits, 1) if hit.item.id in query.grades), None)


def _row(memory: MemorySystem, query: JudgedQuery, hits: Sequence[Hit[Experience]], rank: int | None) -> MissRow:
    right_id = hits[rank - 1].item.id if rank else next(iter(query.grades))
    right = next(iter(memory.experience.get_many([right_id])), None)  # another process may have deleted it
    return MissRow(
        id=query.text,
        query=shortened(query.text, TITLE_CHARACTERS),
        first=shortened(hits[0].item.task.description, TITLE_CHARACTERS) if hits else NOTHING,
        right=shortened(right.task.description, TITLE_CHARACTERS) if right else DELETED,
        rank=str(rank) if rank else f"not in {DEPTH}",
    )
