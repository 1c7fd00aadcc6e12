"""Foreign queries: queries without a relevant record in a store, to which the right answer is no hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from atlas.core.statistics import Estimate, Values, estimates
from atlas.embedding.foreign_queries import evaluation_queries
from atlas.evaluation.measures import JudgedCorpus, Retriever
from atlas.evaluation.metrics import DEPTH
from atlas.evaluation.split import SPLIT_SEED, Half, is_in_half, sample
from atlas.protocols.infra import Progress

MAX_FOREIGN = 200
"""Maximum number of queries from a source. More are sampled with a fixed seed."""

NONSENSE = "nonsense"
BUNDLED_QUERIES = "many subjects"
TOGETHER = "all of these"

QueryGroups = Mapping[str, Mapping[str, str]]
"""The group of each query, keyed by source and text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignResult:
    """The share of a source's foreign queries for which each retriever returns a hit, although there should be none."""

    asked_in: str
    source: str
    """The name of the queries' corpus, `NONSENSE`, `BUNDLED_QUERIES` (queries that ATLAS ships) or `TOGETHER` (all)."""

    n_queries: int
    told_something: Mapping[str, Estimate]
    """False positive rate over the queries, keyed by row name, for rows with a threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictnessStep:
    """The figures of an agent's search at one strictness: for own attempts, judged queries and foreign queries."""

    strictness: float
    """Factor on the measured relevance level."""

    first_right: Estimate
    """Share of the own attempts whose first hit is another attempt at the same task."""

    found_nothing: Estimate
    """Share of the own attempts without a hit."""

    foreign_answered: Estimate
    """Share of the foreign queries with a hit."""

    judged_right: Estimate | None = None
    """Share of the judged queries whose first hit was judged right. None without judged queries."""

    n_judged: int = 0
    """Number of judged queries."""


def select_foreign_queries(corpus: JudgedCorpus, corpora: Sequence[JudgedCorpus], half: Half) -> QueryGroups:
    """Return the queries of a half that are foreign to a corpus, keyed by source: nonsense, and each other corpus.

    Corpora that share a query, such as a log and a part of it, are not foreign to each other.
    """
    own_queries = _queries_with_groups(corpus)
    queries_by_source = {NONSENSE: {text: text for text in corpus.nonsense if is_in_half(half, text)}}
    for other_corpus in corpora:
        other_queries = _queries_with_groups(other_corpus)
        has_same_origin = bool(corpus.origin) and corpus.origin == other_corpus.origin
        if not has_same_origin and not own_queries.keys() & other_queries.keys():
            texts = {text for queries in queries_by_source.values() for text in queries}
            queries_by_source[other_corpus.name] = {
                text: group for text, group in other_queries.items() if text not in texts and is_in_half(half, group)
            }
    return queries_by_source


def load_foreign_queries(half: Half) -> QueryGroups:
    """Return the foreign queries that ATLAS ships, of one half, without those used for calibration.

    The queries cover so many subjects that few of them are relevant to a particular store.
    """
    return {BUNDLED_QUERIES: {text: text for text in evaluation_queries() if is_in_half(half, text)}}


def ask_foreign(
    asked_in: str,
    queries_by_source: QueryGroups,
    retrievers: Sequence[Retriever],
    *,
    seed: int,
    on_progress: Progress | None = None,
) -> tuple[ForeignResult, ...]:
    """Return the share of foreign queries that each retriever with a threshold answers, one result for each source.

    Args:
        asked_in: The store's name in the report.
        queries_by_source: The queries of each source, at most `MAX_FOREIGN` of which are run.
        retrievers: The rows of the report.
        seed: Seed of the intervals.
        on_progress: Called after each query.
    """
    with_threshold = [retriever for retriever in retrievers if retriever.has_threshold]
    foreign_queries = [
        _Query(source, *query) for source, queries in queries_by_source.items() for query in sample_queries(queries)
    ]
    if not with_threshold or not foreign_queries:
        return ()
    is_answered = np.zeros((len(foreign_queries), len(with_threshold)))
    for row, query in enumerate(foreign_queries):
        is_answered[row] = [bool(retriever.rank(query.text, (), DEPTH).ids) for retriever in with_threshold]
        if on_progress:
            on_progress(row + 1, len(foreign_queries))
    return _make_results(asked_in, foreign_queries, is_answered, [retriever.name for retriever in with_threshold], seed)


def sample_queries(queries: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return a sample of at most `MAX_FOREIGN` queries of one source, each with its group."""
    return sample(list(queries.items()), MAX_FOREIGN, seed=SPLIT_SEED)


@dataclass(frozen=True, slots=True)
class _Query:
    source: str
    text: str
    group: str


def _make_results(
    asked_in: str, queries: Sequence[_Query], is_answered: Values, names: Sequence[str], seed: int
) -> tuple[ForeignResult, ...]:
    """Return a result for each source and, if there are several, one for all of them together."""
    rows_by_source = dict[str, list[int]]()
    for row, query in enumerate(queries):
        rows_by_source.setdefault(query.source, []).append(row)
    if len(rows_by_source) > 1:
        rows_by_source[TOGETHER] = list(range(len(queries)))
    results = list[ForeignResult]()
    for source, rows in rows_by_source.items():
        shares = estimates(is_answered[rows], [queries[row].group for row in rows], seed=seed)
        told_something = dict(zip(names, shares, strict=True))
        results.append(
            ForeignResult(asked_in=asked_in, source=source, n_queries=len(rows), told_something=told_something)
        )
    return tuple(results)


def _queries_with_groups(corpus: JudgedCorpus) -> dict[str, str]:
    """Return the group of each query of a corpus, keyed by the query's text."""
    return {query.text: query.group for task in corpus.tasks for query in task.queries}
