"""Numbers of hits at other levels of strictness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from atlas.core.settings import RankingWeights
from atlas.memory.system import MemorySystem
from atlas.views.ask.answer import TITLES, Configuration, hits_for

LEVELS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)

LEVEL_SENTENCE = (
    "Each memory has a level, which is the relevance that its best hit needs before any hit is shown. ATLAS sets it by "
    "asking your store about unrelated subjects, so that 97 of 100 such queries find nothing. "
    "Strictness multiplies the level. At 0, everything is shown."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictnessRow:
    """Numbers of hits at a level of strictness."""

    strictness: float
    is_chosen: bool
    n_hits: Mapping[str, int]
    """By the title of the memory."""


def strictness_rows(memory: MemorySystem, text: str, configuration: Configuration) -> tuple[StrictnessRow, ...]:
    """Return the hits at several strictnesses, the chosen one among them."""
    chosen = round(configuration.weights.strictness, 2)
    return tuple(
        StrictnessRow(
            strictness=strictness,
            is_chosen=strictness == chosen,
            n_hits=_n_hits(memory, text, replace(configuration.weights, strictness=strictness), configuration),
        )
        for strictness in sorted({*LEVELS, chosen})
    )


def _n_hits(memory: MemorySystem, text: str, weights: RankingWeights, configuration: Configuration) -> dict[str, int]:
    result = hits_for(memory, text, replace(configuration, weights=weights))
    return {title: len(result.ids.get(name, ())) for name, title in TITLES.items() if name not in configuration.off}
