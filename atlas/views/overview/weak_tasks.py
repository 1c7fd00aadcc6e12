"""Tasks with the lowest success rate, for stores without a map."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.statistics import SuccessRate
from atlas.maps.hygiene import worst_first
from atlas.memory.system import MemorySystem
from atlas.views.shared.rates import interval_text
from atlas.views.shared.wording import OUTCOMES

TRIED_AGAIN = 2
"""Least number of attempts with a known outcome for a task to be listed."""

SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakTask:
    """A task that went badly."""

    experience_id: str
    """One of its failed experiences, as a link target."""

    name: str
    """Untrusted text."""

    n_known: int
    """Attempts whose outcome is known."""

    percent_succeeded: float
    """Percentage of successes among the known outcomes, in [0, 100]."""

    interval: str


def weak_tasks(memory: MemorySystem) -> tuple[WeakTask, ...]:
    """Return the tasks that were tried more than once and went worst, the worst first."""
    counts = {outcome: memory.experience.values("task_id", {"outcome": outcome}) for outcome in OUTCOMES}
    tallies = {task: {outcome: counts[outcome].get(task, 0) for outcome in OUTCOMES} for task in counts["failed"]}
    rates = {task: SuccessRate.of(tally) for task, tally in tallies.items()}
    worst = worst_first({task: rate for task, rate in rates.items() if rate.n_known >= TRIED_AGAIN})[:SHOWN]
    failed_tasks = memory.experience.column("task_id", {"task_id": {"$in": list(worst)}, "outcome": "failed"})
    failed_ids = {task: experience_id for experience_id, task in failed_tasks.items()}
    titles = memory.experience.titles(list(failed_ids.values()))
    return tuple(_weak(failed_ids[task], titles.get(failed_ids[task], task), rates[task]) for task in worst)


def _weak(experience_id: str, name: str, rate: SuccessRate) -> WeakTask:
    return WeakTask(
        experience_id=experience_id,
        name=name,
        n_known=rate.n_known,
        percent_succeeded=100 * (rate.share or 0.0),
        interval=interval_text(rate),
    )
