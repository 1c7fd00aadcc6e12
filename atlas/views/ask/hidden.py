"""Hits that a search hides because they are less relevant than its level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from atlas.memory.system import MemorySystem
from atlas.views.ask.answer import MAX_EACH, Answer, Configuration, Part
from atlas.views.ask.cards import VIEWS
from atlas.views.kinds.columns import WIDE, Column
from atlas.views.lists.cells import Meter
from atlas.views.lists.queries import Row
from atlas.views.shared.wording import shortened

TITLE_CHARACTERS = 90

LEAST = 0.005
"""Relevance below which a record has nothing in common with a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenHit:
    """A hit that a search does not show, because its relevance is below the threshold."""

    relevance: float
    """In [0, 1]."""

    title: str
    """On one line. Untrusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosestRow(Row):
    """The closest record of a memory that has no hits."""

    memory: str
    closest: Meter
    title: str
    """Untrusted. Empty if none has anything in common with the task."""


CLOSEST_COLUMNS = (
    Column("memory", "Memory", 120),
    Column("closest", "Relevance", 190, "meter", "From 0 to 1. The stroke is the level that a hit needs."),
    Column("title", "Closest record", WIDE, empty="–", empty_means="Nothing in common with the task"),
)


def closest_rows(
    memory: MemorySystem, text: str, answer: Answer, configuration: Configuration
) -> tuple[ClosestRow, ...]:
    """Return the closest record of each memory of which nothing is relevant enough."""
    parts = [part for part in answer.parts if part.absence == "not relevant"]
    closest = ((part, next(_hidden(memory, text, part, configuration), None)) for part in parts)
    return tuple(_closest_row(part, hit) for part, hit in closest if hit is not None)


def _closest_row(part: Part, hit: HiddenHit) -> ClosestRow:
    words = f"{hit.relevance:.2f}, needs {part.level:.2f}"
    meter = Meter(hit.relevance, words, tick=part.level, tick_text=f"level {part.level:.2f}")
    return ClosestRow(id=part.name, memory=part.title, closest=meter, title=hit.title if hit.relevance >= LEAST else "")


def hidden_hits(memory: MemorySystem, text: str, part: Part, configuration: Configuration) -> tuple[HiddenHit, ...]:
    """Return the hits of one memory below its level, best first, at most `MAX_EACH`."""
    return tuple(_hidden(memory, text, part, configuration))


def _hidden(memory: MemorySystem, text: str, part: Part, configuration: Configuration) -> Iterator[HiddenHit]:
    records = VIEWS[part.name].kind.records(memory)
    ranked = records.ranked_with(configuration.weights)
    found = ranked.retrieve(text, MAX_EACH, threshold=0.0, count_retrieval=False, **configuration.choice)
    hits = [hit for hit in found.hits if hit.relevance < part.level]
    titles = records.titles([hit.item.id for hit in hits])
    for hit in hits:
        title = shortened(" ".join(titles.get(hit.item.id, "").split()), TITLE_CHARACTERS)
        yield HiddenHit(relevance=hit.relevance, title=title)
