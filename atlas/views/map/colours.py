"""Colours of the map's points: each value becomes a few categories that a legend can list."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.maps.map import UNCLUSTERED, Domain, MemoryMap
from atlas.views.charts.palette import PALETTE
from atlas.views.shared.wording import OUTCOMES, UNKNOWN_VALUE

WEAK_DOMAINS, DOMAIN = "Weak domains", "Domain"
OUTCOME, AGE, USE, AGENT, SOURCE = "Outcome", "Age", "Use", "Agent", "Source"

COLUMNS: Mapping[str, str] = {
    OUTCOME: "outcome",
    AGE: "created_at",
    USE: "usage.n_retrieved",
    AGENT: "agent_id",
    SOURCE: "source",
}
"""Columns of the colour values. Domains are read from the map."""

COLOURED_BY = (WEAK_DOMAINS, DOMAIN, *COLUMNS)
"""Selectable colours. The first is the default."""

ENTRIES = 64
"""Maximum number of legend entries. The smallest are combined."""

GREY, RED, NEUTRAL = -1, -2, -3
"""Colours outside the theme's categorical ones: for no value, for trouble, and for all that is as usual."""

OTHERS = "(all others)"
NO_DOMAIN = "In no domain"

AGES = ((1, "last day"), (7, "last week"), (30, "last month"), (90, "last quarter"), (365, "last year"))
"""Days before the newest record, and the words for them."""

USES = ((0, "never retrieved"), (1, "once"), (4, "2–4 times"), (19, "5–19 times"))

MIN_GAIN = 0.05
"""Smallest gain for which two domains swap colours. 1 is the cost of two domains with one hue at one place."""

Categories = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a legend."""

    name: str
    """May be untrusted text."""

    n: int
    colour: int | None = None
    """The index in the theme's categorical colours, or `GREY`, `RED` or `NEUTRAL`."""

    shade: float | None = None
    """In [0, 1], where entries have an order."""

    domain: int = UNCLUSTERED
    """The number of the domain that it stands for, or `UNCLUSTERED`."""

    is_hollow: bool = False
    """True if its points are drawn as outlines, because they are in no domain."""

    def as_json(self) -> dict[str, Any]:
        """Return the entry as the renderer takes it."""
        paint = {"shade": self.shade} if self.shade is not None else {"colour": self.colour}
        return {"name": self.name, "n": self.n, "hollow": self.is_hollow, **paint}


@dataclass(frozen=True, slots=True, kw_only=True)
class Colouring:
    """The value that each point is coloured by."""

    title: str
    entries: tuple[Entry, ...]
    category: Categories
    """Shape (n,): the number of each point's entry."""

    has_shapes: bool = False
    """True if the entries are the outcomes, which have distinct shapes."""


def by_weakness(memory_map: MemoryMap, weak: Collection[int]) -> Colouring:
    """Return red for the weak domains and one neutral colour for the others, so that only the weak ones stand out.

    Args:
        weak: Numbers of the weak domains.
    """
    labels = memory_map.labels
    if not memory_map.domains:
        entry = Entry(name="Experiences", n=len(labels), colour=NEUTRAL)
        return Colouring(title=WEAK_DOMAINS, entries=(entry,), category=np.zeros(len(labels), np.uint8))
    category = np.where(labels == UNCLUSTERED, 2, np.where(np.isin(labels, list(weak)), 0, 1)).astype(np.uint8)
    counts = np.bincount(category, minlength=3).tolist()
    names, colours = (WEAK_DOMAINS, "Other domains", NO_DOMAIN), (RED, NEUTRAL, GREY)
    entries = (Entry(name=names[i], n=counts[i], colour=colours[i], is_hollow=i == 2) for i in range(3))
    return _without_empty(Colouring(title=WEAK_DOMAINS, entries=tuple(entries), category=category))


def by_domain(memory_map: MemoryMap) -> Colouring:
    """Return a colour for each domain. Outliers and the smallest domains are grey."""
    coloured_domains = memory_map.domains[: ENTRIES - 1]
    colours = domain_colours(coloured_domains)
    index_by_domain = {domain.number: index for index, domain in enumerate(coloured_domains)}
    rest_index = len(coloured_domains)
    category = np.array([index_by_domain.get(label, rest_index) for label in memory_map.labels.tolist()], np.uint8)
    entries = [Entry(name=d.name, n=d.n, colour=colours[d.number], domain=d.number) for d in coloured_domains]
    n_others = int((category == rest_index).sum())
    n_unclustered = int((memory_map.labels == UNCLUSTERED).sum())
    if n_others:
        name = NO_DOMAIN if n_others == n_unclustered else "In no domain or a smaller one"
        entries.append(Entry(name=name, n=n_others, colour=GREY, is_hollow=bool(coloured_domains)))
    return Colouring(title=DOMAIN, entries=tuple(entries), category=category)


def domain_colours(domains: Sequence[Domain]) -> dict[int, int]:
    """Return a colour for each domain, keyed by its number. Domains that are close on the map differ in hue.

    Colours are first given in the order of the numbers, which later maps keep. Then pairs of domains swap colours, as
    long as a swap moves similar hues apart.
    """
    in_order = sorted(domains, key=lambda domain: domain.number)
    colours = list(range(len(in_order)))
    nearness = _pairwise_nearness(in_order) if len(in_order) > 1 else None
    while nearness is not None and (swap := _best_swap(nearness, colours)):
        left, right = swap
        colours[left], colours[right] = colours[right], colours[left]
    return {domain.number: colour for domain, colour in zip(in_order, colours, strict=True)}


def _pairwise_nearness(domains: Sequence[Domain]) -> npt.NDArray[np.float64]:
    """Return how near each pair of domains is: 1 at the same place, near 0 for distant ones, and 0 on the diagonal."""
    centres = np.array([domain.centre for domain in domains], np.float64)
    distances = np.linalg.norm(centres[:, None] - centres, axis=2)
    np.fill_diagonal(distances, np.inf)
    typical_distance = float(np.median(distances.min(axis=1)))
    nearness: npt.NDArray[np.float64] = np.exp(-distances / max(typical_distance, 1e-9))
    return nearness


def _best_swap(nearness: npt.NDArray[np.float64], colours: Sequence[int]) -> tuple[int, int] | None:
    """Return the two domains whose swap of colours moves similar hues apart most, or None if no swap does."""
    palette_indices = np.array(colours) % len(PALETTE)
    similarity = _HUE_SIMILARITY[np.ix_(palette_indices, palette_indices)]
    costs = nearness @ similarity  # of each domain, in the colour of each other domain
    present = np.diag(costs)
    gains = present[:, None] + present - costs - costs.T - 2 * nearness * (similarity - 1)
    left, right = divmod(int(gains.argmax()), len(palette_indices))
    return (left, right) if gains[left, right] > MIN_GAIN else None


def _hue_similarity() -> npt.NDArray[np.float64]:
    """Return how similar the hues of each pair of colours are: 1 for the same hue, 0 for opposite hues."""
    rgb_values = [[int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)] for colour in PALETTE]
    hues = np.array([colorsys.rgb_to_hls(*rgb)[0] for rgb in rgb_values])
    differences = np.abs(hues[:, None] - hues)
    similarity: npt.NDArray[np.float64] = (1 - 2 * np.minimum(differences, 1 - differences)) ** 2
    return similarity


_HUE_SIMILARITY = _hue_similarity()


def by_outcome(outcomes: Categories) -> Colouring:
    """Return blue, red and grey, each with a distinct shape for colour-blind people."""
    counts = np.bincount(outcomes, minlength=3)
    colours = (0, RED, GREY)
    entries = (Entry(name=name, n=int(counts[i]), colour=colours[i]) for i, name in enumerate(OUTCOMES))
    return Colouring(title=OUTCOME, entries=tuple(entries), category=outcomes, has_shapes=True)


def by_value(title: str, values: Sequence[Any]) -> Colouring:
    """Return a colour for each of the most frequent values. None and rare values are grey."""
    counts = Counter(str(value) for value in values if value not in (None, ""))
    frequent = [name for name, _ in counts.most_common(ENTRIES - 2)]
    index_by_value = {name: index for index, name in enumerate(frequent)}
    others_index, missing_index = len(frequent), len(frequent) + 1
    indices = (
        missing_index if value in (None, "") else index_by_value.get(str(value), others_index) for value in values
    )
    category = np.fromiter(indices, np.uint8, len(values))
    n_by_index = np.bincount(category, minlength=missing_index + 1)
    entries = [Entry(name=name, n=counts[name], colour=index) for index, name in enumerate(frequent)]
    entries += [
        Entry(name=name, n=int(n_by_index[index]), colour=GREY)
        for name, index in ((OTHERS, others_index), (UNKNOWN_VALUE, missing_index))
    ]
    return _without_empty(Colouring(title=title, entries=tuple(entries), category=category))


def by_age(created_at: Sequence[str | None]) -> Colouring:
    """Return colours from old, which is faint, to new. Days are counted back from the newest record."""
    days = np.array([_day(text) for text in created_at], np.float64)
    newest = days.max(initial=0.0)
    bounds = [bound for bound, _ in AGES]
    age_groups = np.searchsorted(bounds, newest - days, side="left")
    names = [*(name for _, name in AGES), "older"]
    return _shaded(AGE, names, age_groups, is_rising=False)


def by_use(retrieval_counts: Sequence[int | None]) -> Colouring:
    """Return colours from never retrieved, which is faint, to often."""
    counts = np.array([count or 0 for count in retrieval_counts], np.int64)
    use_groups = np.searchsorted([bound for bound, _ in USES], counts, side="left")
    return _shaded(USE, [*(name for _, name in USES), "20 times or more"], use_groups, is_rising=True)


def _shaded(title: str, names: Sequence[str], groups: npt.NDArray[Any], *, is_rising: bool) -> Colouring:
    """Return a shade for each group of points, from faint to strong, or from strong to faint.

    Args:
        groups: Index in `names` of each point's group.
    """
    counts, max_index = np.bincount(groups, minlength=len(names)), len(names) - 1
    shades = [index / max_index if is_rising else 1 - index / max_index for index in range(len(names))]
    entries = tuple(Entry(name=name, n=int(counts[i]), shade=shades[i]) for i, name in enumerate(names))
    return _without_empty(Colouring(title=title, entries=entries, category=groups.astype(np.uint8)))


def _without_empty(colouring: Colouring) -> Colouring:
    filled = [index for index, entry in enumerate(colouring.entries) if entry.n]
    new_indices = np.zeros(len(colouring.entries) + 1, np.uint8)
    new_indices[filled] = np.arange(len(filled))
    return Colouring(
        title=colouring.title,
        entries=tuple(colouring.entries[index] for index in filled),
        category=new_indices[colouring.category],
    )


def _day(text: str | None) -> float:
    try:
        return datetime.fromisoformat(text or "").astimezone(UTC).timestamp() / 86_400
    except (ValueError, OverflowError):
        return 0.0
