"""Judged queries whose first hit is not right, as a list that leads to Ask."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.evaluation.judged import MissedQueries as MissedQueries
from atlas.evaluation.judged import MissedQuery, query_id
from atlas.evaluation.metrics import DEPTH
from atlas.memory.system import MemorySystem
from atlas.views.lists.queries import Row
from atlas.views.shared.wording import counted, shortened

TITLE_CHARACTERS = 90
NOTHING, HIDDEN = "nothing", "deleted or hidden"

UNKNOWN = "Measure again to list the judged queries that search gets wrong."
"""Text for measurements of older versions, which do not contain them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissRow(Row):
    """A judged query whose first hit is not right. Its id is the query. All texts but the rank are untrusted."""

    query: str
    first: str
    """Task of the first hit, `NOTHING`, or `HIDDEN` if the visitor cannot read it."""

    right: str
    """Task of the highest ranked record that was judged right."""

    rank: str
    """The rank of that record: `3`, or `not in 10`."""

    action: str = "Ask"


def miss_rows(memory: MemorySystem, missed: MissedQueries) -> tuple[MissRow, ...]:
    """Return the missed queries that are still judged, with the tasks of their records as the visitor may read them.

    Queries whose right record the visitor cannot read are left out.
    """
    texts = {query_id(judgement.query): judgement.query for judgement in memory.judgements()}
    ids = {record_id for miss in missed.worst for record_id in (miss.first_id, miss.right_id) if record_id}
    tasks = {record.id: record.task.description for record in memory.experience.get_many([*ids])}
    return tuple(
        _row(miss, texts[miss.query_id], tasks)
        for miss in missed.worst
        if miss.query_id in texts and miss.right_id in tasks
    )


def misses_sentence(missed: MissedQueries, n_listed: int, strictness: float) -> str:
    """Return the number of queries that search gets wrong, and how many of them are listed.

    Args:
        n_listed: Number of rows of the list.
        strictness: The present strictness.
    """
    at = "" if missed.strictness == strictness else f"At strictness {missed.strictness:g}, for "
    of = f"{at or 'For '}{missed.n_missed:,} of {counted(missed.n_judged, 'judged query')}"
    listed = f" {n_listed} of them:" if 0 < n_listed < missed.n_missed else ""
    return f"{of}, the first hit is not one that was judged right.{listed}"


def _row(miss: MissedQuery, query: str, tasks: dict[str, str]) -> MissRow:
    return MissRow(
        id=query,
        query=shortened(query, TITLE_CHARACTERS),
        first=shortened(tasks.get(miss.first_id, HIDDEN), TITLE_CHARACTERS) if miss.first_id else NOTHING,
        right=shortened(tasks[miss.right_id], TITLE_CHARACTERS),
        rank=str(miss.rank) if miss.rank else f"not in {DEPTH}",
    )
