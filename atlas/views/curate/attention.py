"""The first things that need attention: a missing backup, searches, a failing strategy, crashes, undecided cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, get_args

from atlas.evaluation.report import OwnEvaluation
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.curate.cases import Case, failing_strategies
from atlas.views.curate.decisions import kept_names
from atlas.views.curate.health import FAILING
from atlas.views.curate.queues import TITLES
from atlas.views.evaluation.strictness import OFF_TOPIC_ANSWERED
from atlas.views.evaluation.verdict import JUDGED, Verdict, figures, stricter, trade_off, verdict
from atlas.views.kinds.journal import JOURNAL, NOT_FIXED, fix_condition
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.lists.cells import POOR
from atlas.views.lists.queries import Row
from atlas.views.settings.copies import backup_state, needs_backup
from atlas.views.shared.wording import counted, day_text
from atlas.views.strategies.titles import readable_title

Severity = Literal["urgent", "important", "routine"]
"""Urgent is what may lose the store, important what makes agents worse, routine the rest. The worst is first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionRow(Row):
    """One thing that needs attention, and where it is dealt with."""

    severity: Severity
    what: str
    """Untrusted text."""

    detail: str
    """Untrusted text."""

    action: str
    """The word on the button that opens that page."""

    page: str
    """Name of the page that it opens."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """Parameters of that page's address."""


def attention(
    memory: MemorySystem,
    inbox: Sequence[Case] = (),
    *,
    n_own: int,
    now: datetime,
    search: AttentionRow | None = None,
    has_failed: bool = False,
) -> tuple[AttentionRow, ...]:
    """Return what needs attention, worst first, and nothing if all is well.

    Args:
        memory: The memories.
        inbox: The cases in the inbox of Curate.
        n_own: Number of records that are not sample data, which alone need no backup.
        now: The current time, to which a backup is compared.
        search: Result of `search_row`.
        has_failed: True if the search for near-duplicates failed.
    """
    backup = _backup(memory, now) if needs_backup(memory, n_own) else ()
    failing = tuple(_failing_strategy(memory))
    records = (*failing, *_open_crashes(memory), *_undecided(inbox, failing, has_failed))
    rows = (*backup, *filter(None, [search]), *records)
    return tuple(sorted(rows, key=lambda row: get_args(Severity).index(row.severity)))


def search_row(evaluation: OwnEvaluation, strictness: float) -> AttentionRow | None:
    """Return what a measurement finds poor, or advises to change, at the present strictness, or None for nothing."""
    judged, better = verdict(evaluation, strictness), stricter(evaluation, strictness)
    if judged is None:
        return None
    if not judged.advice:
        return _off_topic_row(evaluation, strictness, judged)
    row = AttentionRow(
        id="search",
        severity="routine" if judged.part == JUDGED else "important",
        what=judged.finding.rstrip("."),
        detail=judged.advice.rstrip("."),
        action="Adjust",
        page="evaluation",
        parameters={"evaluation_tab": judged.part} if judged.part else {},
    )
    if better is None:
        return row
    detail = f"Stricter: {better.off_topic} of them, {better.judged_right} of judged queries right"
    return replace(row, detail=detail)


def _off_topic_row(evaluation: OwnEvaluation, strictness: float, judged: Verdict) -> AttentionRow | None:
    """Return that searches answer most off-topic questions, and at what cost fewer, or None if they do not.

    It is routine, as no change is advised.
    """
    off_topic = next((row for row in figures(evaluation, strictness) if row.label == OFF_TOPIC_ANSWERED), None)
    if off_topic is None or off_topic.mark != POOR:
        return None
    trade = trade_off(evaluation, strictness)
    return AttentionRow(
        id="search",
        severity="routine",
        what=f"Search answers {off_topic.rate.text} of off-topic questions",
        detail=(trade.sentence if trade is not None else judged.finding).rstrip("."),
        action="Open",
        page="evaluation",
    )


def _failing_strategy(memory: MemorySystem) -> Iterator[AttentionRow]:
    """Yield the strategy that fails most, if one does clearly worse than the others and was not decided to stay."""
    kept_cases = kept_names(memory)
    worst = next((case.ids for case in failing_strategies(memory) if case.name not in kept_cases), ())
    for strategy in memory.strategies.get_many(worst):
        rate, uses = memory.strategies.rate(strategy.id), memory.strategies.attempts_of([strategy.id])[strategy.id]
        last_failure = next((use for use in reversed(uses) if not use.success), None)
        author = f" by {last_failure.actor}" if last_failure and last_failure.actor else ""
        yield AttentionRow(
            id="strategy",
            severity="important",
            what=f"Strategy that fails most: {readable_title(strategy.title)}",
            detail=f"{rate.n_succeeded:,} of {counted(rate.n, 'use')} succeeded"
            + (f", last failed on {day_text(last_failure.at)}{author}" if last_failure else ""),
            action="Review",
            page=STRATEGY.page,
            parameters={"id": strategy.id},
        )


def _open_crashes(memory: MemorySystem) -> Iterator[AttentionRow]:
    """Yield the number of crashes in the journal without a fix, and the day of the newest, if there are any."""
    no_fix = {"id": fix_condition(memory.journal, NOT_FIXED)}
    for newest in memory.journal.browse(no_fix, descending=True, limit=1):
        n_crashes, newest_at = memory.journal.count(no_fix), stored_instant(newest["metadata"])
        yield AttentionRow(
            id="crashes",
            severity="important",
            what=f"{counted(n_crashes, 'crash')} without a fix",
            detail=f"The newest on {day_text(newest_at)}" if newest_at else "",
            action="Open",
            page=JOURNAL.page,
            parameters={"journal_fixes": NOT_FIXED},
        )


def _undecided(inbox: Sequence[Case], failing: Sequence[AttentionRow], has_failed: bool) -> Iterator[AttentionRow]:
    """Yield the number of cases in the inbox of Curate, and that it may lack near-duplicates.

    Args:
        inbox: The cases.
        failing: The rows above on strategies that fail, which may be among the cases.
        has_failed: True if the search for near-duplicates failed.
    """
    named_ids = {row.parameters["id"] for row in failing}
    n_named = sum(case.queue == FAILING and not named_ids.isdisjoint(case.ids) for case in inbox)
    numbers = [
        f"{n_cases:,} {TITLES[queue].lower()}{f' ({n_named} named above)' if queue == FAILING and n_named else ''}"
        for queue, n_cases in Counter(case.queue for case in inbox).items()
    ]
    if has_failed:
        numbers.append("the search for near-duplicates failed")
    if numbers:
        yield AttentionRow(
            id="undecided",
            severity="routine",
            what=f"{counted(len(inbox), 'case')} to decide" if inbox else "Near-duplicates unknown",
            detail=", ".join(numbers),
            action="Decide" if inbox else "Open",
            page="curate",
        )


def _backup(memory: MemorySystem, now: datetime) -> Iterator[AttentionRow]:
    """Yield that the store has no backup, or that its newest one is old."""
    backup = backup_state(memory, now)
    if backup.made_at is None:
        yield _settings_row("urgent", "No backup", "If this disk fails, the store is lost")
    elif backup.is_outdated:
        finding = f"Last backup {counted((now - backup.made_at).days, 'day')} ago"
        yield _settings_row("important", finding, "The store has changed since")


def _settings_row(severity: Severity, finding: str, detail: str) -> AttentionRow:
    return AttentionRow(id="backup", severity=severity, what=finding, detail=detail, action="Back up", page="settings",
                        parameters={"settings_tab": "Export and backup"})  # fmt: skip
