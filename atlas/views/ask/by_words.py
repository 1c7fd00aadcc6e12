"""Keyword search, used until the embedding model is ready."""

from __future__ import annotations

from atlas.core.settings import RankingWeights
from atlas.memory.kinds.sections import SECTIONS
from atlas.memory.system import MemorySystem
from atlas.views.ask.cards import VIEWS
from atlas.views.lists.hits import HitCard

SENTENCE = (
    "The embedding model is being prepared, once for this machine. This takes about half a minute. "
    "Until then, these are the memories that share words with the task. The context block needs the model too."
)


def cards_by_words(memory: MemorySystem, text: str, k: int) -> dict[str, tuple[HitCard, ...]]:
    """Return cards of at most k keyword hits per memory, without embedding."""
    hits_by_memory = {name: getattr(memory, name).retrieve_words(text, k).hits for name in SECTIONS}
    return {
        name: tuple(VIEWS[name].hit_card(memory, hit.item, None, text, RankingWeights()) for hit in hits)
        for name, hits in hits_by_memory.items()
        if hits
    }
