"""The relevance level of a store. A search returns no hits if the relevance of its best hit is below the level.

The level minimises the cost of hits for foreign queries and of hidden answers to the store's own queries. Foreign
queries are about other subjects, and ship with ATLAS. Own queries are the first sentences of records. The relevance of
the best answer to a real query is estimated to lie between the relevance of the record itself, whose words the sentence
repeats, and the relevance of the best other record, which is about something else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atlas.core.ranking.languages import ENGLISH
from atlas.core.ranking.tuned import (
    FOREIGN_SHARE,
    HIGHEST_LEVEL,
    LOWEST_LEVEL,
    OWN_FACTOR,
    PRICE,
    SOURCE_WEIGHT,
)

Relevances = npt.NDArray[np.float64]
"""In [0, 1], shape (n,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCosts:
    """A level, and how often it shows wrong hits and hides right ones."""

    level: float
    """The level, or the highest one if languages have separate levels."""

    foreign_shown: float
    """Share of foreign queries with a hit, in [0, 1]."""

    own_hidden: float
    """Share of the store's own queries without a hit, in [0, 1]."""


def estimate_own_relevance(source: Relevances, others: Relevances) -> Relevances:
    """Estimate the relevance of the best answer to a query about a record, from the record's first sentence.

    Args:
        source: Relevance of the record to its own first sentence.
        others: Relevance of the best other record to the same sentence.
    """
    return np.asarray(SOURCE_WEIGHT * source + (1 - SOURCE_WEIGHT) * others, np.float64)


def level_between(foreign: Relevances, own: Relevances, language: str) -> float:
    """Return the relevance level for a language, which separates foreign queries from the store's own queries.

    Args:
        foreign: Relevance of the best answer to each foreign query in the language.
        own: Relevance of the best answer to each query that the store should answer, empty if unknown.
    """
    highest = 1.0
    if language == ENGLISH:
        highest = max(HIGHEST_LEVEL, OWN_FACTOR * float(np.quantile(own, 0.05)) if len(own) else 0.0)
    goal = float(np.quantile(foreign, FOREIGN_SHARE))
    return float(np.clip(min(goal, _cheapest_level(foreign, own)), LOWEST_LEVEL, highest))


def measure_costs(
    foreign: Relevances, own: Relevances, foreign_levels: Relevances | float, own_levels: Relevances | float
) -> LevelCosts:
    """Return the shares of wrong hits that levels show and of right hits that they hide.

    Args:
        foreign: Relevance of the best answer to each foreign query.
        own: Relevance of the best answer to each of the store's own queries.
        foreign_levels: The level for each foreign query, shape (n,), or one for all.
        own_levels: The level for each own query, shape (n,), or one for all.
    """
    return LevelCosts(
        level=float(max(np.max(foreign_levels), np.max(own_levels))),
        foreign_shown=float(np.mean(foreign >= foreign_levels)),
        own_hidden=float(np.mean(own < own_levels)),
    )


def _cheapest_level(foreign: Relevances, own: Relevances) -> float:
    """Return the level with the lowest cost.

    The cost is the share of foreign queries with a hit, plus `PRICE` times the share of own queries without one.
    """
    if not len(own):
        return 1.0
    levels = np.unique(np.concatenate([own, np.nextafter(foreign, 2.0)]))
    own_hidden = np.searchsorted(np.sort(own), levels) / len(own)
    foreign_shown = 1 - np.searchsorted(np.sort(foreign), levels) / len(foreign)
    return float(levels[np.argmin(PRICE * own_hidden + foreign_shown)])
