"""Attempts at the same task."""

from __future__ import annotations

from itertools import count

import pytest

import atlas
from atlas.maps.attempts import group_by_task
from atlas.testing import HashEmbedder
from tests.support.records import attempt


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(16), settings=atlas.Settings()) as opened:
        yield opened


def tasks(memory, *given):
    """The places of those that are at the same task, of attempts that were stored in this order."""
    numbers = count()
    ids = memory.experience.store_many([attempt(agent=f"agent {next(numbers)}", **one) for one in given])
    return group_by_task(memory.storage, memory.experience.collection_name, ids)


def test_attempts_that_give_the_same_id_are_at_one_task_however_it_is_worded(memory):
    given = [{"task_id": "reindex", "description": f"Nightly run {number}: rebuild the index"} for number in (77, 78)]
    assert tasks(memory, *given, {"task_id": "other", "description": "Mend a shoe"}) == [[0, 1]]


def test_attempts_that_say_the_same_are_at_one_task_whatever_their_ids(memory):
    said = ("Boil the egg for 4 minutes", "boil an egg for 4 minutes.", "Boil an egg for 5 minutes")
    assert tasks(memory, *({"task_id": said[n], "description": said[n]} for n in range(3))) == [[0, 1]]


def test_household_tasks_with_other_objects_are_other_tasks(memory):
    objects = ("a mug in the cabinet", "a pan in the cabinet", "two mugs in the cabinet", "a mug in the drawer")
    assert tasks(memory, *({"task_id": f"env {one}", "description": f"Put {one}"} for one in objects)) == []


@pytest.mark.parametrize("differs", [{"context": {"grid": [1, 2]}}, {"domain": "rust"}])
def test_one_text_with_another_input_or_domain_is_another_task(memory, differs):
    same = {"description": "Find the rule", "context": {"grid": [2, 1]}, "domain": "puzzles"}
    found = tasks(memory, {"task_id": "a", **same}, {"task_id": "b", **same}, {"task_id": "c", **same, **differs})
    assert found == [[0, 1]]


def test_ids_and_words_together_join_what_either_joins(memory):
    given = (("a", "Water the garden"), ("a", "Do water the garden"), ("b", "do water a garden"), ("c", "Mend a shoe"))
    assert tasks(memory, *({"task_id": one, "description": said} for one, said in given)) == [[0, 1, 2]]


def test_a_store_of_one_has_no_two_at_one_task(memory):
    assert tasks(memory, {"task_id": "a"}) == []
    assert group_by_task(memory.storage, memory.experience.collection_name, []) == []
