"""Evaluation: how well a store is searched, measured on its own attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from atlas.core.statistics import MIN_GROUPS, Estimate, Interval, credible_interval
from atlas.evaluation.foreign import BUNDLED_QUERIES, ForeignResult, StrictnessStep
from atlas.evaluation.job import LiveEvaluation as LiveEvaluation
from atlas.evaluation.job import usable_profiles
from atlas.evaluation.judged import JUDGED_TASK, ONLY_WRONG, judged_queries
from atlas.evaluation.leave_one_out import N_HITS, OWN_ATTEMPTS
from atlas.evaluation.measures import TaskResult
from atlas.evaluation.metrics import EMPTY_SHARE, METRICS
from atlas.evaluation.report import OwnEvaluation as OwnEvaluation
from atlas.evaluation.tasks import AGENT, FUSED_ROW
from atlas.maps.snapshot import n_changed
from atlas.memory.system import MemorySystem
from atlas.storage.profiles import BUILT_IN
from atlas.views.lists.cells import Meter
from atlas.views.lists.rate_rows import RateRow
from atlas.views.shared.wording import NO_BREAK, counted, percent, utc_time_text

OUTCOME = "outcome predicted"
MEASURES = (*(name for name in METRICS if name != "recall@10"), OUTCOME)
"""Measures of the page: how well a search finds other attempts, and how well these predict the outcome."""

MEANINGS: Mapping[str, str] = {
    "hit@1": "How often the first hit is another attempt at the same task.",
    "hit@5": "How often one of the first 5 hits is another attempt at the same task.",
    "hit@10": "How often one of the first 10 hits is another attempt at the same task.",
    "MRR@10": "1 divided by the rank of the first other attempt at the same task, on average; 0 beyond rank 10.",
    "nDCG@10": "How near the first 10 hits come to listing all other attempts at the same task first; 1 is best.",
    EMPTY_SHARE: "How often nothing was returned, although another attempt at the same task exists. Lower is better. "
    "Only the first row hides hits.",
    OUTCOME: f"How often an attempt ended as most of the first {N_HITS} hits for its task did; half for a tie.",
}

JUDGED_MEANINGS: Mapping[str, str] = {
    "hit@1": "How often the first hit was judged right.",
    "hit@5": "How often one of the first 5 hits was judged right.",
    "hit@10": "How often one of the first 10 hits was judged right.",
    "MRR@10": "1 divided by the rank of the first hit that was judged right, on average; 0 beyond rank 10.",
    "nDCG@10": "How near the first 10 hits come to listing all that was judged right first; 1 is best.",
    EMPTY_SHARE: "How often nothing was returned, although what was judged right exists. Lower is better. "
    "Only the first row hides hits.",
}
QUERIES: Mapping[str, str] = {OWN_ATTEMPTS: "Own attempts", JUDGED_TASK: "Judged queries"}
"""The queries that searches are measured with, by their task in the report."""

UNJUDGED = (
    "No query has been judged yet. On the page Ask, mark hits as right or wrong to measure on queries of your own."
)

KEYWORDS, MEANING = "Keyword search", "Semantic search"
SETTINGS: Mapping[str, str] = {"BM25": KEYWORDS, "dense": MEANING}
NOW = "As an agent gets it"
UNHIDDEN = "The same, nothing hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRow(RateRow):
    """How often the first hit of a search is right."""

    difference: str
    """From the search of agents: `6 points less (likely 2–10)`, `no clear difference`, or empty if not measured."""

    off_topic: str
    """Share of off-topic questions that it answers, or empty if that was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """One way to search, by one measure."""

    setting: str
    """May contain a profile's name, which is untrusted text."""

    value: Estimate
    difference: Estimate | None = None
    """Compared with unfiltered searches as they are now, on the same attempts, or None for these themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """A measure of every way to search."""

    rows: tuple[MeasuredRow, ...]
    chance: float
    """Value of a random order, or of always saying the more frequent outcome."""

    chance_name: str
    n: int
    n_tasks: int
    is_less_better: bool = False
    share_verbatim: float = 0.0
    """Share of attempts whose text equals the text of another attempt at the same task."""

    note: str = ""
    """Rates of empty results of the current search, wrong and right ones, or empty for attempts as queries."""

    @property
    def caption(self) -> str:
        """The number of queries, and how to read the chart."""
        dotted = (
            f"Dotted: {self.chance_name} ({self.chance:.3f}). On the right: the difference from the "
            "same search with nothing hidden."
        )
        if self.note:
            return f"On {counted(self.n, 'judged query')}, with 95% intervals over queries. {dotted} {self.note}"
        trivial = (
            f" {percent(self.share_verbatim)} of the attempts have exactly the text of another at the same task: "
            "finding those proves nothing."
        )
        return (
            f"On {counted(self.n, 'attempt')} at {counted(self.n_tasks, 'task')}, with 95% intervals over tasks. "
            f"{dotted}{trivial if self.share_verbatim >= 0.005 else ''}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospects:
    """The attempts that a store can be measured on."""

    sentence: str
    hint: str = ""
    """Advice on measuring with more queries, or empty."""

    can_run: bool = True


def prospects(memory: MemorySystem) -> Prospects:
    """Return a sentence on the measurements that the attempts and judged queries of a store permit."""
    visible = {"marks.buried": False}
    n_by_task = {task_id: n for task_id, n in memory.experience.values("task_id", visible).items() if task_id and n > 1}
    outcomes = memory.experience.values("outcome", visible)
    n_outcomes = outcomes.get("succeeded", 0) + outcomes.get("failed", 0)
    n_judged = _n_judged(memory)
    sentences = [_attempts_sentence(n_by_task, n_outcomes, n_judged), _judged_sentence(n_judged)]
    return Prospects(
        sentence=" ".join(filter(None, sentences)),
        hint="" if memory.storage.judgements.state() else UNJUDGED,
        can_run=bool(n_by_task or n_outcomes or n_judged),
    )


def _n_judged(memory: MemorySystem) -> int:
    """Return how many queries have an experience that was judged right and that searches find."""
    judgements = memory.storage.judgements.all()
    ids = {*memory.experience.ids({"marks.buried": False})} if judgements else ()
    task = judged_queries(judgements, memory.experience.collection_name, ids)
    return len(task.queries) if task else 0


def _judged_sentence(n_judged: int) -> str:
    return f"{counted(n_judged, 'judged query')} with an experience that was judged right." if n_judged else ""


def _attempts_sentence(n_by_task: Mapping[str, int], n_outcomes: int, n_judged: int) -> str:
    if not n_by_task and not n_outcomes:
        hint = "" if n_judged else ": there is nothing to measure yet"
        return f"No task was tried more than once, and no outcome is known{hint}."
    if not n_by_task:
        return (
            "No task was tried more than once (by its id), so it cannot be measured whether other attempts are found, "
            f"only whether the hits predict the {counted(n_outcomes, 'known outcome')}."
        )
    n_tasks = len(n_by_task)
    warning = "" if n_tasks >= MIN_GROUPS else f" These are too few tasks for intervals, which need {MIN_GROUPS}."
    return (
        f"{counted(sum(n_by_task.values()), 'attempt')} at {counted(n_tasks, 'task')} that {_was_or_were(n_tasks)} "
        f"tried more than once, and {counted(n_outcomes, 'known outcome')}.{warning}"
    )


def _was_or_were(n: int) -> str:
    return "was" if n == 1 else "were"


def measure_row(evaluation: OwnEvaluation, measure: str, task_name: str = OWN_ATTEMPTS) -> MeasureRow | None:
    """Return the figures of every search method for one of `MEASURES`, or None if it could not be measured.

    Args:
        task_name: The task of the queries, one of `QUERIES`.
    """
    if measure == OUTCOME:
        return _prediction_row(evaluation) if task_name == OWN_ATTEMPTS else None
    return _retrieval_row(evaluation, measure, task_name)


def simpler_searches(evaluation: OwnEvaluation, strictness: float) -> list[SearchRow]:
    """Return how often the first hit is right, for agents, for simpler searches and by chance.

    Empty if that was not measured.

    Args:
        strictness: The present strictness, at which agents search. The figures are those of the nearest measured one.
    """
    by_search = measure_row(evaluation, "hit@1")
    if by_search is None:
        return []
    step = measured_step(evaluation, strictness)
    searches = [
        replace(row, value=step.first_right) if step is not None and row.setting.startswith(NOW) else row
        for row in by_search.rows
        if row.setting.startswith(NOW) or row.setting in SETTINGS.values()
    ]
    by_chance = MeasuredRow(setting="By chance", value=Estimate(mean=by_search.chance, interval=None))
    return [
        SearchRow(
            id=row.setting,
            name=row.setting,
            rate=Meter(row.value.mean, percent(row.value.mean)),
            interval=interval_text(rate_interval(row.value, by_search.n_tasks)),
            difference="" if row.setting.startswith(NOW) else _difference_text(row.difference),
            off_topic=_off_topic_text(evaluation, row.setting, strictness),
        )
        for row in (*searches, by_chance)
    ]


def _off_topic_text(evaluation: OwnEvaluation, setting: str, strictness: float) -> str:
    """Return the share of off-topic questions that agents' searches answer, or an empty string for other searches."""
    rate = off_topic_rate(evaluation, strictness) if setting.startswith(NOW) else None
    return percent(rate.mean) if rate is not None else ""


def off_topic_rate(evaluation: OwnEvaluation, strictness: float | None = None) -> Estimate | None:
    """Return the share of off-topic questions that the search for agents answers, or None if it was not measured.

    Args:
        strictness: The present strictness, which selects the nearest measured one, or None for that of the
            measurement.
    """
    step = None if strictness is None else measured_step(evaluation, strictness)
    if step is not None:
        return step.foreign_answered
    result = off_topic_result(evaluation)
    return result.told_something[AGENT] if result is not None else None


def measured_step(evaluation: OwnEvaluation, strictness: float) -> StrictnessStep | None:
    """Return the answers at the measured strictness that is nearest to one, or None if none was measured."""
    return min(evaluation.report.strictness, key=lambda step: abs(step.strictness - strictness), default=None)


def rate_interval(rate: Estimate, n_groups: int) -> Interval | None:
    """Return the likely range of a rate, or None if there are too few groups.

    A rate of 0 or 1 has no spread between groups that sampling could show, so its range is computed.
    """
    if rate.interval is None or rate.mean not in (0.0, 1.0):
        return rate.interval
    return credible_interval(round(rate.mean * n_groups), n_groups)


def interval_text(interval: Interval | None) -> str:
    """Return `58–70%`, or an empty string without an interval."""
    return f"{100 * interval.low:.0f}–{percent(interval.high)}" if interval else ""


def _difference_text(difference: Estimate | None) -> str:
    """Return `6 points less (likely 2–10)`, or `no clear difference` if the interval has 0. Empty if there is none."""
    if difference is None or difference.interval is None:
        return ""
    if difference.interval.low <= 0 <= difference.interval.high:
        return "no clear difference"
    n_points = max(1, round(100 * abs(difference.mean)))
    smallest, largest = sorted(100 * abs(end) for end in (difference.interval.low, difference.interval.high))
    noun, comparison = "point" if n_points == 1 else "points", "less" if difference.mean < 0 else "more"
    return f"{n_points}{NO_BREAK}{noun} {comparison} (likely {max(1, round(smallest))}–{max(1, round(largest))})"


def measures_on(evaluation: OwnEvaluation, task_name: str) -> list[str]:
    """Return the measures that are available for the queries of a task."""
    return [measure for measure in MEASURES if measure_row(evaluation, measure, task_name) is not None]


def meaning(measure: str, task_name: str) -> str:
    """Return what one measure means for the queries of a task."""
    return JUDGED_MEANINGS[measure] if task_name == JUDGED_TASK else MEANINGS[measure]


def table_rows(evaluation: OwnEvaluation, task_name: str = OWN_ATTEMPTS) -> list[dict[str, str]]:
    """Return all measures as texts, in one row for each way to search, after a row for chance."""
    by_measure = {
        measure: by_search for measure in MEASURES if (by_search := measure_row(evaluation, measure, task_name))
    }
    lines: dict[str, dict[str, str]] = {
        "Chance": {name: f"{by_search.chance:.3f}" for name, by_search in by_measure.items()}
    }
    for name, by_search in by_measure.items():
        for row in by_search.rows:
            lines.setdefault(row.setting, {})[name] = estimate_text(row.value)
    return [{"setting": setting, **cells} for setting, cells in lines.items()]


def estimate_text(estimate: Estimate) -> str:
    """Return `0.994 (0.98–1.00)`."""
    interval = estimate.interval
    return f"{estimate.mean:.3f}" + (f" ({interval.low:.2f}–{interval.high:.2f})" if interval else "")


def measured_caption(memory: MemorySystem, evaluation: OwnEvaluation) -> str:
    """Return the time and the model of the measurement. May contain a profile's name.

    A measurement that came with the sample data is older than the store.
    """
    measured_at = datetime.fromisoformat(evaluation.measured_at)
    first_operations = memory.history(1, max(0, memory.count_operations() - 1))
    is_older = bool(first_operations) and measured_at < first_operations[0].created_at
    time = f"Measured {utc_time_text(measured_at)}{', when the sample data were made,' if is_older else ''}"
    return f"{time} with {evaluation.report.model}{_profile_in_use(evaluation)}."


def why_outdated(memory: MemorySystem, evaluation: OwnEvaluation) -> str:
    """Return the changes since the measurement, as trusted text, or an empty string if there is no change."""
    ledger, collection = memory.storage.ledger, memory.experience.collection_name
    if _is_of_another_store(memory, evaluation):
        return "The store was restored, or embedded again, since this was measured."
    if n := n_changed(memory.storage, collection, evaluation.revision):
        return f"{counted(n, 'experience')} added or changed since this was measured."
    if (usable_profiles(memory), memory.storage.profiles.in_use().name) != (evaluation.profiles, evaluation.in_use):
        return "Profiles have changed since this was measured."
    if memory.storage.judgements.state() != evaluation.judged:
        return "Hits were judged since this was measured."
    return "The store has changed since this was measured." if ledger.revision() != evaluation.revision else ""


def is_outdated(memory: MemorySystem, evaluation: OwnEvaluation) -> bool:
    """Return whether a measurement is of other searches: the store was replaced, or other weights are in use."""
    weights = usable_profiles(memory).get(memory.storage.profiles.in_use().name)
    return _is_of_another_store(memory, evaluation) or weights != evaluation.profiles.get(evaluation.in_use)


def _is_of_another_store(memory: MemorySystem, evaluation: OwnEvaluation) -> bool:
    """Return whether the store was restored, or embedded again, since the measurement."""
    return memory.storage.ledger.position(memory.experience.collection_name).ledger_id != evaluation.ledger_id


def is_unreadable(evaluation: OwnEvaluation) -> bool:
    """Return whether a measurement has nothing to show, such as one in a file of another version."""
    return not any(measures_on(evaluation, task_name) for task_name in QUERIES)


def _retrieval_row(evaluation: OwnEvaluation, measure: str, task_name: str) -> MeasureRow | None:
    task = next((task for task in evaluation.report.tasks if task.name == task_name), None)
    fused = next((row for row in task.rows if row.name == FUSED_ROW), None) if task else None
    if task is None or fused is None:
        return None
    differences = {
        **{name: _negated(estimates[measure]) for name, estimates in fused.differences.items()},
        **{row.name: row.differences[FUSED_ROW][measure] for row in task.rows if FUSED_ROW in row.differences},
    }
    values = {row.name: row.estimates[measure] for row in task.rows}
    rows = _measured_rows(evaluation, values, differences)
    return MeasureRow(
        rows=rows,
        chance=task.chance[measure],
        chance_name="a random order",
        n=task.n_queries,
        n_tasks=task.n_groups,
        is_less_better=measure == EMPTY_SHARE,
        share_verbatim=task.share_verbatim,
        note=_judged_note(evaluation, task) if task_name == JUDGED_TASK else "",
    )


def _judged_note(evaluation: OwnEvaluation, task: TaskResult) -> str:
    """Return a sentence on the rates of wrongly and rightly empty results."""
    agent_row = next((row for row in task.rows if row.name == AGENT), None)
    if agent_row is None:
        return ""
    sentence = f"An agent wrongly gets nothing for {percent(agent_row.estimates[EMPTY_SHARE].mean)} of them."
    wrong_only = off_topic_result(evaluation, ONLY_WRONG)
    if wrong_only is None:
        return sentence
    rightly = percent(1.0 - wrong_only.told_something[AGENT].mean)
    queries = counted(wrong_only.n_queries, "more query")
    return f"{sentence} Of {queries} with only wrong hits, it rightly gets nothing for {rightly}."


def off_topic_result(evaluation: OwnEvaluation, source: str = BUNDLED_QUERIES) -> ForeignResult | None:
    """Return the answers to the off-topic queries of a source, if an agent's were measured."""
    return next(
        (result for result in evaluation.report.foreign if result.source == source and AGENT in result.told_something),
        None,
    )


def _prediction_row(evaluation: OwnEvaluation) -> MeasureRow | None:
    """Return how well each search predicts outcomes, or None if that was not measured."""
    outcomes = evaluation.report.outcomes
    if outcomes is None:
        return None
    fused = next((row for row in outcomes.rows if row.name == FUSED_ROW), None)
    if fused is None:
        return None
    differences = {
        **{name: _negated(difference.accuracy) for name, difference in fused.differences.items()},
        **{row.name: row.differences[FUSED_ROW].accuracy for row in outcomes.rows if FUSED_ROW in row.differences},
    }
    rows = _measured_rows(evaluation, {row.name: row.accuracy for row in outcomes.rows}, differences)
    return MeasureRow(
        rows=rows,
        chance=outcomes.base_accuracy,
        chance_name="always the more frequent outcome",
        n=outcomes.n_attempts,
        n_tasks=outcomes.n_groups,
    )


def _measured_rows(
    evaluation: OwnEvaluation, values: Mapping[str, Estimate], differences: Mapping[str, Estimate]
) -> tuple[MeasuredRow, ...]:
    """Return the rows in order: what agents get, the same without a threshold, the profiles, then words and meaning."""
    order = sorted(
        values,
        key=lambda name: (name != AGENT, name != FUSED_ROW, not name.startswith("profile "), name in SETTINGS),
    )
    return tuple(
        MeasuredRow(setting=_setting_label(evaluation, name), value=values[name], difference=differences.get(name))
        for name in order
    )


def _setting_label(evaluation: OwnEvaluation, name: str) -> str:
    if name == AGENT:
        return f"{NOW}{_profile_in_use(evaluation)}"
    if name == FUSED_ROW:
        return UNHIDDEN
    if name.startswith(f"{FUSED_ROW} − "):
        return f"… without {name.removeprefix(f'{FUSED_ROW} − ')}"
    return SETTINGS.get(name) or f"Profile {name.removeprefix('profile ')}"


def _profile_in_use(evaluation: OwnEvaluation) -> str:
    """Return the profile that searches used, or an empty string for the built-in one."""
    return "" if evaluation.in_use == BUILT_IN.name else f", with the profile {evaluation.in_use!r}"


def _negated(estimate: Estimate) -> Estimate:
    interval = estimate.interval
    mirrored = type(interval)(-interval.high, -interval.low) if interval else None
    return Estimate(mean=-estimate.mean, interval=mirrored)
