"""The verdict on a store's searches: one sentence on the latest measurement, and advice."""

from __future__ import annotations

from dataclasses import dataclass, replace

from atlas.core.statistics import Estimate
from atlas.evaluation.foreign import SHIPPED, ForeignResult
from atlas.evaluation.leave_one_out import OWN_TASK
from atlas.evaluation.measures import TaskResult
from atlas.evaluation.metrics import FOUND_NOTHING
from atlas.evaluation.report import OwnEvaluation
from atlas.evaluation.tasks import AGENT
from atlas.views.evaluation.own import rate_interval
from atlas.views.shared.rates import likely
from atlas.views.shared.wording import counted, percent

MANY_ANSWERED = 0.1
"""Share of foreign questions with an answer above which searches should be stricter. The level is chosen for 0.03."""

MUCH_HIDDEN = 0.2
"""Share of attempts with empty results above which searches should be less strict."""

MANY_FOUND = 0.8
"""Share of attempts whose first hit is right, from which searches find the right memories."""

STRICTER, LESS_STRICT, OTHER_WEIGHTS = "Make it stricter.", "Make it less strict.", "Compare other weights."
STRICTNESS, PROFILES = "Strictness", "Compare profiles"
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
class Figure:
    """One figure of a measurement, with its interval."""

    label: str
    value: str = "–"
    interval: str = ""
    basis: str = ""
    """Size of the measurement: `303 attempts at 107 tasks`."""

    help_text: str = ""
    is_bad: bool = False
    """True if the advice is about it."""


def verdict(found: OwnEvaluation) -> Verdict | None:
    """Return the verdict of a measurement, or None if neither attempts nor foreign questions could be measured."""
    first, nothing, answered = _own_rate(found, "hit@1"), _own_rate(found, FOUND_NOTHING), _foreign_rate(found)
    parts = []
    if first is not None:
        parts.append(f"finds another attempt at the same task first in {percent(first.mean)} of searches")
    if answered is not None:
        parts.append(f"answers {percent(answered.mean)} of off-topic questions")
    if not parts:
        return None
    is_contrast = _mean(first, 0.0) >= MANY_FOUND and _mean(answered, 0.0) > MANY_ANSWERED
    sentence = ", but wrongly ".join(parts) if is_contrast else " and ".join(parts)
    headline, advice, part = _judgement(_mean(first, 1.0), _mean(nothing, 0.0), _mean(answered, 0.0))
    return Verdict(headline=headline, sentence=f"{sentence[:1].upper()}{sentence[1:]}.", advice=advice, part=part)


def figures(found: OwnEvaluation | None) -> list[Figure]:
    """Return the figures behind the verdict, without values before a measurement."""
    rates = (
        ("First hit is right", "hit@1", "How often the first hit is another attempt at the same task. More is better."),
        ("Nothing found", FOUND_NOTHING, "How often a search comes back empty although it should not. Less is better."),
    )
    task, questions = (_own_task(found), _foreign_result(found)) if found else (None, None)
    basis = f"{counted(task.n_queries, 'attempt')} at {counted(task.n_groups, 'task')}" if task else ""
    n_tasks = task.n_groups if task else 0
    own = [
        _figure(label, _own_rate(found, measure) if found else None, n_tasks, basis, text)
        for label, measure, text in rates
    ]
    foreign = (
        "How often a question about another subject gets an answer, where the right answer is nothing. Less is better."
    )
    asked = counted(questions.n_queries, "question") if questions else ""
    rate = _foreign_rate(found) if found else None
    n_questions = questions.n_queries if questions else 0
    off_topic = _figure("Off-topic questions answered", rate, n_questions, asked, foreign)
    return [*own, replace(off_topic, is_bad=_mean(rate, 0.0) > MANY_ANSWERED)]


def _figure(label: str, rate: Estimate | None, n_groups: int, basis: str, help_text: str) -> Figure:
    if rate is None:
        return Figure(label=label, help_text=help_text)
    interval = rate_interval(rate, n_groups)
    return Figure(
        label=label,
        value=percent(rate.mean),
        interval=likely(interval) if interval is not None else "too few to tell",
        basis=basis,
        help_text=help_text,
    )


def _judgement(first: float, nothing: float, answered: float) -> tuple[str, str, str]:
    """Return the headline, the advice and where to follow it. Where both ends are bad, no strictness mends it."""
    if answered > MANY_ANSWERED and nothing > MUCH_HIDDEN:
        return "Search cannot tell well what this store holds from what it does not.", "", ""
    if nothing > MUCH_HIDDEN:
        return "Search hides too much of what this store holds.", LESS_STRICT, STRICTNESS
    finds = "Search finds the right memories" if first >= MANY_FOUND else "Search often misses the right memory"
    if answered > MANY_ANSWERED:
        return (
            f"{finds}, {'but' if first >= MANY_FOUND else 'and'} answers too many off-topic questions.",
            STRICTER,
            STRICTNESS,
        )
    if first < MANY_FOUND:
        return f"{finds}.", OTHER_WEIGHTS, PROFILES
    return f"{finds}. Nothing needs to change.", "", ""


def _mean(rate: Estimate | None, absent: float) -> float:
    return absent if rate is None else rate.mean


def _own_rate(found: OwnEvaluation, measure: str) -> Estimate | None:
    """Return a measure of the search for agents, on the store's own attempts."""
    task = _own_task(found)
    row = next((row for row in task.rows if row.name == AGENT), None) if task is not None else None
    return row.estimates[measure] if row is not None else None


def _own_task(found: OwnEvaluation) -> TaskResult | None:
    return next((task for task in found.report.tasks if task.name == OWN_TASK), None)


def _foreign_rate(found: OwnEvaluation) -> Estimate | None:
    """Return the share of foreign questions that the search for agents answers."""
    foreign = _foreign_result(found)
    return foreign.told_something.get(AGENT) if foreign is not None else None


def _foreign_result(found: OwnEvaluation) -> ForeignResult | None:
    return next((result for result in found.report.foreign if result.source == SHIPPED), None)
