"""Whether a strategy helps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atlas.core.errors import NotFound
from atlas.core.operations import Use
from atlas.core.types import Outcome, Strategy
from atlas.memory.effects.strategy_effects import effect_among, strategy_effect
from atlas.memory.open import open_memory
from atlas.memory.strategy_sources import Attempt
from atlas.testing import FixedClock, HashEmbedder
from tests.support.memories import NOW, attempt


def uses(*outcomes):
    return [
        Use(record_id="s", success=success, task_id="t", trajectory_id=f"tr{n}", at=NOW, actor="a")
        for n, success in enumerate(outcomes)
    ]


def without(*outcomes):
    return [Attempt(f"e{n}", "t", Outcome(success).label, f"other {n}") for n, success in enumerate(outcomes)]


@pytest.mark.parametrize(
    ("with_it", "base", "difference", "verdict"),
    [
        ([True] * 20, [False] * 20, 1.0, "helps"),
        ([False] * 20, [True] * 20, -1.0, "hurts"),
        ([True, False], [True, False, None], 0.0, "unclear"),
        ([True], [], None, "unclear"),
        ([], [True], None, "not used"),
    ],
)
def test_attempts_with_it_are_compared_with_attempts_without(with_it, base, difference, verdict):
    found = effect_among(uses(*with_it), without(*base))
    assert (found.difference, found.verdict) == (difference, verdict)


def test_its_own_attempts_are_no_part_of_its_base_rate():
    own = Attempt("e", "t", "succeeded", "tr0")
    assert effect_among(uses(True), [own, *without(False)]).not_used.n == 1


def unnamed(*outcomes, task_id):
    return [replace(use, trajectory_id="", task_id=task_id) for use in uses(*outcomes)]


def test_a_try_that_names_its_task_alone_is_one_of_the_attempts_at_it_that_went_alike():
    base = [*without(True, True, False), Attempt("e", "elsewhere", "succeeded", "other")]
    found = effect_among(unnamed(True, False, False, task_id="t"), base)
    assert (found.not_used.n, found.not_used.n_succeeded, found.n_unplaced) == (2, 2, 0)


def test_tries_that_name_nothing_leave_open_whether_it_helps():
    found = effect_among([*uses(*[True] * 20), *unnamed(True, task_id="")], without(*[False] * 20))
    assert (found.n_unplaced, found.verdict) == (1, "unplaced")
    assert effect_among(unnamed(True, task_id=""), []).verdict == "unclear"


def test_similar_tasks_are_those_of_its_situation(tmp_path):
    with open_memory(tmp_path / "s", embedder=HashEmbedder(), clock=FixedClock()) as memory:
        strategy_id = memory.strategies.add(Strategy(situation="refund a cancelled flight", suggestion="look first"))
        with_it = attempt("refund a cancelled flight")
        memory.experience.store_many([with_it, attempt("refund a cancelled flight", False), attempt("mirror a grid")])
        memory.strategies.update_stats(strategy_id, True, trajectory_id=with_it.id)
        found = strategy_effect(memory.strategies, memory.experience, strategy_id)
        assert (found.used.n, found.not_used.n, found.not_used.n_succeeded) == (1, 1, 0)
        with pytest.raises(NotFound):
            strategy_effect(memory.strategies, memory.experience, "nowhere")


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "s", embedder=HashEmbedder(), clock=FixedClock()) as opened:
        yield opened


def mixed(n):
    """Attempts at one task, of which the second half succeeded."""
    return [attempt("refund a cancelled flight", number >= n // 2) for number in range(n)]


def test_successes_are_not_preferred_among_similar_attempts(memory):
    strategy_id = memory.strategies.add(Strategy(situation="refund a cancelled flight", suggestion="look first"))
    memory.experience.store_many(mixed(60))
    found = strategy_effect(memory.strategies, memory.experience, strategy_id)
    assert (found.not_used.n, found.not_used.n_succeeded) == (60, 30)


def test_buried_attempts_are_among_the_similar_ones(memory):
    strategy_id = memory.strategies.add(Strategy(situation="refund a cancelled flight", suggestion="look first"))
    ids = memory.experience.store_many(mixed(4))
    memory.experience.change_marks(ids[:2], buried=True)
    assert strategy_effect(memory.strategies, memory.experience, strategy_id).not_used.n == 4


def test_merging_experiences_changes_no_effect(memory):
    attempts = mixed(6)
    ids = memory.experience.store_many(attempts)
    strategy_id = memory.strategies.add(Strategy(situation="refund a cancelled flight", suggestion="look first"))
    memory.strategies.update_stats(strategy_id, False, trajectory_id=attempts[0].id)
    before = strategy_effect(memory.strategies, memory.experience, strategy_id)
    assert (before.not_used.n, before.not_used.n_succeeded) == (5, 3)
    kept = memory.experience.merge(ids[:4])
    memory.experience.merge([kept.id, ids[4]])
    assert strategy_effect(memory.strategies, memory.experience, strategy_id) == before
    memory.experience.restore(ids[:1])
    assert strategy_effect(memory.strategies, memory.experience, strategy_id) == before
