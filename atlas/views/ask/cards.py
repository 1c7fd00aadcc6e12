"""Cards of hits: the matched text, the success rate, and an explanation of the rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.core.hits import Hit
from atlas.core.settings import RankingWeights
from atlas.memory.system import MemorySystem
from atlas.views.concepts.kind import CONCEPTS
from atlas.views.experience.kind import EXPERIENCES
from atlas.views.journal.kind import ENTRIES
from atlas.views.lists.hits import HitCard
from atlas.views.lists.kind_views import KindViews
from atlas.views.strategies.kind import STRATEGIES

VIEWS: Mapping[str, KindViews[Any]] = {
    "strategies": STRATEGIES,
    "experience": EXPERIENCES,
    "concepts": CONCEPTS,
    "journal": ENTRIES,
}
"""Views by name of the memory."""


def hit_card_of(memory: MemorySystem, name: str, hit: Hit[Any], text: str, weights: RankingWeights) -> HitCard:
    """Return the card of a hit.

    Args:
        name: Name of the memory that it is from: `strategies`, `experience`, `concepts`, `journal`.
        text: The query.
        weights: The ranking weights of the search.
    """
    return VIEWS[name].hit_card(memory, hit.item, hit, text, weights)
