"""When a search for concepts begins by itself: after so many new successes with programs, once, and for whom."""

from __future__ import annotations

import threading

import pytest

from atlas.core.settings import Settings
from atlas.core.types import Outcome, Task, Trajectory
from atlas.infra.actor import Actor, Role, acting
from atlas.memory.concepts.automatic import (
    PASSED_OPTIONS,
    RESULT_NOTE,
    AutomaticCompression,
    problem_file,
    search_environment,
    search_lock,
)
from atlas.memory.experience.memory import COLLECTION, ChromaExperienceMemory
from atlas.storage.records import IS_WAITING
from atlas.storage.store import EmbeddingModel, Store
from atlas.testing import HashEmbedder


def attempt(n, success=True, solution="def f():\n    return 1\n"):
    return Trajectory(Task(f"t{n}", "", f"task {n}"), (), Outcome(success), metadata={"solution": solution})


TEXT = "ask the desk"


@pytest.fixture
def store(tmp_path):
    embedder = HashEmbedder()
    with Store.open(tmp_path / "store") as store:
        store.bind(EmbeddingModel(embedder.model_name, embedder.dimension))
        yield store


class Counting:
    """Stores attempts, and counts the searches that begin."""

    def __init__(self, store, every=5):
        self.memory = ChromaExperienceMemory(HashEmbedder(), store.collection(COLLECTION))
        self.store = store
        self.begun = []
        self.automatic = AutomaticCompression(store, lambda: self.memory, every, self.begin)

    def begin(self, store):
        self.begun.append(self.n_stored)
        return True

    def remember(self, n_attempts, **fields):
        for _ in range(n_attempts):
            self.n_stored = len(self.memory) + 1
            trajectory = attempt(self.n_stored, **fields)
            self.memory.store(trajectory)
            if trajectory.outcome.success:
                self.automatic.count_stored(trajectory)
        return self.begun


def test_a_search_begins_after_every_so_many_successes(store):
    assert Counting(store).remember(16) == [5, 10, 15]


def test_failures_and_attempts_without_a_program_begin_none(store):
    counting = Counting(store)
    assert counting.remember(4) == []
    assert counting.remember(9, success=False) == []
    assert counting.remember(9, solution=TEXT) == []
    assert counting.remember(1) == [23]


def test_successes_without_a_program_do_not_count_for_the_next_process(store):
    counting = Counting(store, every=20)
    counting.remember(1)
    counting.remember(19, solution=TEXT)
    counting = Counting(store, every=20)
    assert counting.remember(18) == []
    assert counting.remember(1, solution=TEXT) == []
    assert counting.remember(1) == [40]


def test_what_waits_for_review_counts_once_it_is_released(store):
    counting = Counting(store)
    counting.remember(1)
    with acting(Actor("agent", Role.CURATOR, is_reviewed=True)):
        counting.remember(5)
    assert Counting(store).remember(1) == []
    counting.memory.release(counting.memory.ids(IS_WAITING))
    assert Counting(store).remember(1) == [8]


def test_processes_of_one_attempt_each_count_together(store):
    begun = [Counting(store).remember(1) for _ in range(11)]
    assert [searches for searches in begun if searches] == [[5], [10]]


def test_what_a_store_held_before_starts_nothing(store):
    counting = Counting(store)
    counting.memory.store_many([attempt(n) for n in range(40)])
    assert counting.remember(4) == []
    assert counting.remember(1) == [45]


def test_what_an_importer_stores_starts_one_search_at_the_next_attempt(store):
    counting = Counting(store)
    counting.remember(1)
    counting.memory.store_many([attempt(n) for n in range(100, 600)])
    assert counting.remember(5) == [505]
    assert Counting(store).remember(1) == []


def test_none_begins_while_one_is_under_way_and_it_is_made_up_for(store):
    counting = Counting(store)
    with search_lock(store.path).locked():
        thread = threading.Thread(target=counting.remember, args=(7,))
        thread.start()
        thread.join()
        assert counting.begun == []
    assert counting.remember(5) == [10]


def test_a_search_that_was_killed_is_made_up_for_by_the_next(store):
    counting = Counting(store)
    assert counting.remember(10) == [5, 10], "nothing waits for the result of the first"


def test_deleted_successes_do_not_hold_up_the_count(store):
    counting = Counting(store)
    counting.remember(4)
    counting.memory.delete(counting.memory.ids())
    assert len(counting.remember(12)) == 2


@pytest.mark.parametrize(
    ("actor", "meanwhile", "at_last"),
    [
        (Actor("ann", Role.CURATOR), [5], [5]),
        (Actor("bob", Role.WRITER), [], [7]),
        (Actor("agent", Role.CURATOR, is_reviewed=True), [], []),
    ],
)
def test_whoever_may_not_compress_starts_no_search(store, actor, meanwhile, at_last):
    counting = Counting(store)
    counting.remember(1)
    with acting(actor):
        assert list(counting.remember(5)) == meanwhile
    assert counting.remember(1) == at_last


def test_zero_turns_it_off(store):
    counting = Counting(store, every=0)
    assert counting.remember(9) == []
    assert counting.automatic.status() == "The automatic search for concepts is off (ATLAS_COMPRESS_EVERY=0)."
    assert store.ledger.notes.read("automatic_compression:") == {}


def test_the_status_says_how_many_are_left_and_what_was_found(store):
    counting = Counting(store)
    counting.remember(2)
    waits = "2 of 5 new successes with programs until the next search for concepts."
    assert counting.automatic.status() == waits
    store.ledger.notes.write({RESULT_NOTE: "It added 1 concept."})
    assert counting.automatic.status() == f"It added 1 concept. {waits}"


def test_a_store_that_is_read_only_counts_nothing(store):
    Counting(store).remember(1)
    with Store.open(store.path, read_only=True) as reader:
        attempts = ChromaExperienceMemory(HashEmbedder(), reader.collection(COLLECTION))
        automatic = AutomaticCompression(reader, lambda: attempts, 1, lambda store: pytest.fail("it began"))
        assert automatic.count_stored(attempt(2)) is False


def test_the_search_opens_the_store_with_the_options_that_it_has(tmp_path, monkeypatch):
    monkeypatch.setenv("ATLAS_STORE", "http://elsewhere.example")
    monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path))
    monkeypatch.setenv("ATLAS_READ_ONLY", "1")
    settings = Settings(
        device="cuda", cache=tmp_path / "c", query_prompt="q: ", late_interaction=False, program_path=(tmp_path,)
    )
    with Store.open(tmp_path / "store", settings=settings) as store:
        environment = search_environment(store)
    passed = Settings.from_environment(environment)
    assert {name: getattr(passed, name) for name in PASSED_OPTIONS} == {
        name: getattr(settings, name) for name in PASSED_OPTIONS
    }
    assert (passed.directory, passed.read_only, passed.llm_forbidden) == (tmp_path / "store", False, True)
    assert environment["ATLAS_LOCAL"] == str(tmp_path)


def test_the_status_says_why_the_search_could_not_open_the_store(store):
    counting = Counting(store)
    problem_file(store.path).parent.mkdir(exist_ok=True)
    problem_file(store.path).write_text("It failed.", encoding="utf-8")
    assert counting.automatic.status().startswith("It failed. 0 of 5")
