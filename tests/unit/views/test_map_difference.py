"""What is different about a selection on the map."""

from __future__ import annotations

import random

import pytest

from atlas.views.map.difference import MAX_SAMPLED, compare_selection, log_odds

IDS = [f"id{i}" for i in range(100)]
TASKS = {one: "Refund the booking" if i < 20 else "Index the table" for i, one in enumerate(IDS)}
COLUMNS = {
    "outcome": {one: "failed" if i < 15 else "succeeded" for i, one in enumerate(IDS)},
    "source": {one: "desk" if i < 20 else "north" if i % 2 else "south" for i, one in enumerate(IDS)},
    "agent_id": dict.fromkeys(IDS, "smith"),
    "created_at": {one: f"2026-05-{1 + i % 20:02}T10:00:00+00:00" for i, one in enumerate(IDS)},
}


def tasks_of(ids):
    return {one: TASKS[one] for one in ids}


def test_words_outcomes_and_sources_are_told_with_n_and_interval():
    found = compare_selection(IDS[:20], IDS, tasks_of, COLUMNS)
    assert [word.name for word in found.words] == ["booking", "refund"]
    assert found.words[0].selected == "100% (84–100%)"
    assert found.words[0].rest == "0% (0–4%)"
    assert [fact.name for fact in found.facts] == [
        "Succeeded", "Source: south", "Source: north", "Source: desk", "Median day",
    ]  # fmt: skip
    assert found.facts[0].selected == "25% of 20 (likely 11–47%)"
    assert found.facts[0].rest == "100% of 80 (likely 96–100%)"
    assert found.facts[-1].selected == "10 May 2026"
    assert found.caption == "20 selected experiences against the other 80."


def test_a_selection_that_is_like_the_rest_has_no_telling_word():
    found = compare_selection(IDS[::2], IDS, tasks_of, COLUMNS)
    assert found.words == ()


def chance_store(n: int, seed: int) -> dict[str, str]:
    """Tasks of a dozen words each, drawn by lot: some words are frequent, most are rare, as in a language."""
    chance = random.Random(seed)
    letters = [f"{one}{other}{third}" for one in "bdfgklm" for other in "aeiou" for third in "nprstvz"]
    weights = [1 / rank for rank in range(1, len(letters) + 1)]
    return {f"id{i}": " ".join(chance.choices(letters, weights, k=12)) for i in range(n)}


@pytest.mark.parametrize("size", [10, 40, 300])
def test_chance_alone_lists_hardly_anything(size):
    tasks, chance = chance_store(600, seed=size), random.Random(size)
    sources = {one: chance.choice(["north", "south", "east", "west"]) for one in tasks}
    columns = {key: {} for key in COLUMNS} | {"source": sources}
    found = [
        compare_selection(
            chance.sample(list(tasks), size), list(tasks), lambda ids: {i: tasks[i] for i in ids}, columns
        )
        for _ in range(40)
    ]
    assert sum(len(one.words) for one in found) <= 4, "of the two hundred that each of forty selections compares"
    assert sum(fact.name.startswith("Source") for one in found for fact in one.facts) <= 4


def test_one_word_that_is_more_frequent_is_found_among_hundreds():
    tasks = chance_store(600, seed=3)
    selected = list(tasks)[:60]
    tasks |= {one: f"{tasks[one]} refund" for one in [*selected[:30], *list(tasks)[100:130]]}
    found = compare_selection(
        selected, list(tasks), lambda ids: {one: tasks[one] for one in ids}, {key: {} for key in COLUMNS}
    )
    assert [word.name for word in found.words] == ["refund"]
    assert found.words[0].selected.startswith("50% ")


def test_of_a_large_store_only_some_tasks_of_either_side_are_read():
    tasks, read = chance_store(4 * MAX_SAMPLED, seed=1), []
    compare_selection(
        list(tasks)[: MAX_SAMPLED * 2],
        list(tasks),
        lambda ids: read.append(len(ids)) or {},
        {key: {} for key in COLUMNS},
    )
    assert read == [MAX_SAMPLED, MAX_SAMPLED]


def test_nothing_is_compared_with_nothing():
    assert compare_selection([], IDS, tasks_of, COLUMNS) is None
    assert compare_selection(IDS, IDS, tasks_of, COLUMNS) is None
    assert compare_selection(["gone"], IDS, tasks_of, COLUMNS) is None


def test_a_rare_word_tells_less_than_a_frequent_one_of_the_same_shares():
    scores = log_odds({"often": 40, "seldom": 2, "rest": 60}, {"often": 20, "seldom": 1, "rest": 80})
    assert scores["often"] > scores["seldom"] > 0 > scores["rest"]
    assert log_odds({"same": 5}, {"same": 5}) == {"same": pytest.approx(0)}
