"""The domains of a map, the weakest first, with their sizes, rates and tasks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from atlas.core.statistics import SuccessRate
from atlas.maps.map import Domain, MemoryMap
from atlas.views.kinds.columns import Column
from atlas.views.kinds.experience import OUTCOME, TASK
from atlas.views.lists.queries import Row
from atlas.views.map.colours import Categories
from atlas.views.map.points import Points
from atlas.views.shared.rates import interval_text, rate_text, share_for_order, weak_groups_sentence
from atlas.views.shared.wording import OUTCOMES, counted, outcome_labels, percent

MEMBERS_IN_RADIUS = 0.95
"""Share of a domain's members that are in view when the map shows the domain."""

MAX_MEMBERS = 200
"""Maximum number of members whose tasks are read for the list of a domain's tasks."""

LISTED = 4
"""Maximum number of tasks in each list of a domain's tasks."""

FAILED = 1
"""Number of the outcome `failed` in `OUTCOMES`."""

NAMES_HELP = (
    "The name of a domain is made of words that its tasks share and the other tasks do not. Open a domain to rename it."
)

DOMAIN_COLUMNS = (
    Column("name", "Domain", 120),
    Column(
        "rate",
        "Succeeded",
        96,
        "meter",
        "Of the attempts whose outcome is known. The true rate lies in the likely range with a probability of 95%. The "
        "line across each bar is the average. Red is clearly below it: even the upper end of that range is",
    ),
)
TASK_COLUMNS = (OUTCOME, TASK)
RANK_COLUMNS = (Column("rank", "", 16, "number"), OUTCOME, TASK)


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainRow:
    """One domain with its success rate."""

    number: int
    name: str
    """Name of the domain. Untrusted text, unless a person chose it."""

    is_named_by_person: bool
    n: int
    rate: SuccessRate
    centre: tuple[float, float]
    radius: float
    """Distance from its centre, on the map, within which 95 of 100 members lie."""

    typical: tuple[str, ...]
    """Ids of typical experiences of the domain."""

    average: float | None = None
    """Success rate of all experiences on the map, or None if no outcome is known."""

    is_weak: bool = False
    """True if its rate is below that of all experiences, by more than chance explains."""

    suggested_by: str = ""
    """The language model that suggested the name, or empty for other names."""

    @property
    def note(self) -> str:
        """`23% succeeded` for a weak domain, `71%` for others, or empty if no outcome is known."""
        if not self.rate.n_known:
            return ""
        return f"{rate_text(self.rate)} succeeded" if self.is_weak else rate_text(self.rate)

    def as_label(self) -> dict[str, Any]:
        """Return the domain as the renderer takes it."""
        x, y = self.centre
        return {
            "x": x,
            "y": y,
            "radius": self.radius,
            "number": self.number,
            "name": self.name,
            "note": self.note,
            "weak": self.is_weak,
        }

    def as_line(self) -> Row:
        """Return the domain as a table shows it."""
        n_known = self.rate.n_known
        text = f"{rate_text(self.rate)} of {n_known:,}\nlikely {interval_text(self.rate)}" if n_known else "–"
        return DomainLine(
            id=str(self.number),
            name=self.name,
            rate={"share": self.rate.share, "text": text, "weak": self.is_weak, "tick": self.average},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainLine(Row):
    """One domain in the table beside the map."""

    name: str
    rate: Mapping[str, Any]
    """Its success rate as a share and as text, and whether it is weak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine(Row):
    """One task in a list beside the map. Tasks that differ in numbers alone are one."""

    outcomes: tuple[str, ...]
    """Labels of its attempts, as `outcome_labels` returns them."""

    task: str
    """Untrusted text."""

    rank: int = 0
    """Rank as an answer to the question, from 1, or 0 where nothing is asked."""


@dataclass(frozen=True, slots=True)
class DomainTasks:
    """Tasks of a domain."""

    failing: tuple[TaskLine, ...]
    """Tasks that failed most, if there are any."""

    typical: tuple[TaskLine, ...]
    """Other tasks, the most typical first."""


def domain_rows(memory_map: MemoryMap, outcomes: Categories) -> tuple[DomainRow, ...]:
    """Return the domains: those clearly below average, then the others, each part the lowest success rate first.

    Domains of which no outcome is known come last.
    """
    average = success_rate(outcomes).share
    rows = [_domain_row(memory_map, outcomes, domain, average) for domain in memory_map.domains]
    return tuple(sorted(rows, key=lambda row: (not row.is_weak, share_for_order(row.rate), -row.n, row.name)))


def domains_caption(memory_map: MemoryMap) -> str:
    """Return `12 domains · 4% in no domain`, or an empty string for a sketch, which has no domains."""
    if memory_map.is_sketch:
        return "not found yet"
    return f"{counted(len(memory_map.domains), 'domain')} · {percent(memory_map.share_unclustered)} in no domain"


def weak_sentence(rows: Sequence[DomainRow], average: SuccessRate) -> str:
    """Return how many domains do clearly worse than the average, such as `2 of 9 domains …`."""
    return weak_groups_sentence(sum(row.is_weak for row in rows), counted(len(rows), "domain"), average)


def no_domains_sentence(memory_map: MemoryMap) -> str:
    """Return why no domain is listed."""
    if memory_map.is_sketch:
        return "This is a first sketch. Domains are found as soon as the map is made, in the background."
    return "No domains stand out. A memory shows some when it has a few dozen experiences of several kinds."


def domain_sentence(row: DomainRow, average: SuccessRate) -> str:
    """Return the numbers behind a domain's success rate, and who named it.

    `19 of 20 experiences with a known outcome · likely 11–41% · average 65% · automatic name`.
    """
    if row.rate.n_known:
        parts = [f"{row.rate.n_known:,} of {counted(row.n, 'experience')} with a known outcome"]
        parts += [f"likely {interval_text(row.rate)}", f"average {rate_text(average)}"]
    else:
        parts = [f"{counted(row.n, 'experience')} of unknown outcome"]
    if not row.is_named_by_person:
        parts.append(f"name suggested by {row.suggested_by}" if row.suggested_by else "automatic name")
    return " · ".join(parts)


def members_to_show(memory_map: MemoryMap, row: DomainRow) -> list[str]:
    """Return ids of a domain's members, the most typical first, then those near its centre: at most `MAX_MEMBERS`."""
    members = np.flatnonzero(memory_map.labels == row.number)
    distances = np.linalg.norm(memory_map.coordinates[members] - np.array(row.centre, np.float32), axis=1)
    nearest = (
        memory_map.ids[number] for number in members[np.argsort(distances, kind="stable")[:MAX_MEMBERS]].tolist()
    )
    return [*dict.fromkeys([*row.typical, *nearest])][:MAX_MEMBERS]


def domain_tasks(ids: Sequence[str], points: Points, titles: Mapping[str, str]) -> DomainTasks:
    """Return the tasks of a domain.

    Args:
        ids: Experiences of the domain, the most typical first.
        points: The points of the map with their outcomes.
        titles: Titles by id. Experiences without a title are left out.
    """
    attempts = defaultdict[str, list[str]](list)
    for record_id in ids:
        if record_id in titles and record_id in points.number_by_id:
            attempts[re.sub(r"[\W\d_]+", "", titles[record_id])].append(record_id)
    groups = list(attempts.values())
    by_failures = sorted(groups, key=lambda group: -_n_excess_failures(group, points))
    failing = [group for group in by_failures if _n_excess_failures(group, points) > 0][:LISTED]
    typical = [group for group in groups if group not in failing][:LISTED]
    return DomainTasks(
        failing=tuple(_task_line(group, points, titles) for group in failing),
        typical=tuple(_task_line(group, points, titles) for group in typical),
    )


def rank_lines(ids: Sequence[str], points: Points, titles: Mapping[str, str]) -> tuple[TaskLine, ...]:
    """Return the hits of a question that are still there and on the map."""
    return tuple(
        replace(_task_line([record_id], points, titles), rank=rank)
        for rank, record_id in enumerate(ids, 1)
        if record_id in titles and record_id in points.number_by_id
    )


def _task_line(ids: Sequence[str], points: Points, titles: Mapping[str, str]) -> TaskLine:
    """Return a row for attempts at one task. It opens the first attempt that failed, or else the first."""
    outcomes = [_outcome(record_id, points) for record_id in ids]
    opened_id = next(
        (record_id for record_id, outcome in zip(ids, outcomes, strict=True) if outcome == OUTCOMES[FAILED]), ids[0]
    )
    return TaskLine(id=opened_id, outcomes=outcome_labels(outcomes), task=titles[opened_id])


def _n_excess_failures(ids: Sequence[str], points: Points) -> int:
    """Return how many more attempts failed than succeeded."""
    outcomes = [_outcome(record_id, points) for record_id in ids]
    return outcomes.count(OUTCOMES[FAILED]) - outcomes.count(OUTCOMES[0])


def sizes_offered(memory_map: MemoryMap) -> list[int]:
    """Return the choices for the minimum size of a domain, which include that of the map."""
    n_points = len(memory_map.ids)
    steps = {round(5 * 1.35**step) for step in range(40)}
    return sorted({size for size in steps if size <= max(5, n_points // 4)} | {memory_map.recipe.min_domain_size})


def _domain_row(memory_map: MemoryMap, outcomes: Categories, domain: Domain, average: float | None) -> DomainRow:
    is_member = memory_map.labels == domain.number
    rate = success_rate(outcomes[is_member])
    distances = np.linalg.norm(memory_map.coordinates[is_member] - np.array(domain.centre, np.float32), axis=1)
    return DomainRow(
        number=domain.number,
        name=domain.name,
        is_named_by_person=domain.is_named_by_person,
        n=int(is_member.sum()),
        rate=rate,
        centre=domain.centre,
        radius=float(np.quantile(distances, MEMBERS_IN_RADIUS)) if len(distances) else 0.0,
        typical=domain.typical,
        average=average,
        is_weak=rate.interval is not None and average is not None and rate.interval.high < average,
        suggested_by=domain.suggested_by,
    )


def success_rate(outcomes: Categories) -> SuccessRate:
    """Return the success rate of experiences, given the outcome of each."""
    return SuccessRate.of(dict(zip(OUTCOMES, np.bincount(outcomes, minlength=3).tolist(), strict=True)))


def _outcome(record_id: str, points: Points) -> str:
    return OUTCOMES[points.outcomes[points.number_by_id[record_id]]]
