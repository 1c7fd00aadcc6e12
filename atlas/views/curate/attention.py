"""The first things that need attention: a missing backup, searches, a failing strategy, crashes, undecided cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from atlas.evaluation.report import OwnEvaluation
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.curate.cases import failing_strategies
from atlas.views.curate.queues import TITLES
from atlas.views.evaluation.verdict import JUDGED, stricter, verdict
from atlas.views.kinds.journal import JOURNAL, NOT_FIXED, fix_condition
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.lists.queries import Row
from atlas.views.settings.copies import backup_state, needs_backup
from atlas.views.shared.wording import counted, day_text
from atlas.views.strategies.titles import readable_title

Severity = Literal["urgent", "important", "routine"]
"""Urgent is what may lose the store, important what makes agents worse, routine the rest."""


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

    next_step: str
    """The act that deals with it, as the end of a sentence: `back up the store`. Trusted text."""

    page: str
    """Name of the page that it opens."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """Parameters of that page's address."""


def attention(
    memory: MemorySystem,
    waiting: Mapping[str, int],
    *,
    n_own: int,
    now: datetime,
    search: AttentionRow | None = None,
    has_failed: bool = False,
) -> tuple[AttentionRow, ...]:
    """Return what needs attention, worst first, and nothing if all is well.

    Args:
        memory: The memories.
        waiting: Numbers of the cases in the inbox of Curate, by queue.
        n_own: Number of records that are not sample data, which alone need no backup.
        now: The current time, to which a backup is compared.
        search: Result of `search_row`.
        has_failed: True if the search for near-duplicates failed.
    """
    backup = _backup(memory, now) if needs_backup(memory, n_own) else ()
    records = (*_failing_strategy(memory), *_open_crashes(memory), *_undecided(waiting, has_failed))
    return (*backup, *filter(None, [search]), *records)


def search_row(evaluation: OwnEvaluation, strictness: float) -> AttentionRow | None:
    """Return what a measurement advises to change about searches at the present strictness, or None for nothing."""
    judged, better = verdict(evaluation, strictness), stricter(evaluation, strictness)
    if judged is None or not judged.advice:
        return None
    row = AttentionRow(
        id="search",
        severity="routine" if judged.part == JUDGED else "important",
        what=judged.finding.rstrip("."),
        detail=judged.advice.rstrip("."),
        action="Adjust",
        next_step=judged.advice.rstrip(".").replace(" it ", " search ").lower(),
        page="evaluation",
        parameters={"evaluation_tab": judged.part} if judged.part else {},
    )
    if better is None:
        return row
    detail = f"Stricter: {better.off_topic} of them, {better.judged_right} of judged queries right"
    return replace(row, detail=detail)


def _failing_strategy(memory: MemorySystem) -> Iterator[AttentionRow]:
    """Yield the strategy that fails most, if one does clearly worse than the others."""
    for strategy in memory.strategies.get_many(failing_strategies(memory)[:1]):
        rate, uses = memory.strategies.rate(strategy.id), memory.strategies.attempts_of([strategy.id])[strategy.id]
        last = next((use for use in reversed(uses) if not use.success), None)
        by = f" by {last.actor}" if last and last.actor else ""
        yield AttentionRow(
            id="strategy",
            severity="important",
            what=f"Strategy that fails most: {readable_title(strategy.title)}",
            detail=f"{rate.n_succeeded:,} of {counted(rate.n, 'use')} succeeded"
            + (f", last failed on {day_text(last.at)}{by}" if last else ""),
            action="Review",
            next_step="review the strategy that fails most",
            page=STRATEGY.page,
            parameters={"id": strategy.id},
        )


def _open_crashes(memory: MemorySystem) -> Iterator[AttentionRow]:
    """Yield the number of crashes in the journal without a fix, and the day of the newest, if there are any."""
    where = {"id": fix_condition(memory.journal, NOT_FIXED)}
    for newest in memory.journal.browse(where, descending=True, limit=1):
        n, at = memory.journal.count(where), stored_instant(newest["metadata"])
        crashes = f"{counted(n, 'crash')} without a fix"
        yield AttentionRow(
            id="crashes",
            severity="important",
            what=crashes,
            detail=f"newest {day_text(at)}" if at else "",
            action="Open",
            next_step=f"look at {crashes}",
            page=JOURNAL.page,
            parameters={"journal_fixes": NOT_FIXED},
        )


def _undecided(waiting: Mapping[str, int], has_failed: bool) -> Iterator[AttentionRow]:
    """Yield the number of cases in the inbox of Curate, and that it may lack near-duplicates."""
    numbers = [f"{n:,} {TITLES[queue].lower()}" for queue, n in waiting.items()]
    if has_failed:
        numbers.append("the search for near-duplicates failed")
    if numbers:
        cases = counted(sum(waiting.values()), "case")
        yield AttentionRow(
            id="undecided",
            severity="routine",
            what=f"{cases} to decide" if waiting else "Near-duplicates unknown",
            detail=", ".join(numbers),
            action="Decide" if waiting else "Open",
            next_step=f"decide {cases} in Curate" if waiting else "look for near-duplicates in Curate",
            page="curate",
        )


def _backup(memory: MemorySystem, now: datetime) -> Iterator[AttentionRow]:
    """Yield that the store has no backup, or that its newest one is old."""
    backup = backup_state(memory, now)
    if backup.made_at is None:
        yield _settings_row("urgent", "No backup", "If this disk fails, the store is lost")
    elif backup.is_outdated:
        what = f"Last backup {counted((now - backup.made_at).days, 'day')} ago"
        yield _settings_row("important", what, "The store has changed since")


def _settings_row(severity: Severity, what: str, detail: str) -> AttentionRow:
    return AttentionRow(id="backup", severity=severity, what=what, detail=detail, action="Back up", page="settings",
                        next_step="back up the store",
                        parameters={"settings_tab": "Export and backup"})  # fmt: skip
