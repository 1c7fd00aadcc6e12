"""Judged queries whose first hit is not right, as a list that leads to Ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
class Miss:
    """A judged query whose first hit is not right, with ids of experiences."""

    query: str
    first_id: str
    """The first hit, or empty."""

    right_id: str
    """The best placed record that was judged right."""

    rank: int | None
    """The place of that record, counted from 1, or None if it is not among the first hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misses:
    """The judged queries that search answers worst."""

    worst: tuple[Miss, ...]
    """At most `MAX_ROWS`, those whose right record is farthest down first."""

    n: int
    """Number of queries whose first hit is not right."""

    n_searched: int

    @property
    def sentence(self) -> str:
        """The number of queries that failed, and how many of them are listed."""
        latest = "the latest " if self.n_searched == MAX_SEARCHED else ""
        of = f"{self.n:,} of {latest}{counted(self.n_searched, 'judged query')}"
        shown = f" The {len(self.worst)} worst:" if self.n > len(self.worst) else ""
        return f"For {of}, the first hit is not one that was judged right.{shown}"


def missed_queries(memory: MemorySystem) -> Misses:
    """Return the judged queries whose first hit is not right, of the `MAX_SEARCHED` latest.

    Records that no search may find do not count. No search counts as a retrieval.
    """
    quarantined = {record_id for record_id, reason in memory.experience.column("marks.quarantine").items() if reason}
    ids = {*memory.experience.ids({"marks.buried": False})} - quarantined
    task = judged_queries(memory.storage.judgements.all(), memory.experience.collection_name, ids)
    queries = task.queries[-MAX_SEARCHED:] if task is not None else ()
    misses = [miss for query in queries if (miss := _miss(query, _hit_ids(memory, query.text))) is not None]
    worst = sorted(misses, key=lambda miss: -(miss.rank or DEPTH + 1))[:MAX_ROWS]
    return Misses(worst=tuple(worst), n=len(misses), n_searched=len(queries))


def miss_rows(memory: MemorySystem, misses: Misses) -> tuple[MissRow, ...]:
    """Return the worst queries with the tasks of their records, as they are now."""
    ids = {record_id for miss in misses.worst for record_id in (miss.first_id, miss.right_id) if record_id}
    tasks = {record.id: record.task.description for record in memory.experience.get_many([*ids])}
    return tuple(
        MissRow(
            id=miss.query,
            query=shortened(miss.query, TITLE_CHARACTERS),
            first=shortened(tasks.get(miss.first_id, DELETED), TITLE_CHARACTERS) if miss.first_id else NOTHING,
            right=shortened(tasks.get(miss.right_id, DELETED), TITLE_CHARACTERS),
            rank=str(miss.rank) if miss.rank else f"not in {DEPTH}",
        )
        for miss in misses.worst
    )


def _hit_ids(memory: MemorySystem, text: str) -> list[str]:
    """Return the first hits of a query, as an agent gets them."""
    return [hit.item.id for hit in memory.experience.retrieve(text, DEPTH, count_retrieval=False).hits]


def _miss(query: JudgedQuery, hit_ids: Sequence[str]) -> Miss | None:
    """Return the query with its best placed right record, or None if that is the first hit."""
    rank = next((place for place, hit_id in enumerate(hit_ids, 1) if hit_id in query.grades), None)
    if rank == 1:
        return None
    right_id = hit_ids[rank - 1] if rank else next(iter(query.grades))
    return Miss(query=query.text, first_id=next(iter(hit_ids), ""), right_id=right_id, rank=rank)
