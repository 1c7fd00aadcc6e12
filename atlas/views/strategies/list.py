"""The lines of the list of strategies, with how sure it is that each works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from atlas.core.hits import Hit
from atlas.core.operations import NO_MARKS
from atlas.core.statistics import SuccessRate, credible_interval
from atlas.core.types import Strategy
from atlas.memory.base.success_rates import trend
from atlas.memory.kinds.sections import success_rate_text
from atlas.memory.promotion import SOURCE as JOURNAL
from atlas.memory.strategies.outcomes import BY_HAND as RETIRED_BY_HAND
from atlas.memory.strategies.outcomes import StrategyRate
from atlas.memory.strategies.records import is_warning
from atlas.memory.system import MemorySystem
from atlas.views.kinds.uses import average_rate, worse_than
from atlas.views.lists.cells import Heading
from atlas.views.lists.queries import Row, last_use, marks_text, ranking, row_state
from atlas.views.shared.rates import NOT_USED, Record, likely, record_of
from atlas.views.shared.wording import attempts_text, counted, percent, shortened
from atlas.views.strategies.steps import steps_of
from atlas.views.strategies.titles import readable_title

BY_HAND = "by hand"
"""The origin that is shown of a strategy without a known abstractor."""

SITUATION_CHARACTERS, ADVICE_CHARACTERS = 160, 300
"""The parts of the situation and of the suggestion that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyRow(Row):
    """One line of the list. Texts from the store are untrusted."""

    title: str
    situation: str
    """The beginning of its situation: `When: a job is killed twice.`"""

    advice: str
    """The beginning of its suggestion: `Do: Read the log first.`"""

    succeeded: str
    """`23 of 64` uses, or `not used yet`."""

    record: Record
    last_used: datetime | None
    """Time in UTC, or None before any use."""

    origin: str
    """Its domain, or empty."""

    status: str
    """`retired by a person` for a strategy that agents are not given, else empty."""

    @property
    def heading(self) -> Heading:
        """Its title, and what stands below it."""
        return Heading(
            title=self.title,
            story=self.situation,
            advice=self.advice,
            status=self.status,
            origin=self.origin,
            marks=self.marks,
            relevance=self.relevance,
            why=self.why,
        )


def strategy_rows(
    memory: MemorySystem, strategies: Sequence[Strategy], hits: Mapping[str, Hit[str]]
) -> tuple[StrategyRow, ...]:
    """Return lines of strategies, given the hits that found them by id."""
    ids, bank = [strategy.id for strategy in strategies], memory.strategies
    marks, rates, usage = bank.marks(ids), bank.rates(ids), bank.usage(ids)
    uses = bank.attempts_of(ids)
    worse, average = worse_than(bank, bank.retired()), average_rate(memory)
    return tuple(
        StrategyRow(
            id=each.id,
            title=readable_title(each.title),
            situation=_situation_line(each),
            advice=_advice_line(each),
            origin=domain_of(each),
            succeeded=tries_text(rates[each.id]),
            record=record_of(
                rates[each.id].n_succeeded,
                rates[each.id].n,
                trend=trend_text([use.success for use in uses[each.id]]),
                others=worse.get(each.id),
                average=average,
            ),
            last_used=last_use(usage[each.id]),
            status=retired_text(rates[each.id]),
            marks=marks_text(replace(marks.get(each.id, NO_MARKS), buried=False)),  # its status says so
            state=row_state(
                marks.get(each.id, NO_MARKS), is_problem=each.id in worse, is_retired=bool(rates[each.id].retired)
            ),
            **ranking(hits, each.id),
        )
        for each in strategies
        if each.id in rates
    )


def _situation_line(strategy: Strategy) -> str:
    """Return `When: an import replaces `table` …`, with the names of parameters as code.

    It is empty if the title is the same.
    """
    text = _with_names(" ".join(strategy.situation.split()), strategy)
    is_title = text.rstrip(" .").casefold() == strategy.title.rstrip(" .").casefold()
    return f"When: {shortened(text, SITUATION_CHARACTERS)}" if text and not is_title else ""


def _advice_line(strategy: Strategy) -> str:
    """Return `Do: Read the log. Raise the limit.`: its steps in a row, or `Avoid: …` for a warning."""
    text = shortened(_with_names(steps_of(strategy.suggestion).line, strategy), ADVICE_CHARACTERS)
    return f"{'Avoid' if is_warning(strategy) else 'Do'}: {text}" if text else ""


def _with_names(text: str, strategy: Strategy) -> str:
    """Return a text with the names of parameters as code instead of in braces."""
    mark = "" if "`" in text else "`"
    for parameter in strategy.parameters:
        text = text.replace(f"{{{parameter['name']}}}", f"{mark}{parameter['name']}{mark}")
    return text


def domain_of(strategy: Strategy) -> str:
    """Return its domain, or an empty string. It is untrusted text."""
    return str(strategy.metadata.get("domain", ""))


def retired_text(rate: StrategyRate) -> str:
    """Return `retired by a person` or `retired by its outcomes`, or an empty string for an active strategy."""
    if not rate.retired:
        return ""
    return "retired by a person" if rate.retired == RETIRED_BY_HAND else f"retired {rate.retired}"


def tried_line(rate: StrategyRate) -> str:
    """Return `succeeded in 3 of 4 uses (likely 28–95%)`, or `not used yet`. That it is retired, if it is."""
    return success_rate_text(rate.n_succeeded, rate.n) + (f", {retired_text(rate)}" if rate.retired else "")


def tries_text(rate: StrategyRate) -> str:
    """Return `23 of 64`, or `not used yet`."""
    return f"{rate.n_succeeded:,} of {rate.n:,}" if rate.n else NOT_USED


def learned_text(without: SuccessRate, n_sources: int) -> str:
    """Return `4 attempts: 3 succeeded, 1 failed` of those at the source tasks without it.

    It is `1 attempt that succeeded` for a single one, `2 attempts` if none is stored any more, and empty without a
    source.
    """
    if not without.n_known:
        return counted(n_sources, "attempt") if n_sources else ""
    if without.n_known == 1:
        return f"1 attempt that {'succeeded' if without.n_succeeded else 'failed'}"
    return attempts_text({"succeeded": without.n_succeeded, "failed": without.n_failed})


def without_text(rate: SuccessRate) -> str:
    """Return `50% (likely 15–85%, n = 4)`, or an empty string without an attempt of known outcome."""
    if not rate.n_known:
        return ""
    interval = credible_interval(rate.n_succeeded, rate.n_known)
    share = percent(rate.n_succeeded / rate.n_known)
    return f"{share} ({likely(interval)}, n = {rate.n_known:,})"


def trend_text(outcomes: Sequence[bool]) -> str:
    """Return `↗ 40 to 80%` if later uses clearly went better or worse than earlier ones, else an empty string."""
    change = trend(outcomes)
    if change is None or not change.direction:
        return ""
    return f"{'↗' if change.direction > 0 else '↘'} {change.before * 100:.0f} to {percent(change.recent)}"


def written_by(strategy: Strategy) -> str:
    """Return `template`, `workflow`, the name of a language model, or `by hand`. It is untrusted text.

    Empty for a strategy that came from the journal.
    """
    writer = str(strategy.metadata.get("derived_by") or BY_HAND)
    return "" if writer == JOURNAL else writer
