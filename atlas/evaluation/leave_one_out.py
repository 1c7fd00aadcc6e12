"""Leave-one-out evaluation of a store on its own attempts, without judgements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from atlas.core.statistics import Estimate, Values, estimates
from atlas.evaluation.measures import JudgedQuery, RetrievalTask, Retriever
from atlas.evaluation.metrics import SAME
from atlas.evaluation.split import Half, is_in_half, sample
from atlas.protocols.infra import Progress

OWN_ATTEMPTS = "own attempts"

MAX_QUERIES = 500
"""Maximum number of attempts used as queries. More are sampled."""

N_HITS = 4
"""Number of hits whose outcomes predict the outcome of an attempt. It is the default of a search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The fields of an experience that an evaluation needs."""

    id: str
    task_id: str
    text: str
    success: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDifference:
    """The differences in accuracy and Brier score between two retrievers, when their hits predict outcomes."""

    accuracy: Estimate
    brier: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRow:
    """How well the outcomes of one retriever's hits predict the outcome of an attempt."""

    name: str
    accuracy: Estimate
    """Share of the attempts whose outcome is that of most of their hits. A tie counts one half."""

    brier: Estimate
    """Brier score of the hits' success rate as a prediction. 0 is best."""

    n_guessed: int
    """Number of attempts without a hit of known outcome. The base rate predicts these."""

    differences: Mapping[str, OutcomeDifference] = field(default_factory=dict)
    """Mean difference (this row − the other) over the same attempts, keyed by the other row's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeAgreement:
    """How well the outcomes of hits predict the outcomes of attempts, for each retriever."""

    n_attempts: int
    n_groups: int
    base_rate: float
    """Share of successes among the attempts."""

    rows: tuple[OutcomeRow, ...]

    @property
    def base_accuracy(self) -> float:
        """Accuracy of always predicting the more frequent outcome."""
        return max(self.base_rate, 1.0 - self.base_rate)

    @property
    def base_brier(self) -> float:
        """Brier score of always predicting the base rate."""
        return self.base_rate * (1.0 - self.base_rate)


def leave_one_out(attempts: Sequence[Attempt], *, half: Half, seed: int, limit: int = MAX_QUERIES) -> RetrievalTask:
    """Return a retrieval task whose queries are attempts at repeated tasks. Other attempts at the task are relevant.

    Args:
        attempts: All attempts of the store.
        half: The tasks to sample from.
        seed: Seed of the sample.
        limit: Largest number of queries.
    """
    by_task: dict[str, list[str]] = defaultdict(list)
    for attempt in attempts:
        by_task[attempt.task_id].append(attempt.id)
    repeated = [attempt for attempt in attempts if attempt.task_id and len(by_task[attempt.task_id]) > 1]
    queries = list[JudgedQuery]()
    for attempt in _sample_half(repeated, half, seed, limit):
        other_ids = [attempt_id for attempt_id in by_task[attempt.task_id] if attempt_id != attempt.id]
        queries.append(
            JudgedQuery(
                text=attempt.text,
                grades=dict.fromkeys(other_ids, SAME),
                group=attempt.task_id,
                excluded=frozenset({attempt.id}),
            )
        )
    return RetrievalTask(
        name=OWN_ATTEMPTS,
        about="An attempt's task → the other attempts at it (same task id), the attempt itself left out.",
        queries=tuple(queries),
    )


def outcome_agreement(
    attempts: Sequence[Attempt],
    retrievers: Sequence[Retriever],
    *,
    half: Half,
    seed: int,
    limit: int = MAX_QUERIES,
    on_progress: Progress | None = None,
) -> OutcomeAgreement | None:
    """Return how well each retriever's hits predict the outcomes of attempts, or None without known outcomes.

    Args:
        attempts: All attempts of the store.
        retrievers: Retrievers to compare, one for each row of the report.
        half: Half of the tasks to sample attempts from.
        seed: Seed of the sample and of the intervals.
        limit: Maximum number of attempts.
        on_progress: Called after each retriever.
    """
    outcomes = {attempt.id: attempt.success for attempt in attempts if attempt.success is not None}
    sampled = _sample_half([attempt for attempt in attempts if attempt.id in outcomes], half, seed, limit)
    if not sampled:
        return None
    base_rate = sum(outcomes[attempt.id] for attempt in sampled) / len(sampled)
    predictions = []
    for n_done, retriever in enumerate(retrievers, start=1):
        predictions.append(_predict(retriever, sampled, outcomes, base_rate))
        if on_progress:
            on_progress(n_done, len(retrievers))
    groups = [_group_key(attempt) for attempt in sampled]
    return OutcomeAgreement(
        n_attempts=len(sampled),
        n_groups=len(set(groups)),
        base_rate=base_rate,
        rows=_make_rows(predictions, groups, seed),
    )


@dataclass(frozen=True, slots=True)
class _Prediction:
    """The accuracy and squared error of each prediction from one retriever's hits."""

    name: str
    baselines: Sequence[str]
    values: Values
    """One row for each attempt, with the accuracy (0, ½ or 1) and the squared error."""

    n_guessed: int


def _predict(
    retriever: Retriever, attempts: Sequence[Attempt], outcomes: Mapping[str, bool], base_rate: float
) -> _Prediction:
    """Predict the outcome of each attempt from the success rate of its hits, or from the base rate if it has none."""
    shares = [_success_share(retriever, attempt, outcomes) for attempt in attempts]
    predicted = np.array([base_rate if share is None else share for share in shares])
    actual = np.array([outcomes[attempt.id] for attempt in attempts], np.float64)
    accuracies = np.where(predicted == 0.5, 0.5, (predicted > 0.5) == (actual == 1.0))
    values = np.column_stack([accuracies, (predicted - actual) ** 2])
    return _Prediction(retriever.name, retriever.baselines, values, shares.count(None))


def _make_rows(predictions: Sequence[_Prediction], groups: Sequence[str], seed: int) -> tuple[OutcomeRow, ...]:
    """Return the accuracy and Brier score of each retriever, with the differences from its baselines."""
    values_by_name = {prediction.name: prediction.values for prediction in predictions}
    rows = []
    for prediction in predictions:
        accuracy, brier = estimates(prediction.values, groups, seed=seed)
        baselines = [name for name in prediction.baselines if name in values_by_name]
        differences = {
            name: _make_difference(prediction.values - values_by_name[name], groups, seed) for name in baselines
        }
        rows.append(
            OutcomeRow(
                name=prediction.name,
                accuracy=accuracy,
                brier=brier,
                n_guessed=prediction.n_guessed,
                differences=differences,
            )
        )
    return tuple(rows)


def _make_difference(values: Values, groups: Sequence[str], seed: int) -> OutcomeDifference:
    accuracy, brier = estimates(values, groups, seed=seed)
    return OutcomeDifference(accuracy=accuracy, brier=brier)


def _success_share(retriever: Retriever, attempt: Attempt, outcomes: Mapping[str, bool]) -> float | None:
    """Return the share of successes among the hits for an attempt's task, or None if no hit has a known outcome."""
    ranking = retriever.rank(attempt.text, frozenset({attempt.id}), N_HITS)
    known_outcomes = [outcomes[record_id] for record_id in ranking.ids if record_id in outcomes]
    return sum(known_outcomes) / len(known_outcomes) if known_outcomes else None


def _sample_half(attempts: Sequence[Attempt], half: Half, seed: int, limit: int) -> list[Attempt]:
    """Return a random sample of at most `limit` attempts of a half, in their original order."""
    return sample([attempt for attempt in attempts if is_in_half(half, _group_key(attempt))], limit, seed=seed)


def _group_key(attempt: Attempt) -> str:
    return attempt.task_id or attempt.id
