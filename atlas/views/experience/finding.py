"""The card of an experience that a search found: which of its texts matched, and why it stands where it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atlas.core.hits import Hit
from atlas.core.settings import RankingWeights
from atlas.core.types import Experience
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.system import MemorySystem
from atlas.views.lists.highlighting import Source
from atlas.views.lists.hits import HitCard, hit_card
from atlas.views.lists.listing import Query, SearchResult
from atlas.views.shared.wording import signed


def experience_card(memory: MemorySystem, query: Query, result: SearchResult, experience_id: str) -> HitCard | None:
    """Return the card of an experience that a question found, or None if it is not in the store.

    Costs some milliseconds, more where the experience's text is longer than the model reads at once.
    """
    experience = memory.experience.get(experience_id)
    if experience is None:
        return None
    return card_of(memory.experience, query.text, result.hits.get(experience_id), experience, memory.experience.weights)


def card_of(
    memory: ChromaExperienceMemory, text: str, hit: Hit[Any] | None, experience: Experience, weights: RankingWeights
) -> HitCard:
    """Return the card of an experience that is at hand.

    Args:
        memory: The one that found it.
        weights: What it was ranked with.
    """
    window = memory.passage(experience.id, text) if hit else None
    return hit_card(
        hit,
        id=experience.id,
        title=experience.task.description,
        outcome=signed(experience.outcome.label),
        sources=_sources(experience, window),
        query=text,
        weights=weights,
        met=memory.met_words(experience.id, text) if hit else (),
    )


def _sources(experience: Experience, window: str | None) -> Sequence[Source]:
    """Return the texts that an experience is found by, the passage nearest in meaning first."""
    nearest = [Source("Nearest passage", window, is_part=True)] if window else []
    named = {"Task": experience.embedding_text, "Solution": experience.solution_output, "Feedback": experience.feedback}
    return [*nearest, *(Source(name, text) for name, text in named.items())]
