"""Retrieval tasks with judgements, and the measurement of retrievers on them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.statistics import Estimate, Values, estimates
from atlas.core.types import Trajectory
from atlas.evaluation.metrics import DEPTH, METRICS, JudgedRanking, is_relevant
from atlas.evaluation.split import Half, is_in_half
from atlas.protocols.infra import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedQuery:
    """A query with the grades of relevant records."""

    text: str
    grades: Mapping[str, int]
    """Grade by record id, as in `atlas.evaluation.metrics`. Missing records have grade 0."""

    group: str
    """The task of the query, which determines its half and is the unit of resampling."""

    excluded: frozenset[str] = frozenset()
    """Records excluded for this query, such as its own attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalTask:
    """Queries of one kind, with judgements on the relevance of records."""

    name: str
    about: str
    """One sentence that describes the query and the relevant records."""

    queries: tuple[JudgedQuery, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCorpus:
    """Attempts to be stored in one memory, and the retrieval tasks on them."""

    name: str
    trajectories: tuple[Trajectory, ...]
    """The attempts. Judgements refer to their ids."""

    tasks: tuple[RetrievalTask, ...]
    nonsense: tuple[str, ...] = ()
    """Queries without a relevant record, so that the right answer is empty."""

    origin: str = ""
    """Name of the source that related corpora share, or empty for an independent corpus."""

    @property
    def texts(self) -> dict[str, str]:
        """The description of each attempt's task, keyed by the attempt's id."""
        return {trajectory.id: trajectory.task.description for trajectory in self.trajectories}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ids that a retriever returned for a query."""

    ids: tuple[str, ...]
    """Distinct ids, best first, empty if the retriever found no relevant record."""


class Retriever(Protocol):
    """A retrieval method, which is one row of the report."""

    @property
    def name(self) -> str:
        """Name of the row in the report."""
        ...

    @property
    def about(self) -> str:
        """One sentence on how the retriever ranks, and which parameters were tuned on which data."""
        ...

    @property
    def baselines(self) -> Sequence[str]:
        """Names of the rows with which this row is compared."""
        ...

    @property
    def has_threshold(self) -> bool:
        """True if the retriever has a relevance threshold, which may leave a ranking empty."""
        ...

    def rank(self, text: str, excluded: Collection[str], depth: int) -> Ranking:
        """Return at most `depth` records for a query, best first, without excluded ones."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """The metrics of one retriever on one task."""

    name: str
    estimates: Mapping[str, Estimate]
    """Estimates, keyed by metric."""

    differences: Mapping[str, Mapping[str, Estimate]]
    """Mean difference (this row − the other) over the same queries, keyed by the other row's name and the metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The metrics of all retrievers on one task."""

    name: str
    about: str
    n_records: int
    n_queries: int
    """Number of queries of this half with a relevant record. Only these queries are measured."""

    n_unanswerable: int
    """Number of queries of this half without a relevant record."""

    n_groups: int
    """Number of tasks that the queries are about."""

    share_verbatim: float
    """Share of the queries that equal the description of a relevant record, and so are trivial."""

    word_overlap: float
    """Mean share of a query's words in the relevant description with the largest overlap."""

    chance: Mapping[str, float]
    """Exact mean of each metric under a random order."""

    rows: tuple[RowResult, ...]
    """Empty if this half has no queries."""


def evaluate(
    task: RetrievalTask,
    texts: Mapping[str, str],
    retrievers: Sequence[Retriever],
    *,
    half: Half,
    seed: int,
    on_progress: Progress | None = None,
) -> TaskResult:
    """Return the metrics of each retriever over the queries of one half.

    Args:
        task: The queries and judgements.
        texts: The description of each record, keyed by its id.
        retrievers: The rows of the report.
        half: The half to evaluate.
        seed: Seed of the intervals.
        on_progress: Called after each query.

    Raises:
        InvalidInput: A retriever ranked a record twice, or an excluded one.
    """
    n_queries = sum(is_in_half(half, query.group) for query in task.queries)
    answerable = answerable_queries(task, texts, half)
    counter = _QueryCounter(len(retrievers) * len(answerable), on_progress)
    runs = [_run_retriever(retriever, answerable, texts, counter) for retriever in retrievers] if answerable else []
    return TaskResult(
        name=task.name,
        about=task.about,
        n_records=len(texts),
        n_queries=len(answerable),
        n_unanswerable=n_queries - len(answerable),
        n_groups=len({query.group for query in answerable}),
        share_verbatim=_mean([_is_verbatim(query, texts) for query in answerable]),
        word_overlap=_mean([_word_overlap(query, texts) for query in answerable]),
        chance=_means_by_chance(answerable, texts),
        rows=_make_rows(runs, [query.group for query in answerable], seed),
    )


def answerable_queries(task: RetrievalTask, texts: Mapping[str, str], half: Half) -> list[JudgedQuery]:
    """Return the queries of a half that have a relevant record in the store.

    The arguments are those of `evaluate`.
    """
    return [query for query in task.queries if is_in_half(half, query.group) and relevant_ids(query, texts)]


def relevant_ids(query: JudgedQuery, texts: Mapping[str, str]) -> list[str]:
    """Return the ids of the records that are relevant to a query, without excluded ones."""
    ids = [record_id for record_id, grade in query.grades.items() if is_relevant(grade)]
    return [record_id for record_id in ids if record_id in texts and record_id not in query.excluded]


@dataclass(frozen=True, slots=True, kw_only=True)
class _RetrieverRun:
    """The metrics of each query for one retriever."""

    name: str
    baselines: Sequence[str]
    values: Values
    """Shape (queries, metrics)."""


class _QueryCounter:
    """A counter of finished queries for a progress bar."""

    def __init__(self, total: int, on_progress: Progress | None) -> None:
        self._total = total
        self._done = 0
        self._on_progress = on_progress

    def count(self) -> None:
        self._done += 1
        if self._on_progress:
            self._on_progress(self._done, self._total)


def _run_retriever(
    retriever: Retriever,
    queries: Sequence[JudgedQuery],
    texts: Mapping[str, str],
    counter: _QueryCounter,
) -> _RetrieverRun:
    rankings = [_rank_checked(retriever, query.text, query.excluded, counter) for query in queries]
    judged_rankings = [
        _judge_ranking(query, texts, ranking.ids) for query, ranking in zip(queries, rankings, strict=True)
    ]
    values = [[metric.measure(ranking) for metric in METRICS.values()] for ranking in judged_rankings]
    return _RetrieverRun(
        name=retriever.name,
        baselines=retriever.baselines,
        values=np.array(values, np.float64),
    )


def _rank_checked(retriever: Retriever, text: str, excluded: frozenset[str], counter: _QueryCounter) -> Ranking:
    """Return a retriever's ranking for a query.

    Raises:
        InvalidInput: The retriever ranked a record twice, or an excluded one.
    """
    ranking = retriever.rank(text, excluded, DEPTH)
    if len(set(ranking.ids)) < len(ranking.ids):
        raise InvalidInput(f"expected each id once from {retriever.name!r} for {text!r:.80}, got {ranking.ids!r:.200}")
    if unexpected := excluded & set(ranking.ids):
        raise InvalidInput(
            f"expected no excluded ids from {retriever.name!r} for {text!r:.80}, got {sorted(unexpected)!r:.200}"
        )
    counter.count()
    return ranking


def _judge_ranking(query: JudgedQuery, texts: Mapping[str, str], ranked: Sequence[str]) -> JudgedRanking:
    """Return the grades of a ranking, and those of all relevant records that may be found."""
    grades = {
        record_id: grade
        for record_id, grade in query.grades.items()
        if grade and record_id in texts and record_id not in query.excluded
    }
    n_excluded = sum(record_id in texts for record_id in query.excluded)
    return JudgedRanking(
        retrieved=tuple(grades.get(record_id, 0) for record_id in ranked),
        grades=tuple(grades.values()),
        n_records=len(texts) - n_excluded,
    )


def _make_rows(runs: Sequence[_RetrieverRun], groups: Sequence[str], seed: int) -> tuple[RowResult, ...]:
    """Return the metrics of each retriever, with the differences from its baselines."""
    values = {run.name: run.values for run in runs}
    rows = list[RowResult]()
    for run in runs:
        baselines = [name for name in run.baselines if name in values]
        differences = {name: _estimates_by_metric(run.values - values[name], groups, seed) for name in baselines}
        estimates_by_metric = _estimates_by_metric(run.values, groups, seed)
        rows.append(RowResult(name=run.name, estimates=estimates_by_metric, differences=differences))
    return tuple(rows)


def _estimates_by_metric(values: Values, groups: Sequence[str], seed: int) -> dict[str, Estimate]:
    return dict(zip(METRICS, estimates(values, groups, seed=seed), strict=True))


def _means_by_chance(queries: Sequence[JudgedQuery], texts: Mapping[str, str]) -> dict[str, float]:
    """Return the exact mean of each metric over the queries, if records are ranked in random order."""
    unordered = [_judge_ranking(query, texts, ()) for query in queries]
    return {name: _mean([metric.expect(ranking) for ranking in unordered]) for name, metric in METRICS.items()}


def _is_verbatim(query: JudgedQuery, texts: Mapping[str, str]) -> bool:
    """Return whether a query has the same words as the description of a relevant record."""
    return any(text.split() == query.text.split() for text in _relevant_texts(query, texts))


def _word_overlap(query: JudgedQuery, texts: Mapping[str, str]) -> float:
    """Return the largest share of a query's words that occur in the description of one relevant record."""
    query_words = set(plain_words(query.text))
    return max(
        len(query_words.intersection(plain_words(text))) / max(len(query_words), 1)
        for text in _relevant_texts(query, texts)
    )


def _relevant_texts(query: JudgedQuery, texts: Mapping[str, str]) -> list[str]:
    return [texts[record_id] for record_id in relevant_ids(query, texts)]


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, in order, with repetitions."""
    return re.findall(r"\w+", text.lower())


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
