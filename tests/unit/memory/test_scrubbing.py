"""Secrets in what is stored: no door lets one in, each is counted, and what goes by the text goes by the clean one."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import atlas
from atlas.core.operations import Marks
from atlas.core.types import JournalEntry, Strategy
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.testing import HashEmbedder
from tests.support.memories import DictVectorStore, naming
from tests.support.records import attempt, concept

KEY = "sk-" + "a1B2" * 6
AZURE = base64.b64encode(bytes(range(64))).decode()
TELEGRAM = "123456789:AA" + "Ab1_-" * 6 + "xyz"
SECRETS = (KEY, AZURE, TELEGRAM)
ALL = f"key {KEY}, AccountKey={AZURE} and bot{TELEGRAM}"
COUNTS = {"API keys": 1, "Azure keys": 1, "tokens": 1}


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    with opened(tmp_path / "store") as made:
        yield made


def opened(path: Path, **settings) -> atlas.MemorySystem:
    return atlas.open_memory(path, embedder=HashEmbedder(), settings=atlas.Settings(**settings))


def files_with_secrets(path: Path) -> dict[str, list[str]]:
    """The files of a store that hold one of the secrets."""
    texts = {str(file): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    found = {name: [one for one in SECRETS if one.encode() in text] for name, text in texts.items()}
    return {name: secrets for name, secrets in found.items() if secrets}


def strategy(**given) -> Strategy:
    return Strategy(**{"title": "", "situation": f"when {ALL}", "suggestion": "look the booking up"} | given)


def leaking(description: str = f"deploy with {ALL}") -> atlas.Trajectory:
    step = atlas.Step(thought=ALL, action=f'client = Client(api_key="{KEY}")', observation=ALL, metadata={"out": ALL})
    made = attempt(description, steps=(step,), error=ALL, solution=f'key = "{KEY}"', feedback=ALL, context={"env": ALL})
    return replace(made, outcome=replace(made.outcome, verification_details={"log": ALL}))


def store(memory):
    memory.store(leaking())


def store_many(memory):
    memory.experience.store_many([leaking()])


def astore(memory):
    asyncio.run(memory.astore(leaking()))


def remember(memory):
    @atlas.remember(memory)
    def deploy(task: str) -> str:
        atlas.current_run().step(action=ALL)
        return ALL

    deploy(f"deploy with {ALL}")


def failing_run(memory):
    with pytest.raises(ValueError, match="key"), atlas.remember(memory, "deploy"):
        raise ValueError(ALL)


def edit_experience(memory):
    stored = memory.store(attempt())["experience"]
    memory.experience.edit(stored, feedback=ALL, steps=leaking().steps, task=leaking().task, metadata={"log": [ALL]})


def add_entry(memory):
    memory.journal.add("observation", ALL, generation=1, metadata={"log": {"line": ALL}})


def refused_entry(memory):
    for _ in range(2):
        memory.journal.add("observation", ALL, generation=1)
    assert memory.journal.rejected().n_total == 1


def add_entries(memory):
    memory.journal.add_entries([JournalEntry(entry_type="crash_log", content=ALL, generation=3, metadata={"log": ALL})])


def edit_entry(memory):
    entry = memory.journal.add("observation", "the crawler fills its disk by noon", generation=1)
    memory.journal.edit(entry, content=ALL, metadata={"log": ALL})


def add_strategy(memory):
    memory.strategies.add(strategy(title=f"of {ALL}", suggestion=f"do {ALL}", rationale=ALL, metadata={"log": ALL}))


def edit_strategy(memory):
    added = memory.strategies.add(strategy())
    memory.strategies.edit(added, suggestion=ALL, rationale=ALL, parameters=({"name": "key", "type": ALL},))


def write_strategy(memory):
    memory.strategies.write(leaking())


def plan_strategies(memory):
    memory.strategies.apply_write(memory.strategies.plan_write([leaking()]))


def describe_concept(memory):
    added = memory.concepts.add(
        concept(name="crop", description=f"cut {ALL}", code="def crop(g):\n    return g", guidance=ALL)
    )
    memory.concepts.edit(added, description=f"cut out {ALL}", guidance=f"when {ALL}")


def note_of_marks(memory):
    stored = memory.store(attempt())["experience"]
    memory.experience.change_marks([stored], note=ALL)
    memory.experience.mark({stored: Marks(note=f"again {ALL}")})


def turn(memory):
    memory.conversations.add(ALL, f"thanks for {ALL}")


DOORS = [
    *(store, store_many, astore, remember, failing_run, edit_experience, add_entry, refused_entry, add_entries),
    *(edit_entry, add_strategy, edit_strategy, write_strategy, plan_strategies, describe_concept, note_of_marks, turn),
]


@pytest.mark.parametrize("door", DOORS, ids=[door.__name__ for door in DOORS])
def test_no_door_lets_a_secret_into_the_store_and_each_is_counted(door, memory):
    with atlas.counting_secrets() as found:
        door(memory)
    assert files_with_secrets(memory.storage.path) == {}
    assert found.keys() >= COUNTS.keys()


@pytest.mark.parametrize("door", DOORS, ids=[door.__name__ for door in DOORS])
def test_a_setting_leaves_them_in(door, tmp_path):
    with opened(tmp_path / "store", scrub_secrets=False) as memory, atlas.counting_secrets() as found:
        door(memory)
    assert files_with_secrets(tmp_path / "store") != {}
    assert found == {}


def test_the_result_of_storing_counts_what_was_replaced(memory):
    attempt_with_three = attempt(f"deploy with {ALL}")
    assert memory.store(attempt_with_three)["scrubbed"] == COUNTS
    assert memory.store_once(attempt(f"deploy again with {KEY}"))["scrubbed"] == {"API keys": 1}
    assert "scrubbed" not in memory.store(attempt())


def test_counters_within_each_other_count_the_same_writes(memory):
    with atlas.counting_secrets() as outer:
        memory.journal.add("observation", f"first {KEY}", generation=1)
        with atlas.counting_secrets() as inner:
            memory.journal.add("crash_log", f"second {KEY}", generation=1)
    assert (outer, inner) == ({"API keys": 2}, {"API keys": 1})


def test_what_holds_no_secret_is_stored_as_it_came(memory):
    given = attempt("read /home/ann/notes.txt", context={"cwd": "/root/work"}, solution="open('/home/ann/notes.txt')")
    stored = memory.experience.get(memory.store(given)["experience"])
    assert (stored.task, stored.steps, stored.outcome) == (given.task, given.steps, given.outcome)
    assert stored.solution_output == "open('/home/ann/notes.txt')"


def test_code_and_examples_of_a_concept_stay_as_they_are(memory):
    code = f'def is_key(text):\n    return text == "{KEY}"'
    examples = ((f'is_key("{KEY}")', "True"),)
    added = memory.concepts.add(concept(name="is_key", code=code, examples=examples))
    changed = memory.concepts.edit(added, code=code + "  # sure", examples=(*examples, ('is_key("")', "False")))
    assert (changed.code, changed.examples[0]) == (code + "  # sure", examples[0])


def test_tests_of_a_task_stay_and_the_rest_of_its_verification_does_not(memory):
    tests = f'assert mask("{KEY}") == "***"'
    verification = atlas.VerificationSpec("tests", {"tests": tests, "command": f"pytest --key {KEY}"})
    given = attempt(context={"test_list": [tests], "env": ALL})
    stored = memory.store(replace(given, task=replace(given.task, verification=verification)))
    task = memory.experience.get(stored["experience"]).task
    assert task.context["test_list"] == [tests]
    assert KEY not in task.context["env"]
    assert task.verification.parameters == {"tests": tests, "command": "pytest --key [API key]"}


def test_an_attempt_that_is_sent_again_is_known_by_what_was_stored_of_it(memory):
    given = leaking()
    first = memory.store_once(given)
    again = memory.store_once(given)
    assert again["is_known"]
    assert again["experience"] == first["experience"]


def test_attempts_that_differ_by_their_secrets_alone_say_the_same(memory):
    other = leaking().task.description.replace(KEY, "sk-" + "c3D4" * 6)
    memory.experience.store_many([attempt(leaking().task.description, task_id="deploy")])
    assert memory.experience.store_many([attempt(other, task_id="deploy")], skip_known=True) == []


def test_what_was_recalled_for_a_task_with_a_secret_counts_for_its_attempt(memory):
    memory.store(attempt("deploy the crawler to the cluster", task_id=""))
    task = atlas.Task("", "", f"deploy the crawler to the cluster with {KEY}")
    shown = memory.build_context(task).shown["experience"]
    assert shown
    stored = memory.store(naming(replace(attempt(), task=task), *shown))
    assert stored["used"]["experience"] == list(shown)


def test_what_nests_too_deeply_is_refused_as_before(memory):
    deep: dict = {}
    for _ in range(5_000):
        deep = {"in": deep}
    with pytest.raises(atlas.InvalidInput, match="nests"):
        memory.store(attempt(log=deep))
    with pytest.raises(atlas.InvalidInput, match="nests"):
        memory.journal.add("observation", "the crawler fills its disk", generation=1, metadata=deep)


class CountingText(str):
    """A text that counts how often secrets are looked for in it."""

    n_passes = 0

    def lower(self) -> str:
        self.n_passes += 1
        return super().lower()


@pytest.mark.parametrize("method", ["store", "store_once"])
def test_secrets_of_an_attempt_are_looked_for_once(method, memory):
    log = CountingText("the log of a long run")
    assert getattr(memory, method)(attempt(log=log))["experience"]
    assert log.n_passes == 1


def test_a_memory_of_a_clean_attempt_looks_for_secrets_in_the_next(memory):
    memory.store(attempt())
    memory.experience.store(leaking())
    memory.strategies.write(leaking("deploy the crawler"))
    assert files_with_secrets(memory.storage.path) == {}


def test_memories_of_a_plain_store_look_for_secrets_whatever_the_settings_of_another(tmp_path):
    with opened(tmp_path / "store", scrub_secrets=False) as other:
        plain = ChromaExperienceMemory(HashEmbedder(), DictVectorStore())
        memory = atlas.MemorySystem(experience=plain, storage=other.storage)
        stored = plain.get(memory.store(leaking())["experience"])
    assert KEY not in stored.task.description
