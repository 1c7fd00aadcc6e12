"""The domains of a map, lowest success rate first, with their sizes, rates and typical records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atlas.core.statistics import SuccessRate
from atlas.maps.map import Domain, MemoryMap
from atlas.views.map.colours import Categories
from atlas.views.map.points import Points
from atlas.views.shared.rates import rate_sentence, rate_text
from atlas.views.shared.wording import OUTCOMES, SIGNS, counted, percent, shortened

TASK_CHARACTERS = 80
"""Maximum characters of a task in a row beside the map."""


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
    """Median distance of its members from its centre, on the map."""

    typical: tuple[str, ...]
    """Ids of typical experiences of the domain."""

    suggested_by: str = ""
    """The language model that suggested the name, or empty for other names."""

    @property
    def note(self) -> str:
        """`23 % succeeded`, or empty if no outcome is known."""
        return f"{rate_text(self.rate)} succeeded" if self.rate.n_known else ""

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
        }

    def as_line(self) -> dict[str, Any]:
        """Return the domain as a table shows it."""
        return {
            "name": self.name,
            "n": self.n,
            "succeeded": f"{rate_text(self.rate)} of {self.rate.n_known:,}" if self.rate.n_known else "–",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TypicalLine:
    """One experience that is typical of a domain."""

    id: str
    outcome: str
    """`✓`, `✗` or `?`."""

    task: str
    """How the task begins. Untrusted text."""


def domain_rows(memory_map: MemoryMap, outcomes: Categories) -> tuple[DomainRow, ...]:
    """Return the domains, sorted by the upper bound of their success rate's interval."""
    rows = [_row(memory_map, outcomes, domain) for domain in memory_map.domains]
    return tuple(sorted(rows, key=lambda row: (_most_hopeful(row.rate), -row.n, row.name)))


def domains_caption(memory_map: MemoryMap) -> str:
    """Return `12 domains · 4 % unclustered`, or an empty string for a sketch, which has no domains."""
    if memory_map.is_sketch:
        return "not found yet"
    return f"{counted(len(memory_map.domains), 'domain')} · {percent(memory_map.share_unclustered)} unclustered"


def no_domains_sentence(memory_map: MemoryMap) -> str:
    """Return why no domain is listed."""
    if memory_map.is_sketch:
        return "This is a first sketch. Domains are found as soon as the map is made, in the background."
    return "No domains stand out. A memory shows some when it has a few dozen experiences of several kinds."


def domain_sentence(row: DomainRow) -> str:
    """Return `48 experiences · 23 % succeeded (11–41 %, 30 of known outcome)`, and who suggested the name, if any.

    Experiences of unknown outcome are among the first number, and not in the rate.
    """
    suggested = f" · name suggested by {row.suggested_by}" if row.suggested_by else ""
    return f"{counted(row.n, 'experience')} · {rate_sentence(row.rate)}{suggested}"


def typical_lines(row: DomainRow, points: Points, titles: Mapping[str, str]) -> tuple[TypicalLine, ...]:
    """Return the typical experiences of a domain that are still there."""
    ids = [record_id for record_id in row.typical if record_id in titles and record_id in points.number_by_id]
    return tuple(
        TypicalLine(id=record_id, outcome=_sign(record_id, points), task=shortened(titles[record_id], TASK_CHARACTERS))
        for record_id in ids
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLine:
    """One experience that a question found."""

    id: str
    rank: int
    """From 1, which is best."""

    outcome: str
    """`✓`, `✗` or `?`."""

    task: str
    """How the task begins. Untrusted text."""


def rank_lines(ids: Sequence[str], points: Points, titles: Mapping[str, str]) -> tuple[RankLine, ...]:
    """Return the hits of a question that are still there and on the map."""
    return tuple(
        RankLine(
            id=record_id,
            rank=rank,
            outcome=_sign(record_id, points),
            task=shortened(titles[record_id], TASK_CHARACTERS),
        )
        for rank, record_id in enumerate(ids, 1)
        if record_id in titles and record_id in points.number_by_id
    )


def sizes_offered(memory_map: MemoryMap) -> list[int]:
    """Return the choices for the smallest domain: the map's own, and steps around it."""
    n = len(memory_map.ids)
    steps = {round(5 * 1.35**step) for step in range(40)}
    return sorted({size for size in steps if size <= max(5, n // 4)} | {memory_map.recipe.min_domain_size})


def _row(memory_map: MemoryMap, outcomes: Categories, domain: Domain) -> DomainRow:
    inside = memory_map.labels == domain.number
    counts = np.bincount(outcomes[inside], minlength=3).tolist()
    apart = np.linalg.norm(memory_map.coordinates[inside] - np.array(domain.centre, np.float32), axis=1)
    return DomainRow(
        number=domain.number,
        name=domain.name,
        is_named_by_person=domain.is_named_by_person,
        n=int(inside.sum()),
        rate=SuccessRate.of(dict(zip(OUTCOMES, counts, strict=True))),
        centre=domain.centre,
        radius=float(np.median(apart)) if len(apart) else 0.0,
        typical=domain.typical,
        suggested_by=domain.suggested_by,
    )


def _sign(record_id: str, points: Points) -> str:
    return SIGNS[OUTCOMES[points.outcomes[points.number_by_id[record_id]]]]


def _most_hopeful(rate: SuccessRate) -> float:
    return rate.interval.high if rate.interval else 2.0
