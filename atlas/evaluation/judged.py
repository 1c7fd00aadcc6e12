"""Judged queries of a store as a retrieval task, and those that a search gets wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from atlas.evaluation.measures import JudgedQuery, RetrievalTask, Retriever
from atlas.evaluation.metrics import DEPTH, SAME
from atlas.storage.marks.judgements import Judgement, group_by_query

JUDGED_TASK = "your judged queries"
ONLY_WRONG = "your queries with only wrong hits"

MAX_MISSES = 10
"""Largest number of missed queries in a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedQuery:
    """A judged query whose first hit was not judged right, given by ids, so that a report contains no stored text."""

    query_id: str
    """The result of `query_id`."""

    first_id: str
    """Id of the first hit, or empty if the search returned none."""

    right_id: str
    """Id of the highest ranked record that was judged right."""

    rank: int | None
    """The rank of `right_id`, counted from 1, or None if it is not among the first `DEPTH` hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedQueries:
    """The judged queries that an agent's search gets wrong."""

    strictness: float
    """The strictness of the searches."""

    n_judged: int
    """Number of judged queries."""

    n_missed: int
    """Number of judged queries whose first hit was not judged right."""

    worst: tuple[MissedQuery, ...]
    """At most `MAX_MISSES` missed queries, sorted by the rank of the right record, lowest ranked first."""

    def with_ids(self, ids: Mapping[str, str]) -> MissedQueries:
        """Return a copy with record ids replaced according to a mapping. Ids that are not in it stay."""
        worst = [
            replace(
                miss, first_id=ids.get(miss.first_id, miss.first_id), right_id=ids.get(miss.right_id, miss.right_id)
            )
            for miss in self.worst
        ]
        return replace(self, worst=tuple(worst))


def query_id(text: str) -> str:
    """Return the id of a query, which does not reveal its text."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def missed_queries(retriever: Retriever, queries: Sequence[JudgedQuery], strictness: float) -> MissedQueries:
    """Return the judged queries whose first hit is not right.

    Args:
        retriever: The search that agents use.
        queries: The queries, each with a right record in the store.
        strictness: The strictness of `retriever`, for the report.
    """
    misses = [miss for query in queries if (miss := _as_missed(query, retriever.rank(query.text, (), DEPTH).ids))]
    worst = sorted(misses, key=lambda miss: -(miss.rank or DEPTH + 1))[:MAX_MISSES]
    return MissedQueries(strictness=strictness, n_judged=len(queries), n_missed=len(misses), worst=tuple(worst))


def _as_missed(query: JudgedQuery, hit_ids: Sequence[str]) -> MissedQuery | None:
    """Return a query as missed, or None if its first hit is right."""
    rank = next((position for position, hit_id in enumerate(hit_ids, 1) if hit_id in query.grades), None)
    if rank == 1:
        return None
    right_id = hit_ids[rank - 1] if rank else next(iter(query.grades))
    return MissedQuery(query_id=query_id(query.text), first_id=next(iter(hit_ids), ""), right_id=right_id, rank=rank)


def judged_queries(judgements: Sequence[Judgement], collection: str, ids: Collection[str]) -> RetrievalTask | None:
    """Return a task whose queries should find the records that were judged right, or None if there are none.

    Queries whose right records are no longer in the store are left out.

    Args:
        judgements: Judgements of all memories.
        collection: Name of the searched collection.
        ids: Ids of the searchable records in the collection.
    """
    judgements_by_query = _searchable_judgements(judgements, collection, ids)
    queries = []
    for text, query_judgements in judgements_by_query.items():
        right_ids = [judgement.record_id for judgement in query_judgements if judgement.is_right]
        if right_ids:
            queries.append(JudgedQuery(text=text, grades=dict.fromkeys(right_ids, SAME), group=text))
    if not queries:
        return None
    about = "A query that was judged → the records judged right."
    return RetrievalTask(name=JUDGED_TASK, about=about, queries=tuple(queries))


def rejected_queries(judgements: Sequence[Judgement], collection: str, ids: Collection[str]) -> Mapping[str, str]:
    """Return the queries whose judged records are all wrong, each with its text as group. The right answer is no hit.

    The arguments are those of `judged_queries`.
    """
    judgements_by_query = group_by_query([judgement for judgement in judgements if judgement.collection == collection])
    searchable = _searchable_judgements(judgements, collection, ids)
    right_queries = {
        query for query in searchable if any(judgement.is_right for judgement in judgements_by_query[query])
    }
    return {query: query for query in searchable if query not in right_queries}


def _searchable_judgements(
    judgements: Sequence[Judgement], collection: str, ids: Collection[str]
) -> dict[str, list[Judgement]]:
    """Return the judgements of searchable records, keyed by query."""
    return group_by_query(
        [judgement for judgement in judgements if judgement.collection == collection and judgement.record_id in ids]
    )
