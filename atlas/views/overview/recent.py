"""The newest attempts and strategies in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from atlas.core.statistics import Day
from atlas.memory.system import MemorySystem
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.filters import where_of
from atlas.views.shared.wording import counted, day_text

N_DAYS = 7
"""Number of days that count as recent, the last one included."""


@dataclass(frozen=True, slots=True)
class Recent:
    """The newest records of a memory."""

    sentence: str
    """`Last 7 days: 24 attempts by 3 agents, 1 new strategy`. Trusted text."""

    since: date
    """The first of these days, in UTC."""


def recent(memory: MemorySystem, days: Sequence[Day], today: date) -> Recent | None:
    """Return what is new in the last week, or in the week that ends with the newest attempt if that is longer ago.

    Args:
        days: The days with attempts, in order.
        today: The present day, in UTC.
    """
    if not days:
        return None
    newest = days[-1].on
    is_current = (today - newest).days < N_DAYS
    last_day = today if is_current else newest
    since = date.fromordinal(max(1, last_day.toordinal() - N_DAYS + 1))
    where = where_of(EXPERIENCE.filters, {"since": since, "until": last_day})
    attempts = _attempts_text(memory.experience.count(where), memory.experience.values("agent_id", where))
    n_strategies = memory.strategies.count({"created_at": where["created_at"]})
    strategies = f", {counted(n_strategies, 'new strategy')}" if n_strategies else ""
    period = f"Last {N_DAYS} days" if is_current else f"{N_DAYS} days to {day_text(newest)}"
    return Recent(f"{period}: {attempts}{strategies}", since)


def _attempts_text(n_attempts: int, n_by_agent: Mapping[str, int]) -> str:
    """Return `24 attempts by 3 agents`, or `24 attempts, 7 of them by 1 agent` if the others name none."""
    n_named = sum(n_by_agent.values())
    agents = f"by {counted(len(n_by_agent), 'agent')}"
    if not n_named:
        return counted(n_attempts, "attempt")
    return f"{counted(n_attempts, 'attempt')}{f', {n_named:,} of them' if n_named < n_attempts else ''} {agents}"
