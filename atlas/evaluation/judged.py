"""The queries that were judged on a store, as a task to measure its searches on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from atlas.evaluation.measures import JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.storage.marks.judgements import Judgement, by_query

JUDGED_TASK = "your judged queries"
ONLY_WRONG = "your queries with only wrong hits"


def judged_queries(judgements: Sequence[Judgement], collection: str, ids: Collection[str]) -> RetrievalTask | None:
    """Return the task to find what was judged right. None where nothing was.

    A query whose right hits are gone from the store says nothing any more, and is left out.

    Args:
        judgements: Of all memories.
        collection: The one whose records are searched.
        ids: The records that searches find there.
    """
    held = _held(judgements, collection, ids)
    right = {query: [one.record_id for one in of_it if one.is_right] for query, of_it in held.items()}
    queries = tuple(
        JudgedQuery(text=query, grades=dict.fromkeys(found, SAME), group=query)
        for query, found in right.items()
        if found
    )
    if not queries:
        return None
    return RetrievalTask(name=JUDGED_TASK, about="A query that was judged → the records judged right.", queries=queries)


def judged_wrong(judgements: Sequence[Judgement], collection: str, ids: Collection[str]) -> Mapping[str, str]:
    """Return the queries whose hits were all judged wrong, which should find nothing, each with itself as its group.

    Args: as of `judged_queries`.
    """
    own = by_query([one for one in judgements if one.collection == collection])
    held = _held(judgements, collection, ids)
    return {query: query for query in held if not any(one.is_right for one in own[query])}


def _held(judgements: Sequence[Judgement], collection: str, ids: Collection[str]) -> dict[str, list[Judgement]]:
    """Return the judgements of records that searches find, by query."""
    return by_query([one for one in judgements if one.collection == collection and one.record_id in ids])
