"""Judged queries of a store as a retrieval task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from atlas.evaluation.measures import JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.storage.marks.judgements import Judgement, by_query

JUDGED_TASK = "your judged queries"
ONLY_WRONG = "your queries with only wrong hits"


def judged_queries(judgements: Sequence[Judgement], collection: str, ids: Collection[str]) -> RetrievalTask | None:
    """Return a task whose queries should find the records that were judged right, or None if there are none.

    Queries whose right records are no longer in the store are left out.

    Args:
        judgements: Judgements of all memories.
        collection: Name of the searched collection.
        ids: Ids of the searchable records in the collection.
    """
    by_text = _searchable(judgements, collection, ids)
    queries = []
    for query, query_judgements in by_text.items():
        right_ids = [judgement.record_id for judgement in query_judgements if judgement.is_right]
        if right_ids:
            queries.append(JudgedQuery(text=query, grades=dict.fromkeys(right_ids, SAME), group=query))
    if not queries:
        return None
    about = "A query that was judged → the records judged right."
    return RetrievalTask(name=JUDGED_TASK, about=about, queries=tuple(queries))


def rejected_queries(judgements: Sequence[Judgement], collection: str, ids: Collection[str]) -> Mapping[str, str]:
    """Return the queries for which all judged records are wrong, each with its text as group. They should find nothing.

    The arguments are those of `judged_queries`.
    """
    judgements_by_query = by_query([judgement for judgement in judgements if judgement.collection == collection])
    by_text = _searchable(judgements, collection, ids)
    right_queries = {query for query in by_text if any(judgement.is_right for judgement in judgements_by_query[query])}
    return {query: query for query in by_text if query not in right_queries}


def _searchable(judgements: Sequence[Judgement], collection: str, ids: Collection[str]) -> dict[str, list[Judgement]]:
    """Return the judgements of searchable records, keyed by query."""
    return by_query(
        [judgement for judgement in judgements if judgement.collection == collection and judgement.record_id in ids]
    )
