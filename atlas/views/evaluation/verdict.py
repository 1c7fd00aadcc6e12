"""The verdict on a store's searches: a headline in figures, what to do, and what following it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from atlas.core.statistics import Estimate
from atlas.evaluation.foreign import StrictnessStep
from atlas.evaluation.judged import JUDGED_TASK
from atlas.evaluation.leave_one_out import OWN_ATTEMPTS
from atlas.evaluation.measures import TaskResult
from atlas.evaluation.metrics import EMPTY_SHARE
from atlas.evaluation.report import OwnEvaluation
from atlas.evaluation.tasks import AGENT
from atlas.memory.context.block import BUDGET_TOKENS
from atlas.views.evaluation.own import (
    interval_text,
    measured_step,
    off_topic_rate,
    off_topic_result,
    rate_interval,
)
from atlas.views.evaluation.strictness import (
    COLOURS,
    JUDGED_RIGHT,
    NOTHING_FOUND,
    OFF_TOPIC_ANSWERED,
    OWN_RIGHT,
)
from atlas.views.lists.cells import FAIR, GOOD, POOR, Meter
from atlas.views.lists.queries import Row
from atlas.views.shared.wording import counted, percent, share_in_words

MANY_ANSWERED = 0.1
"""Share of off-topic questions with an answer above which searches should be stricter. The level is chosen for 0.03."""

MUCH_HIDDEN = 0.2
"""Share of attempts with empty results above which searches should be less strict."""

MANY_FOUND = 0.8
"""Share of attempts whose first hit is right, from which searches find the right memories."""

GIVEN_UP = 0.01
"""Share of attempts whose right first hit a stricter search may hide."""

WORTHWHILE = 0.05
"""Share of off-topic questions that a stricter search must leave unanswered to be advised."""

ENOUGH_JUDGED = 20
"""Number of judged queries from which a stricter search may be advised.

Own attempts repeat the words of their task, so a stricter search still finds them. It hides questions in other words:
on the sample data, strictness 1.8 kept the first hit right for 97% of own attempts, not 98%, but for 27% of the 113
judged queries, not 51%. Parts of the own texts showed no such loss either.
"""

KEYWORDS = "BM25"
"""The search by keywords in the report."""

STRICTER, LESS_STRICT, OTHER_WEIGHTS = "Make it stricter.", "Make it less strict.", "Compare other weights."
TO_FIND_MORE = "To find more, compare profiles, or choose another embedding model in Settings."
PROFILES, JUDGED = "Compare profiles", "Judged queries"
"""Parts of the page where the advice can be followed."""

RULE = (
    f"The advice on strictness: the one that answers the fewest off-topic questions, and for which at most "
    f"{percent(GIVEN_UP)} of own attempts and of judged queries lose their right first hit. It needs at least "
    f"{ENOUGH_JUDGED} judged queries."
)

GOOD_FROM, POOR_BELOW = MANY_FOUND, 0.5
"""Shares of right first hits between which a figure is fair."""

GOOD_TO, POOR_ABOVE = MANY_ANSWERED, 0.5
"""Shares of off-topic questions with an answer between which a figure is fair."""

MARKS_MEAN = (
    f"Good: {percent(GOOD_FROM)} or more of first hits right, or at most {percent(GOOD_TO)} of off-topic questions "
    f"answered. Poor: less than {percent(POOR_BELOW)} right, or more than {percent(POOR_ABOVE)} answered. Fair: "
    "between these. The limits are a convention of ATLAS."
)
GIVEN_MEANS = (
    f"How often a right memory is in the {BUDGET_TOKENS:,} tokens of memories that an agent gets, at any rank."
)
JUDGED_NOTE = "On Ask, people marked which hits are right"
OFF_TOPIC_NOTE, NOTHING_NOTE = "About other subjects; lower is better", "Lower is better"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How well a store is searched, in words of our own."""

    headline: str
    """The figures in words, with those of judged queries where there are enough."""

    finding: str
    """Meaning of the figures: `Search hides too much of what this store holds.`."""

    advice: str = ""
    """Empty if no change is advised."""

    part: str = ""
    """The part of the page where the advice can be followed, or empty for the first."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff:
    """The next stricter search that answers clearly fewer off-topic questions, which is not advised."""

    strictness: float
    sentence: str
    """`At 1.1, off-topic answers would fall to 56%, and 3 more of 113 judged queries would be wrong.`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow(Row):
    """One figure of a measurement, as a line of a table."""

    label: str
    rate: Meter
    counts: str
    """`129 of 200 questions`."""

    interval: str
    """`58–70%`, or `too few to tell`."""

    mark: str
    """`GOOD`, `FAIR` or `POOR`, or empty if there are too few queries to tell."""

    note: str
    """The queries in a few words, and whether less is better."""

    given: str = ""
    """Share of these queries with a right record in the context block of an agent, or empty if that was not measured at
    the present strictness."""

    by_keywords: str = ""
    """The figure of a search by keywords, or empty if that was not measured."""

    @property
    def facts(self) -> tuple[str, ...]:
        """The note, which stands below the label."""
        return (self.note,)


def verdict(evaluation: OwnEvaluation, strictness: float) -> Verdict | None:
    """Return the verdict of a measurement, or None if neither attempts nor off-topic questions could be measured.

    Args:
        strictness: The present strictness. The figures are those of the nearest measured one.
    """
    first_right, found_nothing, off_topic_answered = _rates(evaluation, strictness)
    if first_right is None and off_topic_answered is None:
        return None
    finding, advice, tab = _finding_advice_and_tab(evaluation, strictness)
    headline = _headline(first_right, _judged_rate(evaluation, strictness), found_nothing, off_topic_answered)
    return Verdict(headline=headline, finding=finding, advice=advice, part=tab)


def _headline(
    own_right: Estimate | None,
    judged_right: Estimate | None,
    found_nothing: Estimate | None,
    off_topic_answered: Estimate | None,
) -> str:
    """Return the figures in words. Without judged queries, those of own attempts, which are easier to find."""
    clauses = list[str]()
    if judged_right is not None:
        clauses.append(f"finds the right memory first for {share_in_words(judged_right.mean)} of the judged queries")
    elif own_right is not None:
        clauses.append(
            f"finds the right memory first for {share_in_words(own_right.mean)} "
            "of the attempts that are looked up again"
        )
    if found_nothing is not None and found_nothing.mean > MUCH_HIDDEN:
        clauses.append(f"finds nothing for {share_in_words(found_nothing.mean)} of the attempts")
    if off_topic_answered is not None:
        clauses.append(f"answers {share_in_words(off_topic_answered.mean)} of the off-topic questions")
    return f"Search {_joined_clauses(clauses)}."


def _joined_clauses(clauses: Sequence[str]) -> str:
    """Return clauses as a list in words, with a comma before each but the first."""
    *earlier, final = clauses
    return f"{', '.join(earlier)}, and {final}" if earlier else final


def n_judgements_missing(evaluation: OwnEvaluation) -> int:
    """Return how many more judged queries are needed to tell whether a stricter search hides right hits."""
    n_judged = max((step.n_judged for step in evaluation.report.strictness), default=0)
    return max(0, ENOUGH_JUDGED - n_judged)


def _judged_rate(evaluation: OwnEvaluation, strictness: float) -> Estimate | None:
    """Return how often the first hit of judged queries is right, or None if too few were judged."""
    step = measured_step(evaluation, strictness)
    if step is not None:
        return None if n_judgements_missing(evaluation) else step.judged_right
    task = _task(evaluation, JUDGED_TASK)
    return _agent_rate(task, "hit@1") if task is not None and task.n_queries >= ENOUGH_JUDGED else None


def stricter(evaluation: OwnEvaluation, strictness: float) -> Stricter | None:
    """Return the strictness that leaves most off-topic questions unanswered and hides hardly any right first hit.

    None if searches answer few of them or hide much already, if too few queries were judged, or if no stricter search
    leaves clearly more of them unanswered without hiding much.
    """
    present = measured_step(evaluation, strictness)
    if present is None or present.found_nothing.mean > MUCH_HIDDEN or present.foreign_answered.mean <= MANY_ANSWERED:
        return None
    if present.judged_right is None or n_judgements_missing(evaluation):
        return None
    candidates = [
        step
        for step in _clearly_stricter(evaluation, strictness, present)
        if step.first_right.mean >= present.first_right.mean - GIVEN_UP
        and _mean_or(step.judged_right, 0.0) >= present.judged_right.mean - GIVEN_UP
        and step.found_nothing.mean <= MUCH_HIDDEN
    ]
    if not candidates:
        return None
    best = min(candidates, key=lambda step: (step.foreign_answered.mean, step.strictness))
    return Stricter(
        strictness=best.strictness,
        off_topic=_change_text(present.foreign_answered, best.foreign_answered),
        first_right=_change_text(present.first_right, best.first_right),
        judged_right=_change_text(present.judged_right, best.judged_right),
    )


def _clearly_stricter(evaluation: OwnEvaluation, strictness: float, present: StrictnessStep) -> list[StrictnessStep]:
    """Return the stricter steps that answer clearly fewer off-topic questions, the least strict first."""
    limit = present.foreign_answered.mean - WORTHWHILE
    return [
        step
        for step in evaluation.report.strictness
        if step.strictness > strictness and step.foreign_answered.mean <= limit
    ]


def _change_text(present: Estimate, stricter_rate: Estimate | None) -> str:
    """Return two rates as `65% → 14%`."""
    return f"{percent(present.mean)} → {percent(_mean_or(stricter_rate, 0.0))}"


def figures(evaluation: OwnEvaluation, strictness: float) -> list[FigureRow]:
    """Return the figures behind the verdict. That of empty results is among them only if it is high.

    Args:
        strictness: As of `verdict`.
    """
    first_right, found_nothing, off_topic_answered = _rates(evaluation, strictness)
    own_task, step = _task(evaluation, OWN_ATTEMPTS), measured_step(evaluation, strictness)
    rows = list[FigureRow]()
    if own_task is not None and first_right is not None:
        note = f"{own_task.n_queries:,} of {own_task.n_records:,}: those at tasks tried more than once"
        row = _first_hit_row(
            OWN_RIGHT, first_right, own_task.n_queries, own_task.n_groups, noun="attempt", note=note, task=own_task
        )
        rows.append(replace(row, given=_share_in_block(evaluation, OWN_ATTEMPTS, strictness)))
    if step is not None and step.judged_right is not None:
        judged_task, n = _task(evaluation, JUDGED_TASK), step.n_judged
        row = _first_hit_row(JUDGED_RIGHT, step.judged_right, n, n, noun="query", note=JUDGED_NOTE, task=judged_task)
        rows.append(replace(row, given=_share_in_block(evaluation, JUDGED_TASK, strictness)))
    questions = off_topic_result(evaluation)
    if off_topic_answered is not None and questions is not None:
        n = questions.n_queries
        mark = GOOD if off_topic_answered.mean <= GOOD_TO else POOR if off_topic_answered.mean > POOR_ABOVE else FAIR
        rows.append(
            _figure_row(OFF_TOPIC_ANSWERED, off_topic_answered, n, n, noun="question", note=OFF_TOPIC_NOTE, mark=mark)
        )
    if own_task is not None and found_nothing is not None and found_nothing.mean > MUCH_HIDDEN:
        n, n_groups = own_task.n_queries, own_task.n_groups
        rows.append(
            _figure_row(NOTHING_FOUND, found_nothing, n, n_groups, noun="attempt", note=NOTHING_NOTE, mark=POOR)
        )
    return rows


def _share_in_block(evaluation: OwnEvaluation, task_name: str, strictness: float) -> str:
    """Return the share of queries whose context block of the usual size has a right record.

    Empty if that was not measured at this strictness. Only reports with judged queries record the strictness.
    """
    missed, blocks = evaluation.report.missed, evaluation.report.blocks
    if missed is None or missed.strictness != strictness:
        return ""
    shares = [block.in_block for block in blocks if (block.task, block.budget_tokens) == (task_name, BUDGET_TOKENS)]
    return percent(shares[0].mean) if shares else ""


def _first_hit_row(
    label: str, rate: Estimate, n_queries: int, n_groups: int, *, noun: str, note: str, task: TaskResult | None
) -> FigureRow:
    """Return a row that shows how often the first hit is right, beside the same rate of a keyword search."""
    mark = GOOD if rate.mean >= GOOD_FROM else POOR if rate.mean < POOR_BELOW else FAIR
    keyword_row = next((row for row in task.rows if row.name == KEYWORDS), None) if task is not None else None
    by_keywords = percent(keyword_row.estimates["hit@1"].mean) if keyword_row is not None else ""
    return _figure_row(label, rate, n_queries, n_groups, noun=noun, note=note, mark=mark, by_keywords=by_keywords)


def _figure_row(
    label: str, rate: Estimate, n_queries: int, n_groups: int, *, noun: str, note: str, mark: str, by_keywords: str = ""
) -> FigureRow:
    interval = rate_interval(rate, n_groups)
    return FigureRow(
        id=label,
        label=label,
        rate=Meter(rate.mean, percent(rate.mean), colour=COLOURS[label]),
        counts=f"{round(rate.mean * n_queries):,} of {counted(n_queries, noun)}",
        interval=interval_text(interval) or "too few to tell",
        mark=mark if interval is not None else "",
        note=note,
        by_keywords=by_keywords,
    )


def nearby_sentence(evaluation: OwnEvaluation, strictness: float) -> str:
    """Return a sentence with the measured strictness, or an empty string if that is the present one."""
    step = measured_step(evaluation, strictness)
    if step is None or step.strictness == strictness:
        return ""
    return f"The figures are of strictness {step.strictness:g}, the nearest one that was measured."


def _finding_advice_and_tab(evaluation: OwnEvaluation, strictness: float) -> tuple[str, str, str]:
    """Return the finding, the advice, and the tab of the page to follow it on, or empty texts for the last two.

    No strictness helps a search that both finds nothing for many attempts and answers many off-topic questions.
    """
    first_right, found_nothing, off_topic_answered = _rates(evaluation, strictness)
    answers_many = _mean_or(off_topic_answered, 0.0) > MANY_ANSWERED
    if _mean_or(found_nothing, 0.0) > MUCH_HIDDEN:
        if answers_many:
            return "Search cannot tell well what this store holds from what it does not.", "", ""
        return "Search hides too much of what this store holds.", LESS_STRICT, ""
    if answers_many and stricter(evaluation, strictness) is not None:
        return "Search answers too many off-topic questions.", STRICTER, ""
    if _mean_or(first_right, 1.0) < MANY_FOUND:
        return "Search often misses the right memory.", OTHER_WEIGHTS, PROFILES
    if answers_many:
        return _finding_if_many_answered(evaluation, strictness)
    if not _finds_judged(evaluation, strictness):
        return "Search often misses what was judged right.", OTHER_WEIGHTS, PROFILES
    return (
        f"Keep strictness {strictness:g}: search finds {_findings_of_good_search(first_right, off_topic_answered)}.",
        "",
        "",
    )


def _findings_of_good_search(first_right: Estimate | None, off_topic_answered: Estimate | None) -> str:
    """Return what a search without faults finds, as a clause, as far as it was measured."""
    if first_right is None:
        return "little that is off topic"
    return "the right memories" if off_topic_answered is None else "the right memories, and little that is off topic"


def _finding_if_many_answered(evaluation: OwnEvaluation, strictness: float) -> tuple[str, str, str]:
    """Return the finding, advice and tab for a search that answers many off-topic questions.

    No stricter search is advised for it yet.
    """
    off_topic_answered = _rates(evaluation, strictness)[2]
    finding = f"Search answers {percent(_mean_or(off_topic_answered, 0.0))} of off-topic questions."
    present = measured_step(evaluation, strictness)
    if present is None:
        return finding, "", ""
    if n_missing := n_judgements_missing(evaluation):
        queries = f"{n_missing} queries" if n_missing == ENOUGH_JUDGED else f"{n_missing} more"
        advice = f"Judge {queries} to learn whether it should be stricter."
        return finding, advice, JUDGED
    finding = f"Keep strictness {strictness:g}: {_why_not_stricter(evaluation, strictness, present)}."
    return (finding if _finds_judged(evaluation, strictness) else f"{finding} {TO_FIND_MORE}"), "", ""


def _why_not_stricter(evaluation: OwnEvaluation, strictness: float, present: StrictnessStep) -> str:
    """Return why no stricter search is advised, as a clause."""
    if not _clearly_stricter(evaluation, strictness, present):
        return "no stricter search answers clearly fewer off-topic questions"
    if present.strictness == strictness and _loses_judged_hits_if_stricter(evaluation, present):
        return "any stricter search would lose right hits of judged queries"
    return "each search that answers clearly fewer off-topic questions hides too much"


def _loses_judged_hits_if_stricter(evaluation: OwnEvaluation, present: StrictnessStep) -> bool:
    """Return whether no step has more right first hits of judged queries, and each stricter one has fewer."""
    present_rate = _mean_or(present.judged_right, 0.0)
    for step in evaluation.report.strictness:
        rate = _mean_or(step.judged_right, 0.0)
        if rate > present_rate or (step.strictness > present.strictness and rate == present_rate):
            return False
    return True


def trade_off(evaluation: OwnEvaluation, strictness: float) -> TradeOff | None:
    """Return what the next clearly stricter search would answer, and which right hits it would lose.

    None where searches answer few off-topic questions, a stricter search is advised, or too few queries were judged.
    """
    present = measured_step(evaluation, strictness)
    if present is None or present.foreign_answered.mean <= MANY_ANSWERED or n_judgements_missing(evaluation):
        return None
    stricter_step = next(iter(_clearly_stricter(evaluation, strictness, present)), None)
    if stricter_step is None or stricter(evaluation, strictness) is not None:
        return None
    own_task = _task(evaluation, OWN_ATTEMPTS)
    n_judged_lost = _n_lost(present.judged_right, stricter_step.judged_right, present.n_judged)
    n_own_lost = _n_lost(
        present.first_right, stricter_step.first_right, own_task.n_queries if own_task is not None else 0
    )
    nothing_clause = f"nothing would be found for {percent(stricter_step.found_nothing.mean)} of attempts"
    clauses = [
        f"off-topic answers would fall to {percent(stricter_step.foreign_answered.mean)}",
        f"{n_judged_lost} more of {present.n_judged:,} judged queries would be wrong" if n_judged_lost else "",
        f"{n_own_lost} more of {counted(own_task.n_queries, 'own attempt')} would be wrong"
        if own_task is not None and n_own_lost
        else "",
        nothing_clause if stricter_step.found_nothing.mean > MUCH_HIDDEN else "",
    ]
    sentence = f"At {stricter_step.strictness:g}, {_joined_clauses([*filter(None, clauses)])}."
    return TradeOff(strictness=stricter_step.strictness, sentence=sentence)


def _n_lost(present: Estimate | None, stricter_rate: Estimate | None, n_queries: int) -> int:
    """Return in how many searches a stricter one would lose a right first hit. 0 if too few to matter."""
    lost = _mean_or(present, 0.0) - _mean_or(stricter_rate, 0.0)
    return round(n_queries * lost) if lost > GIVEN_UP else 0


def _finds_judged(evaluation: OwnEvaluation, strictness: float) -> bool:
    """Return whether the first hit is right for most judged queries. True if too few were judged."""
    return _mean_or(_judged_rate(evaluation, strictness), 1.0) >= MANY_FOUND


def _mean_or(rate: Estimate | None, default: float) -> float:
    return default if rate is None else rate.mean


def _rates(evaluation: OwnEvaluation, strictness: float) -> tuple[Estimate | None, Estimate | None, Estimate | None]:
    """Return the rates of right first hits, of searches without hits, and of off-topic questions with hits."""
    step = measured_step(evaluation, strictness)
    if step is None:
        own_task = _task(evaluation, OWN_ATTEMPTS)
        return _agent_rate(own_task, "hit@1"), _agent_rate(own_task, EMPTY_SHARE), off_topic_rate(evaluation)
    return step.first_right, step.found_nothing, step.foreign_answered


def _agent_rate(task: TaskResult | None, measure: str) -> Estimate | None:
    """Return a measure of the search for agents, on the queries of a task."""
    row = next((row for row in task.rows if row.name == AGENT), None) if task is not None else None
    return row.estimates[measure] if row is not None else None


def _task(evaluation: OwnEvaluation, name: str) -> TaskResult | None:
    return next((task for task in evaluation.report.tasks if task.name == name), None)
