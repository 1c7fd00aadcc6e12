"""The level lies where a foreign query shown something, and one of its own hidden, together cost least."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.core.ranking.level import estimate_own_relevance, level_between, measure_costs
from atlas.core.ranking.tuned import HIGHEST_LEVEL, LOWEST_LEVEL, PRICE

FOREIGN = np.linspace(0.0, 0.4, 101)
NONE = np.zeros(0)


def test_without_own_queries_97_of_100_foreign_ones_stay_below_it():
    assert np.mean(level_between(FOREIGN, NONE, "de") > FOREIGN) == pytest.approx(0.97, abs=0.01)


def test_a_store_whose_own_queries_lie_far_above_keeps_the_goal_beyond_the_usual_ceiling():
    assert level_between(FOREIGN, NONE, "en") == HIGHEST_LEVEL
    assert level_between(FOREIGN, np.full(40, 0.5), "en") == HIGHEST_LEVEL
    assert level_between(FOREIGN, np.full(40, 0.97), "en") == pytest.approx(0.388, abs=0.01)


def test_where_own_queries_lie_among_foreign_ones_it_costs_no_more_than_any_other():
    own = np.linspace(0.15, 0.7, 40)
    chosen = level_between(FOREIGN, own, "de")
    assert LOWEST_LEVEL < chosen < level_between(FOREIGN, NONE, "de")

    def price(level: float) -> float:
        costs = measure_costs(FOREIGN, own, level, level)
        return PRICE * costs.own_hidden + costs.foreign_shown

    assert price(chosen) <= min(map(price, np.linspace(LOWEST_LEVEL, 0.4, 50))) + 1e-9


def test_costs_are_shares_on_either_side():
    costs = measure_costs(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.25, 0.5]), 0.3, 0.3)
    assert (costs.level, costs.foreign_shown, costs.own_hidden) == (0.3, 0.5, 0.5)


def test_each_query_counts_at_its_own_level():
    costs = measure_costs(np.array([0.1, 0.4]), np.array([0.25, 0.25]), np.array([0.05, 0.5]), np.array([0.2, 0.3]))
    assert (costs.level, costs.foreign_shown, costs.own_hidden) == (0.5, 0.5, 0.5)


def test_own_queries_reach_more_than_other_records_and_less_than_the_record_itself():
    itself, others = np.array([0.9, 0.8]), np.array([0.3, 0.4])
    own = estimate_own_relevance(itself, others)
    assert np.all((others < own) & (own < itself))
