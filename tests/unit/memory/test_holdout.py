"""A holdout: the coin, the empty block, and the mark on the attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

import atlas
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.memory.effects.holdout import assign_group
from atlas.testing import HashEmbedder
from tests.support.memories import naming

TASK = atlas.Task("a", "", "cancel the order of a customer")


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(16), settings=Settings()) as opened:
        yield opened


def attempt(task: atlas.Task = TASK, *, success: bool | None = True) -> atlas.Trajectory:
    return atlas.Trajectory(task, (), atlas.Outcome(success))


def names_by_side(memory: atlas.MemorySystem) -> dict[bool, str]:
    """The name of an attempt that is held out, and of one that is not."""
    coins = {name: memory.build_context(TASK, holdout=0.5, attempt=name).assignment for name in map(str, range(50))}
    return {coin.is_held_out: name for name, coin in coins.items()}


@pytest.mark.parametrize(("share", "n_held_out"), [(0.1, 1_022), (0.5, 4_963), (0.9, 8_949)])
def test_of_ten_thousand_coins_the_same_ones_hold_out_each_time(share, n_held_out):
    names = [(f"task {n % 50}", str(n // 50)) for n in range(10_000)]
    coins = [assign_group(share, store="s", task=task, attempt=attempt) for task, attempt in names]
    assert sum(coin.is_held_out for coin in coins) == n_held_out


def test_an_attempt_held_out_of_few_is_held_out_of_more():
    few, more = (
        {n for n in range(2_000) if assign_group(p, store="s", task="t", attempt=str(n)).is_held_out}
        for p in (0.1, 0.3)
    )
    assert few < more


def test_another_store_task_or_attempt_is_another_coin():
    def sides(**names: str) -> list[bool]:
        return [
            assign_group(0.5, **({"store": "s", "task": f"t{n}", "attempt": "0"} | names)).is_held_out
            for n in range(64)
        ]

    assert sides() == sides()
    assert sides() != sides(store="other")
    assert sides() != sides(attempt="1")


def test_no_attempt_is_held_out_unless_it_is_asked_for(memory):
    blocks = [memory.build_context(TASK, attempt=str(n)) for n in range(50)]
    assert {block.assignment for block in blocks} == {None}
    stored = memory.store(attempt())
    assert "holdout" not in memory.experience.get(stored["experience"]).metadata
    assert memory.memory_effect().randomised is None


def test_a_held_out_attempt_is_shown_nothing_counts_nothing_and_is_marked(memory):
    before = memory.store(attempt())["experience"]
    names = names_by_side(memory)
    block = memory.build_context(TASK, holdout=0.5, attempt=names[True])
    assert (block.text, block.n_tokens, block.shown) == ("", 0, {})
    stored = memory.store(attempt(success=False))
    assert "used" not in stored
    assert memory.experience.get(stored["experience"]).metadata == {"holdout": "held out", "holdout_share": 0.5}
    block = memory.build_context(TASK, holdout=0.5, attempt=names[False])
    assert before in block.shown["experience"]
    stored = memory.store(naming(attempt(), before))
    assert stored["used"] == {"experience": [before]}
    marks = memory.experience.get(stored["experience"]).metadata
    assert (marks["holdout"], marks["holdout_share"]) == ("shown", 0.5)
    assert marks["shown_records"] == sum(map(len, block.shown.values()))
    assert 0 < marks["unused_tokens"] < marks["shown_tokens"] < block.n_tokens
    assert memory.experience.values("holdout") == {"held out": 1, "shown": 1}


def test_a_coin_is_tossed_once_between_two_attempts(memory):
    tosses = []
    for _ in range(40):
        coins = {memory.build_context(TASK, holdout=0.5).assignment for _ in range(3)}
        assert len(coins) == 1
        tosses += coins
        memory.store(attempt())
    assert {coin.is_held_out for coin in tosses} == {True, False}


def test_a_search_after_the_coin_keeps_the_mark(memory):
    before = memory.store(attempt())["experience"]
    memory.build_context(TASK, holdout=0.5, attempt=names_by_side(memory)[True])
    memory.query_sync(TASK)
    stored = memory.store(naming(attempt(), before))
    assert stored["used"] == {"experience": [before]}
    assert memory.experience.get(stored["experience"]).metadata["holdout"] == "held out"


def test_a_task_that_was_asked_for_by_its_description_is_marked_under_its_id(memory):
    memory.build_context(atlas.Task("", "", TASK.description), holdout=0.5)
    stored = memory.store(attempt())
    assert memory.experience.get(stored["experience"]).metadata["holdout_share"] == 0.5


def test_the_setting_holds_out_where_the_call_does_not_say(tmp_path):
    settings = Settings.from_environment({"ATLAS_STORE": str(tmp_path), "ATLAS_HOLDOUT": "0.25"})
    with atlas.open_memory(settings=settings, embedder=HashEmbedder(16)) as memory:
        assert memory.build_context(TASK).assignment.share == 0.25
        assert asyncio.run(memory.abuild_context(TASK)) == memory.build_context(TASK)
        assert memory.build_context(TASK, holdout=0).assignment is None


def test_a_store_that_is_opened_again_tosses_the_same_coins(tmp_path):
    def sides() -> list[bool]:
        with atlas.open_memory(tmp_path, embedder=HashEmbedder(16), settings=Settings()) as memory:
            return [memory.build_context(TASK, holdout=0.5, attempt=str(n)).assignment.is_held_out for n in range(32)]

    assert sides() == sides()


@pytest.mark.parametrize("share", [1, 1.5, -0.1, float("nan"), "half", True])
def test_an_impossible_share_is_refused(memory, share):
    with pytest.raises(InvalidInput, match="expected a share of attempts, from 0 to below 1, for holdout"):
        memory.build_context(TASK, holdout=share)


def test_a_setting_of_an_impossible_share_is_refused_at_once():
    with pytest.raises(InvalidInput, match="expected a share of attempts, from 0 to below 1, for ATLAS_HOLDOUT"):
        Settings.from_environment({"ATLAS_HOLDOUT": "1"})


def test_a_held_out_block_refuses_what_others_refuse(memory):
    held_out = names_by_side(memory)[True]
    with pytest.raises(InvalidInput, match="budget_tokens"):
        memory.build_context(TASK, -1, holdout=0.5, attempt=held_out)
    with pytest.raises(InvalidInput, match="for k, got"):
        memory.build_context(TASK, k=0, holdout=0.5, attempt=held_out)


def test_a_remembered_run_tosses_the_coin_of_its_own_id(tmp_path):
    settings = Settings(store=tmp_path, holdout=0.5)
    with atlas.open_memory(settings=settings, embedder=HashEmbedder(16)) as memory:
        memory.store(attempt())
        sides = []
        for _ in range(12):
            with atlas.remember(memory, TASK) as run:
                sides.append(not run.context)
                run.succeeded()
            marked = memory.experience.get(run.stored["experience"]).metadata["holdout"]
            assert marked == ("held out" if sides[-1] else "shown")
        assert memory.memory_effect().randomised.held_out.n == sum(sides) or len(set(sides)) == 1


def test_the_effect_survives_a_merge(memory):
    for n in range(20):
        memory.build_context(TASK, holdout=0.5)
        memory.store(attempt(success=n % 2 == 0))
    before = memory.memory_effect().randomised
    memory.experience.merge(memory.experience.ids())
    [kept] = memory.experience.ids()
    after = memory.memory_effect().randomised
    assert memory.experience.get(kept) is not None
    assert (after.shown, after.held_out, after.interval) == (before.shown, before.held_out, before.interval)
    assert before.shown.n + before.held_out.n == 20


def test_two_attempts_at_one_task_get_their_own_coins_by_their_ids(memory):
    names = names_by_side(memory)
    held_out, shown = (replace(attempt(), id=names[side]) for side in (True, False))
    for each in (held_out, shown):
        memory.build_context(TASK, holdout=0.5, attempt=each.id)
    sides = [memory.experience.get(memory.store(each)["experience"]).metadata["holdout"] for each in (held_out, shown)]
    assert sides == ["held out", "shown"]


def test_a_block_without_a_holdout_takes_back_the_coin_of_an_earlier_one(memory):
    memory.build_context(TASK, holdout=0.5)
    memory.build_context(TASK)
    assert "holdout" not in memory.experience.get(memory.store(attempt())["experience"]).metadata
