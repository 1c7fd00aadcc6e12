"""The map page: positions, colours and marks of experiences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atlas.maps.map import UNCLUSTERED, MemoryMap
from atlas.memory.system import MemorySystem
from atlas.views.map.colours import (
    AGE,
    DOMAIN,
    GREY,
    OUTCOME,
    RED,
    USE,
    WEAK_DOMAINS,
    Colouring,
    by_age,
    by_domain,
    by_outcome,
    by_use,
    by_value,
    by_weakness,
)
from atlas.views.map.domains import DomainRow
from atlas.views.map.packets import mask_text, pack
from atlas.views.map.points import Points
from atlas.views.shared.rates import rate_text
from atlas.views.shared.scope import BEST_MATCH, Scope
from atlas.views.shared.wording import counted, percent

MAX_HITS = 50
"""Hits of a search that the map marks."""

QUERY_HITS = 8
"""Number of nearest hits that determine the query's position."""

NEIGHBOURS = 8
MAX_LABELS = 255
NO_LABEL = 255
"""Slot of points whose domain has no label. It is one more than the last slot."""

WORST = 3
"""Number of worst domains, whose labels take precedence."""

MIN_EXPERIENCES = 3
"""Smallest number of experiences for a map."""

SUGGESTED = "Over 10% of the experiences came after the map was made."
"""Reason to make a new map."""

ENGINES = {"pca": "PCA, a first sketch", "umap": "UMAP (built in)", "umap-learn": "UMAP (umap-learn)"}
"""Engines that may have laid out a map, in words."""

REFIT_ENGINES = {name: ENGINES[name] for name in ("umap", "umap-learn")}
"""Selectable engines for a new map. The first is the default."""

ENGINE_HELP = (
    "Both draw the same kind of map. The built-in one starts at once; umap-learn compiles itself first, "
    "which takes up to a minute in each new process."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """The hits of a question, as points on the map."""

    ids: tuple[str, ...] = ()
    """Ids of the hits, best first."""

    similarities: tuple[float, ...] = ()
    """Similarity of each hit to the question, or empty for a keyword search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The marks on the map for this person."""

    asked: str = ""
    """The question whose hits are marked: untrusted text."""

    inside: Sequence[str] | None = None
    """Ids in scope, or None if all are."""

    chosen: Sequence[str] = ()
    """Ids of the selection."""

    hits: Hits = Hits()
    opened: str | None = None
    """The experience beside the map."""

    neighbours: Sequence[str] = ()
    """The ids nearest to it in meaning."""

    focus: tuple[DomainRow | None, int] = (None, 0)
    """Domain to zoom to, and a counter of such requests."""

    start: Mapping[str, Any] | None = None
    """The user's view of the map from the last visit."""


def colouring_of(
    memory_map: MemoryMap, points: Points, by: str, column: Mapping[str, Any], *, weak: Collection[int] = ()
) -> Colouring:
    """Return the colouring of the points.

    Args:
        memory_map: The map with the domains.
        points: Points of this map.
        by: One of `COLOURED_BY`.
        column: The values of `COLUMNS[by]` by id; unused for domains and outcomes.
        weak: Numbers of the weak domains.
    """
    values = [column.get(record_id) for record_id in points.ids]
    makers: dict[str, Callable[[], Colouring]] = {
        WEAK_DOMAINS: lambda: by_weakness(memory_map, weak),
        DOMAIN: lambda: by_domain(memory_map),
        OUTCOME: lambda: by_outcome(points.outcomes),
        AGE: lambda: by_age(values),
        USE: lambda: by_use(values),
    }
    return makers.get(by, lambda: by_value(by, values))()


def colours_packet(memory_map: MemoryMap, points: Points, colouring: Colouring, rows: Sequence[DomainRow]) -> bytes:
    """Return the colours of the points, the legend, and the labels of the domains.

    Args:
        rows: The domains, worst first.
    """
    rank_by_domain = {row.number: rank for rank, row in enumerate(rows)}
    rates = {row.number: rate_text(row.rate) for row in rows if row.rate.n_known}
    colour_by_domain = _label_colours(colouring, rows)
    labelled = [*rows[:WORST], *sorted(rows[WORST:], key=lambda row: -row.n)]
    label_slot_by_domain = {row.number: slot for slot, row in enumerate(labelled[:MAX_LABELS])}
    entries = [
        {
            **entry.as_json(),
            "rate": rates.get(entry.domain, ""),
            "label": label_slot_by_domain.get(entry.domain),
        }
        for entry in colouring.entries
    ]
    entry_ranks = [rank_by_domain.get(entry.domain, len(rows)) for entry in colouring.entries]
    layer = {
        "points": points.key,
        "title": colouring.title,
        "domains": colouring.title in (WEAK_DOMAINS, DOMAIN),
        "heading": counted(len(rows), "domain") if colouring.title == DOMAIN and rows else colouring.title,
        "shapes": colouring.has_shapes,
        "entries": entries,
        "legend": sorted(range(len(entries)), key=entry_ranks.__getitem__),
        "labels": [{**row.as_label(), "colour": colour_by_domain.get(row.number)} for row in labelled],
    }
    label_slots = [label_slot_by_domain.get(domain, NO_LABEL) for domain in memory_map.labels.tolist()]
    return pack(layer, category=colouring.category, label_of=np.array(label_slots, np.uint8))


def _label_colours(colouring: Colouring, rows: Sequence[DomainRow]) -> Mapping[int, int | None]:
    """Return the colours of the domains' names, by number. Those without one have the colour of text."""
    if colouring.title == WEAK_DOMAINS:
        return {row.number: RED for row in rows if row.is_weak}
    if colouring.title == DOMAIN:
        return dict.fromkeys((row.number for row in rows), GREY) | {
            entry.domain: entry.colour for entry in colouring.entries
        }
    return {}


def marks_packet(memory_map: MemoryMap, points: Points, marks: Marks) -> bytes:
    """Return the marks of the map as JSON values."""
    domain, turn = marks.focus
    layer = {
        "points": points.key,
        "asked": marks.asked,
        "shown": None if marks.inside is None else mask_text(points.bits_of(marks.inside)),
        "chosen": mask_text(points.bits_of(marks.chosen)) if marks.chosen else None,
        "hits": points.numbers_of(marks.hits.ids),
        "query": query_place(memory_map, points, marks.hits),
        "opened": points.number_by_id.get(marks.opened or ""),
        "neighbours": points.numbers_of(marks.neighbours),
        "focus": None if domain is None else {**domain.as_label(), "turn": turn},
        "start": marks.start,
    }
    return pack(layer)


def query_place(memory_map: MemoryMap, points: Points, hits: Hits) -> list[float] | None:
    """Return the position of a question on the map: the mean of its nearest hits, weighted by similarity, or None."""
    nearest = [
        (points.number_by_id[record_id], similarity)
        for record_id, similarity in zip(hits.ids, hits.similarities, strict=False)
        if record_id in points.number_by_id
    ]
    nearest = nearest[:QUERY_HITS]
    if not nearest:
        return None
    weights = np.exp((np.array([similarity for _, similarity in nearest]) - nearest[0][1]) / 0.05)
    coordinates = memory_map.coordinates[[number for number, _ in nearest]]
    return [float(coordinate) for coordinate in (weights[:, None] * coordinates).sum(axis=0) / weights.sum()]


def hits_of(memory: MemorySystem, scope: Scope, where: Mapping[str, Any]) -> Hits:
    """Return the hits of the scope's query among the records that pass its filters, including buried ones."""
    if not scope.is_search:
        return Hits()
    if scope.by == BEST_MATCH:
        found = memory.experience.retrieve(
            scope.text, MAX_HITS, where=dict(where), count_retrieval=False, with_buried=True
        )
        return Hits(
            ids=tuple(hit.item.id for hit in found.hits), similarities=tuple(hit.similarity for hit in found.hits)
        )
    named = memory.experience.search_words(scope.text, MAX_HITS, where=dict(where), with_buried=True)
    return Hits(ids=tuple(each.id for each in named))


def neighbours_of(memory: MemorySystem, experience_id: str) -> tuple[str, ...]:
    """Return the ids most similar to an experience. On the map they may be far away, which shows its distortion."""
    return tuple(hit.item.id for hit in memory.experience.similar(experience_id, NEIGHBOURS, with_buried=True))


def selected_after(before: Sequence[str], drawn_ids: Sequence[str], mode: str) -> list[str]:
    """Return the selection after points were lassoed.

    Args:
        before: Ids selected before.
        drawn_ids: Ids of the points inside the lasso.
        mode: `add` and `remove` change the present selection. Any other value replaces it.
    """
    if mode == "add":
        return list(dict.fromkeys([*before, *drawn_ids]))
    if mode == "remove":
        removed = set(drawn_ids)
        return [record_id for record_id in before if record_id not in removed]
    return list(drawn_ids)


QUALITY_HELP = (
    "{true} of neighbours are true, and the seed is {seed}. "
    "Trustworthiness@15: how many of a point's 15 neighbours on the map are its neighbours in meaning too, "
    "with those that are far off counting most against it. Click a point to see its true neighbours as lines."
)


def shown_text(memory_map: MemoryMap) -> str:
    """Return how much is on the map."""
    return f"{counted(len(memory_map.ids), 'experience')}{_placed_text(memory_map)}"


def members_text(memory_map: MemoryMap) -> str:
    """Return how much of the map is in no domain."""
    n_outside = int((memory_map.labels == UNCLUSTERED).sum())
    return f"{n_outside:,} of {len(memory_map.ids):,} in no domain{_placed_text(memory_map)}"


def _placed_text(memory_map: MemoryMap) -> str:
    n_placed = int(memory_map.is_placed.sum())
    return f" · {n_placed:,} placed since the map was made" if n_placed else ""


def quality_text(memory_map: MemoryMap) -> str:
    """Return how much is on the map, and its engine."""
    return f"{shown_text(memory_map)} · {ENGINES.get(memory_map.recipe.engine, 'made elsewhere')}"


def quality_help(memory_map: MemoryMap) -> str:
    """Return a sentence on the trustworthiness of the map."""
    return QUALITY_HELP.format(true=percent(memory_map.trustworthiness), seed=memory_map.recipe.seed)
