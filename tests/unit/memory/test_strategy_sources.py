"""What strategies come from, and how their tasks went without them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atlas.core.statistics import SuccessRate
from atlas.core.types import Strategy
from atlas.memory.open import open_memory
from atlas.memory.strategy_sources import baseline_rates, stored_attempts, unwritten_attempts
from atlas.testing import FixedClock, HashEmbedder
from tests.support.memories import attempt


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "s", embedder=HashEmbedder(), clock=FixedClock()) as opened:
        yield opened


def at(task_id, success=True, description="refund a flight"):
    made = attempt(description, success)
    return replace(made, task=replace(made.task, id=task_id))


def test_the_experience_of_a_source_is_found_by_its_attempt(memory):
    source, other = at("one"), at("two", False)
    ids = memory.experience.store_many([source, other])
    found = stored_attempts(memory.experience, [source.id, "forgotten"])
    assert [(of, one.id, one.task_id, one.outcome) for of, one in found.items()] == [
        (source.id, ids[0], "one", "succeeded")
    ]


def test_sources_count_as_successes_and_other_attempts_at_their_tasks_as_they_went(memory):
    source, failed, unknown, tried, elsewhere = at("a"), at("a", False), at("a", None), at("a", False), at("b", False)
    memory.experience.store_many([source, failed, unknown, tried, elsewhere])
    strategy_id = memory.strategies.add(Strategy(situation="s", suggestion="d", sources=(source.id,)))
    by_hand = memory.strategies.add(Strategy(situation="s", suggestion="e"))
    memory.strategies.update_stats(strategy_id, False, task_id="a", trajectory_id=tried.id)
    strategies = memory.strategies.get_many([strategy_id, by_hand])
    assert baseline_rates(memory.strategies, memory.experience, strategies) == {
        strategy_id: SuccessRate(n_succeeded=1, n_failed=1, n_unknown=1),
        by_hand: SuccessRate(),
    }


def test_a_source_that_was_forgotten_leaves_the_task_that_the_strategy_names(memory):
    memory.experience.store_many([at("a"), at("a", False)])
    one = Strategy(situation="s", suggestion="d", sources=("forgotten",), metadata={"task_id": "a"})
    found = baseline_rates(memory.strategies, memory.experience, [one])
    assert found[one.id] == SuccessRate(n_succeeded=1, n_failed=1)


def test_what_was_merged_away_is_still_a_source_and_an_attempt_at_its_task(memory):
    source, failed, later = at("a"), at("a", False), at("a")
    ids = memory.experience.store_many([source, failed, replace(later, timestamp=FixedClock().now())])
    one = Strategy(situation="s", suggestion="d", sources=(source.id,))
    before = baseline_rates(memory.strategies, memory.experience, [one])
    kept = memory.experience.merge(ids)
    assert baseline_rates(memory.strategies, memory.experience, [one]) == before
    assert before[one.id] == SuccessRate(n_succeeded=2, n_failed=1)
    [(of, found)] = stored_attempts(memory.experience, [failed.id]).items()
    assert (of, found.id, found.outcome) == (failed.id, kept.id, "failed")


def test_what_only_looks_like_a_merged_attempt_counts_for_nothing(memory):
    held = {"x": {"outcome": "failed", "content_hash": "h", "trajectory_id": 3}}
    made = at("a")
    memory.experience.store(replace(made, metadata={"merged_from": ["x"], "merged_attempts": held}))
    one = Strategy(situation="s", suggestion="d", sources=(made.id,))
    assert baseline_rates(memory.strategies, memory.experience, [one])[one.id] == SuccessRate(n_succeeded=1)


def test_successes_that_no_strategy_comes_from_are_those_to_write(memory):
    source, new, failed = at("a"), at("b"), at("c", False)
    memory.experience.store_many([source, new, failed])
    memory.strategies.add(Strategy(situation="s", suggestion="d", sources=(source.id,)))
    assert [one.id for one in unwritten_attempts(memory.strategies, memory.experience)] == [new.id]
    assert unwritten_attempts(memory.strategies, memory.experience, 0) == []
