"""Health: figures that Overview lists and Curate opens, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from atlas.core.statistics import SuccessRate
from atlas.maps.hygiene import is_failing, rates_by_group
from atlas.maps.map import MemoryMap
from atlas.memory.base.unused import Idle, find_idle
from atlas.memory.system import MemorySystem
from atlas.views.shared.rates import interval_text, share_for_order

DUPLICATES, FAILING, NEVER, STALE, UNKNOWN, BURIED = "duplicates", "failing", "never", "stale", "unknown", "buried"
QUEUES = (DUPLICATES, FAILING, NEVER, STALE, UNKNOWN, BURIED)
"""The queues on Curate, by their names in an address."""

DOMAIN_ORDER = (
    "Red ones come first: they are clearly below the average, even the upper end of their likely range. Then the "
    "lowest success rate first. The range counts each attempt, so it is too narrow where many are at the same task."
)
"""Order in which pages list domains."""

NEVER_DAYS = 30
"""Days after which a record counts as never retrieved."""

MAX_FAILED = 5
"""Most attempts of a failing domain that are shown as examples."""

STALE_DAYS = 180
UNUSED_DAYS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainLine:
    """How the attempts in one domain of the map went."""

    number: int
    name: str
    """Untrusted text."""

    n: int
    n_known: int
    """Attempts whose outcome is known."""

    n_tasks: int
    """Tasks of these attempts. An attempt without a task counts as one."""

    percent_succeeded: float | None
    """Percentage of successes among the known outcomes, in [0, 100], or None without any."""

    interval: str
    is_failing: bool
    """True if it does clearly worse than the whole memory."""

    verdict: str
    """Words of our own for a failing domain, or empty for others."""

    failed: tuple[str, ...] = ()
    """Ids of some attempts that failed, if it is failing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The records that could be curated, as the store is now."""

    rate: SuccessRate
    """Success rate of all experiences."""

    domains: tuple[DomainLine, ...]
    """Domains of the map, worst first."""

    never_used: tuple[str, ...]
    """Ids of experiences that no search has found, longest stored first."""

    stale: tuple[str, ...]
    """Ids of old experiences that were not retrieved or used lately, oldest first."""

    n_unknown: int
    n_buried: int

    @property
    def failing(self) -> tuple[DomainLine, ...]:
        """The domains that do clearly worse than the whole."""
        return tuple(row for row in self.domains if row.is_failing)


def health(memory: MemorySystem, memory_map: MemoryMap | None, now: datetime) -> Health:
    """Return the figures of a memory.

    Args:
        memory_map: The source of its domains; without it there are no domains.
        now: The current time, from which days are counted back.
    """
    experience = memory.experience
    stored_at = experience.column("stored_at")
    rate = SuccessRate.of(experience.values("outcome"))
    return Health(
        rate=rate,
        domains=domain_lines(memory, memory_map),
        never_used=_oldest_first(_idle_records(memory, stored_at, now, NEVER_DAYS).never_used, stored_at),
        stale=_stale_ids(memory, stored_at, now),
        n_unknown=rate.n_unknown,
        n_buried=experience.count({"marks.buried": True}),
    )


def _idle_records(memory: MemorySystem, stored_at: Mapping[str, str], now: datetime, days: int) -> Idle:
    """Return the records that were not retrieved or used in the last `days` days."""
    retrieved_at, used_at = (
        memory.experience.column(f"usage.{name}") for name in ("last_retrieved_at", "last_used_at")
    )
    return find_idle(stored_at, retrieved_at, used_at, until=now - timedelta(days=days))


def _stale_ids(memory: MemorySystem, stored_at: Mapping[str, str], now: datetime) -> tuple[str, ...]:
    unused_before, attempted_before = _stored_time_before(now, UNUSED_DAYS), _stored_time_before(now, STALE_DAYS)
    if not any(time < unused_before for time in stored_at.values()):
        return ()  # the store is too young: the columns need not be read
    idle, created_at = _idle_records(memory, stored_at, now, UNUSED_DAYS), memory.experience.column("created_at")
    stale_ids = [
        record_id
        for record_id in (*idle.never_used, *idle.no_longer_used)
        if record_id in created_at and created_at[record_id] < attempted_before
    ]
    return _oldest_first(stale_ids, created_at)


def _oldest_first(ids: Sequence[str], times: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda record_id: (times[record_id], record_id)))


def domain_lines(memory: MemorySystem, memory_map: MemoryMap | None) -> tuple[DomainLine, ...]:
    """Return the domains of a map, the lowest success rate first. None without a map."""
    if memory_map is None or not memory_map.domains:
        return ()
    outcomes = memory.experience.column("outcome")
    labels = dict(zip(memory_map.ids, memory_map.labels.tolist(), strict=True))
    rates, average = rates_by_group(labels, outcomes), SuccessRate.of(memory.experience.values("outcome"))
    names = {domain.number: domain.name for domain in memory_map.domains}
    in_order = sorted(
        names.keys() & rates, key=lambda number: (share_for_order(rates[number]), -rates[number].n, number)
    )
    tasks = _n_tasks(labels, outcomes, memory.experience.column("task_id"))
    lines = (_domain_line(number, names[number], rates[number], average, tasks[number]) for number in in_order)
    return tuple(replace(line, failed=_failed_ids(line.number, labels, outcomes)) if line.is_failing else line
                 for line in lines)  # fmt: skip


def _n_tasks(labels: Mapping[str, int], outcomes: Mapping[str, str], task_ids: Mapping[str, str]) -> Mapping[int, int]:
    """Return the number of tasks of each domain's attempts with a known outcome."""
    tasks = {
        (labels[record_id], task_ids.get(record_id) or record_id)
        for record_id, outcome in outcomes.items()
        if outcome != "unknown" and record_id in labels
    }
    return Counter(label for label, _ in tasks)


def _failed_ids(number: int, labels: Mapping[str, int], outcomes: Mapping[str, str]) -> tuple[str, ...]:
    members = (record_id for record_id, label in labels.items() if label == number)
    return tuple(islice((record_id for record_id in members if outcomes.get(record_id) == "failed"), MAX_FAILED))


def _domain_line(number: int, name: str, rate: SuccessRate, average: SuccessRate, n_tasks: int) -> DomainLine:
    is_weak = is_failing(rate, average)
    return DomainLine(
        number=number,
        name=name,
        n=rate.n,
        n_known=rate.n_known,
        n_tasks=n_tasks,
        percent_succeeded=None if rate.share is None else 100 * rate.share,
        interval=interval_text(rate),
        is_failing=is_weak,
        verdict="clearly below the average" if is_weak else "",
    )


def _stored_time_before(now: datetime, days: int) -> str:
    return (now - timedelta(days=days)).isoformat()
