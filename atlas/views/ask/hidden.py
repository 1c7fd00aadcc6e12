"""Hits that a search hides because they are less relevant than its level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from atlas.memory.system import MemorySystem
from atlas.views.ask.answer import MAX_EACH, Configuration, Part
from atlas.views.ask.cards import VIEWS
from atlas.views.shared.wording import shortened

TITLE_CHARACTERS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenHit:
    """A hit that a search does not show, because its relevance is below the threshold."""

    relevance: float
    """In [0, 1]."""

    title: str
    """On one line. Untrusted."""


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
