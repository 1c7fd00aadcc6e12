"""The queries that were judged on a store, as a task to measure its searches on."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from atlas.evaluation.measures import JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.storage.marks.judgements import Judgement, by_query

JUDGED_TASK = "your judged queries"


def judged_queries(judgements: Sequence[Judgement], collection: str, ids: Collection[str]) -> RetrievalTask | None:
    """Return the task to find what was judged right. None without a judgement that counts.

    A query whose hits were all judged wrong should find nothing. One whose right hits are gone from the store says
    nothing any more, and is left out.

    Args:
        judgements: Of all memories.
        collection: The one whose records are searched.
        ids: The records that searches find there.
    """
    own = by_query([one for one in judgements if one.collection == collection])
    known = {query: [one for one in of_it if one.record_id in ids] for query, of_it in own.items()}
    right = {query: [one.record_id for one in of_it if one.is_right] for query, of_it in known.items()}
    wrong = [query for query, of_it in own.items() if known[query] and not any(one.is_right for one in of_it)]
    queries = tuple(
        JudgedQuery(text=query, grades=dict.fromkeys(found, SAME), group=query)
        for query, found in right.items()
        if found
    )
    if not queries and not wrong:
        return None
    return RetrievalTask(
        name=JUDGED_TASK,
        about="A query that was judged → the records judged right. With only wrong ones, nothing should be found.",
        queries=queries,
        nonsense=tuple(wrong),
    )
