"""The verdict on a store's searches: one sentence on the latest measurement, advice, and what following it changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from atlas.core.statistics import Estimate
from atlas.evaluation.judged import JUDGED_TASK
from atlas.evaluation.leave_one_out import OWN_TASK
from atlas.evaluation.measures import TaskResult
from atlas.evaluation.metrics import FOUND_NOTHING
from atlas.evaluation.report import OwnEvaluation
from atlas.evaluation.tasks import AGENT
from atlas.views.evaluation.own import foreign_rate, foreign_result, measured_step, rate_interval
from atlas.views.shared.rates import likely
from atlas.views.shared.wording import counted, percent

MANY_ANSWERED = 0.1
"""Share of foreign questions with an answer above which searches should be stricter. The level is chosen for 0.03."""

MUCH_HIDDEN = 0.2
"""Share of attempts with empty results above which searches should be less strict."""

MANY_FOUND = 0.8
"""Share of attempts whose first hit is right, from which searches find the right memories."""

GIVEN_UP = 0.01
"""Share of attempts whose right first hit a stricter search may hide."""

WORTHWHILE = 0.05
"""Share of foreign questions that a stricter search must leave unanswered to be advised."""

ENOUGH_JUDGED = 20
"""Number of judged queries from which a stricter search may be advised.

Own attempts repeat the words of their task, so a stricter search still finds them. It hides questions in other words:
on the sample data, strictness 1.8 kept the first hit right for 97% of own attempts, not 98%, but for 27% of the 113
judged queries, not 51%. Parts of the own texts showed no such loss either.
"""

BY_WORDS = "BM25"
"""The search by words alone in the report."""

STRICTER, LESS_STRICT, OTHER_WEIGHTS = "Make it stricter.", "Make it less strict.", "Compare other weights."
STRICTNESS, PROFILES, JUDGED = "Strictness", "Compare profiles", "Judged queries"
"""Parts of the page where the advice can be followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How well a store is searched, in words of our own."""

    headline: str
    sentence: str
    advice: str = ""
    """Empty if no change is advised."""

    part: str = ""
    """The part of the page where the advice can be followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stricter:
    """A stricter search, and what it changes on the measured questions."""

    strictness: float
    off_topic: str
    """Share of off-topic questions with an answer, now and then: `65% → 14%`."""

    first_right: str
    """Share of searches whose first hit is right, now and then: `98% → 97%`."""

    judged_right: str
    """The same of the judged queries."""


Mark = Literal["good", "middling", "weak", ""]
"""How good a figure is, or empty if it rests on too few queries."""

GOOD_FROM, WEAK_BELOW = MANY_FOUND, 0.5
"""Shares of right first hits between which a figure is middling."""

GOOD_TO, WEAK_ABOVE = MANY_ANSWERED, 0.5
"""Shares of off-topic questions with an answer between which a figure is middling."""

MARKS_MEAN = (
    f"Good: {percent(GOOD_FROM)} or more of first hits right, or at most {percent(GOOD_TO)} of off-topic questions "
    f"answered. Weak: less than {percent(WEAK_BELOW)} right, or more than {percent(WEAK_ABOVE)} answered. These limits "
    "are a convention of ATLAS. Search by words alone was measured on the same queries."
)
OWN_LABEL, JUDGED_LABEL = "Own attempts, searched again", "Queries that a person judged"
OFF_TOPIC_LABEL, NOTHING_LABEL = "Off-topic questions answered", "Searches that find nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a measurement, with its interval."""

    label: str
    value: str = "–"
    meaning: str = ""
    """The value in words, and where good lies: `Lower is better: 65 of 100 questions …`."""

    interval: str = ""
    basis: str = ""
    """Basis of the measurement, and what a simpler search reaches: `222 attempts at 90 tasks. Words alone: 92%`."""

    mark: Mark = ""

    @property
    def chip(self) -> str:
        """The mark and the interval: `weak, likely 58–70%`."""
        return ", ".join(filter(None, [self.mark, self.interval]))


def verdict(evaluation: OwnEvaluation, strictness: float | None = None) -> Verdict | None:
    """Return the verdict of a measurement, or None if neither attempts nor foreign questions could be measured.

    Args:
        strictness: The present strictness, or None for that of the measurement. The figures are those of the nearest
            measured one.
    """
    first, nothing, answered = _rates(evaluation, strictness)
    parts = []
    if first is not None:
        parts.append(f"finds another attempt at the same task first in {percent(first.mean)} of searches")
    if answered is not None:
        parts.append(f"answers {percent(answered.mean)} of off-topic questions")
    if not parts:
        return None
    is_contrast = _mean(first, 0.0) >= MANY_FOUND and _mean(answered, 0.0) > MANY_ANSWERED
    sentence = ", but wrongly ".join(parts) if is_contrast else " and ".join(parts)
    headline, advice, part = _judgement(
        _mean(first, 1.0), _mean(nothing, 0.0), _mean(answered, 0.0),
        finds_judged=_finds_judged(evaluation, strictness),
        n_missing=n_judgements_missing(evaluation),
        is_measured=bool(evaluation.report.strictness),
        keep="Keep this strictness" if strictness is None else f"Keep strictness {strictness:g}",
        fine=_fine(first, answered),
        can_be_stricter=stricter(evaluation, 1.0 if strictness is None else strictness) is not None,
    )  # fmt: skip
    return Verdict(headline=headline, sentence=f"{sentence[:1].upper()}{sentence[1:]}.", advice=advice, part=part)


def n_judgements_missing(evaluation: OwnEvaluation) -> int:
    """Return how many more judged queries show whether a stricter search hides right hits. 0 if there are enough."""
    n_judged = max((step.n_judged for step in evaluation.report.strictness), default=0)
    return max(0, ENOUGH_JUDGED - n_judged)


def stricter(evaluation: OwnEvaluation, strictness: float) -> Stricter | None:
    """Return the strictness that leaves most off-topic questions unanswered and hides hardly any right first hit.

    None if searches answer few of them or hide much already, if too few queries were judged, or if no stricter search
    leaves clearly more of them unanswered without hiding much.
    """
    now = measured_step(evaluation, strictness)
    if now is None or now.found_nothing.mean > MUCH_HIDDEN or now.foreign_answered.mean <= MANY_ANSWERED:
        return None
    if now.judged_right is None or n_judgements_missing(evaluation):
        return None
    better = [
        step
        for step in evaluation.report.strictness
        if step.strictness > strictness
        and step.first_right.mean >= now.first_right.mean - GIVEN_UP
        and _mean(step.judged_right, 0.0) >= now.judged_right.mean - GIVEN_UP
        and step.found_nothing.mean <= MUCH_HIDDEN
        and step.foreign_answered.mean <= now.foreign_answered.mean - WORTHWHILE
    ]
    if not better:
        return None
    best = min(better, key=lambda step: (step.foreign_answered.mean, step.strictness))
    return Stricter(
        strictness=best.strictness,
        off_topic=_change(now.foreign_answered, best.foreign_answered),
        first_right=_change(now.first_right, best.first_right),
        judged_right=_change(now.judged_right, best.judged_right),
    )


def _change(now: Estimate, then: Estimate | None) -> str:
    return f"{percent(now.mean)} → {percent(_mean(then, 0.0))}"


def figures(evaluation: OwnEvaluation | None, strictness: float | None = None) -> list[Figure]:
    """Return the figures behind the verdict, without values before a measurement. Empty results are one if many.

    Args:
        strictness: As of `verdict`.
    """
    if evaluation is None:
        return [Figure(label=OWN_LABEL), Figure(label=OFF_TOPIC_LABEL)]
    near = _nearby(evaluation, strictness)
    _, nothing, _ = _rates(evaluation, strictness)
    measures = [
        _own_figure(evaluation, strictness, near),
        *_judged_figure(evaluation, strictness, near),
        _off_topic_figure(evaluation, strictness, near),
    ]
    if (task := _task(evaluation, OWN_TASK)) is not None and nothing is not None and nothing.mean > MUCH_HIDDEN:
        basis = f"{_attempts(task)}{near}"
        meaning = f"Lower is better: {_of_hundred(nothing)} searches find nothing, although another attempt exists."
        measures.append(_figure(NOTHING_LABEL, nothing, task.n_groups, meaning=meaning, basis=basis, mark="weak"))
    return measures


def _own_figure(evaluation: OwnEvaluation, strictness: float | None, near: str) -> Figure:
    """Return how often another attempt at a task is the first hit for it."""
    rate, task = _rates(evaluation, strictness)[0], _task(evaluation, OWN_TASK)
    if rate is None or task is None:
        return Figure(label=OWN_LABEL)
    meaning = f"Higher is better: for {_of_hundred(rate)} attempts, another one at the same task comes first."
    basis = f"{_attempts(task)}{near}{_words_alone(task)}"
    return _figure(OWN_LABEL, rate, task.n_groups, meaning=meaning, basis=basis, mark=_found_mark(rate.mean))


def _judged_figure(evaluation: OwnEvaluation, strictness: float | None, near: str) -> Iterator[Figure]:
    """Yield how often the first hit of a judged query is right, if queries were judged."""
    step = measured_step(evaluation, 1.0 if strictness is None else strictness)
    if step is None or (rate := step.judged_right) is None:
        return
    meaning = f"Higher is better: for {_of_hundred(rate)} queries, the first hit is one that a person marked right."
    basis = f"{counted(step.n_judged, 'judged query')}{near}{_words_alone(_task(evaluation, JUDGED_TASK))}"
    yield _figure(JUDGED_LABEL, rate, step.n_judged, meaning=meaning, basis=basis, mark=_found_mark(rate.mean))


def _off_topic_figure(evaluation: OwnEvaluation, strictness: float | None, near: str) -> Figure:
    """Return how many questions that memory knows nothing about get an answer."""
    rate, questions = _rates(evaluation, strictness)[2], foreign_result(evaluation)
    if rate is None or questions is None:
        return Figure(label=OFF_TOPIC_LABEL)
    meaning = f"Lower is better: {_of_hundred(rate)} questions that memory has nothing about still get an answer."
    mark: Mark = "good" if rate.mean <= GOOD_TO else "weak" if rate.mean > WEAK_ABOVE else "middling"
    basis = f"{counted(questions.n_queries, 'question')} on other subjects{near}{_unhidden(evaluation)}"
    return _figure(OFF_TOPIC_LABEL, rate, questions.n_queries, meaning=meaning, basis=basis, mark=mark)


def _attempts(task: TaskResult) -> str:
    return f"{counted(task.n_queries, 'attempt')} at {counted(task.n_groups, 'task')}"


def _of_hundred(rate: Estimate) -> str:
    return f"{percent(rate.mean).removesuffix('%')} of 100"


def _found_mark(share: float) -> Mark:
    return "good" if share >= GOOD_FROM else "weak" if share < WEAK_BELOW else "middling"


def _words_alone(task: TaskResult | None) -> str:
    """Return what search by words alone reaches on the same queries, as the end of a sentence, if it was measured."""
    row = next((row for row in task.rows if row.name == BY_WORDS), None) if task is not None else None
    return f". Words alone: {percent(row.estimates['hit@1'].mean)}" if row is not None else ""


def _unhidden(evaluation: OwnEvaluation) -> str:
    """Return the share that a search without a threshold answers, as the end of a sentence, if it was measured."""
    step = measured_step(evaluation, 0.0)
    return f". At strictness 0: {percent(step.foreign_answered.mean)}" if step and step.strictness == 0 else ""


def _nearby(evaluation: OwnEvaluation, strictness: float | None) -> str:
    """Return the strictness that figures are of, or an empty string if they are of the present one."""
    step = None if strictness is None else measured_step(evaluation, strictness)
    return "" if step is None or step.strictness == strictness else f", at strictness {step.strictness:g}"


def _figure(label: str, rate: Estimate, n_groups: int, *, meaning: str, basis: str, mark: Mark) -> Figure:
    interval = rate_interval(rate, n_groups)
    return Figure(
        label=label,
        value=percent(rate.mean),
        meaning=meaning,
        interval=likely(interval) if interval is not None else "too few to tell",
        basis=f"{basis}.",
        mark=mark if interval is not None else "",
    )


def _judgement(
    first: float,
    nothing: float,
    answered: float,
    *,
    finds_judged: bool,
    n_missing: int,
    is_measured: bool,
    keep: str,
    fine: str,
    can_be_stricter: bool,
) -> tuple[str, str, str]:
    """Return the headline, the advice and where to follow it. Where both ends are bad, no strictness mends it."""
    if answered > MANY_ANSWERED and nothing > MUCH_HIDDEN:
        return "Search cannot tell well what this store holds from what it does not.", "", ""
    if nothing > MUCH_HIDDEN:
        return "Search hides too much of what this store holds.", LESS_STRICT, STRICTNESS
    finds = "Search often misses the right memory"
    if first >= MANY_FOUND:
        finds = f"Search finds {'the right memories' if finds_judged else 'other attempts at the same task'}"
    if answered > MANY_ANSWERED and can_be_stricter:
        link = "but" if first >= MANY_FOUND else "and"
        return f"{finds}, {link} answers too many off-topic questions.", STRICTER, STRICTNESS
    if first < MANY_FOUND:
        return f"{finds}.", OTHER_WEIGHTS, PROFILES
    if answered > MANY_ANSWERED:
        return _answering(finds, answered, n_missing=n_missing, is_measured=is_measured, keep=keep)
    if not finds_judged:
        return f"{finds}, but often misses what was judged right.", OTHER_WEIGHTS, PROFILES
    return f"{keep}: search finds {fine}.", "", ""


def _fine(first: Estimate | None, answered: Estimate | None) -> str:
    """Return what a good search finds, as far as it was measured."""
    if first is None:
        return "little that is off topic"
    return "the right memories" if answered is None else "the right memories, and little that is off topic"


def _answering(finds: str, answered: float, *, n_missing: int, is_measured: bool, keep: str) -> tuple[str, str, str]:
    """Return the judgement of a search that answers many off-topic questions, and should not be stricter yet."""
    headline = f"{finds}, and answers {percent(answered)} of off-topic questions."
    if not is_measured:
        return headline, "", ""
    if n_missing:
        queries = f"{n_missing} queries" if n_missing == ENOUGH_JUDGED else f"{n_missing} more"
        return headline, f"Judge {queries} to learn whether it should be stricter.", JUDGED
    return f"{keep}: stricter, search would lose right hits.", "", ""


def _finds_judged(evaluation: OwnEvaluation, strictness: float | None) -> bool:
    """Return whether the first hit is right for most judged queries, or too few were judged."""
    step = measured_step(evaluation, 1.0 if strictness is None else strictness)
    return step is None or n_judgements_missing(evaluation) > 0 or _mean(step.judged_right, 1.0) >= MANY_FOUND


def _mean(rate: Estimate | None, absent: float) -> float:
    return absent if rate is None else rate.mean


def _rates(
    evaluation: OwnEvaluation, strictness: float | None
) -> tuple[Estimate | None, Estimate | None, Estimate | None]:
    """Return how often the first hit is right, nothing is found, and a foreign question is answered."""
    step = None if strictness is None else measured_step(evaluation, strictness)
    if step is None:
        return _own_rate(evaluation, "hit@1"), _own_rate(evaluation, FOUND_NOTHING), foreign_rate(evaluation)
    return step.first_right, step.found_nothing, step.foreign_answered


def _own_rate(evaluation: OwnEvaluation, measure: str) -> Estimate | None:
    """Return a measure of the search for agents, on the store's own attempts."""
    task = _task(evaluation, OWN_TASK)
    row = next((row for row in task.rows if row.name == AGENT), None) if task is not None else None
    return row.estimates[measure] if row is not None else None


def _task(evaluation: OwnEvaluation, name: str) -> TaskResult | None:
    return next((task for task in evaluation.report.tasks if task.name == name), None)
