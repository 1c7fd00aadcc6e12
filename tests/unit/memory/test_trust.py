"""The class of a record by its origin, and blocks that only contain records of a class."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

import atlas
from atlas.core.errors import InvalidInput, NotFound
from atlas.infra.actor import Actor, Role, acting
from atlas.memory.effects import trust as module
from tests.support.records import attempt, concept
from tests.support.sample import EMBEDDER

TASK = atlas.Task("", "", "water the tulips")


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=EMBEDDER, settings=atlas.Settings(actor="tester")) as memory:
        yield memory


def stored(memory, *, trust: str = "", kind: str = "store", what: str = "water the tulips") -> str:
    made = replace(attempt(what, success=True), metadata={"trust": trust} if trust else {})
    (record_id,) = memory.experience.as_operation(kind).store_many([made])
    return record_id


def classes(memory, *ids: str) -> list[str]:
    return [*memory.trust(ids).values()]


def test_the_history_tells_where_a_record_comes_from(memory, monkeypatch):
    own, imported = stored(memory), stored(memory, kind="import", what="sort the crates")
    with acting(Actor("crawler", Role.WRITER, is_reviewed=True)):
        waiting = stored(memory, what="boil an egg")
    assert classes(memory, own, imported, waiting) == ["agent", "imported", "agent"]
    memory.experience.release([waiting])
    monkeypatch.setattr(module.People, "names", lambda people: {"ada"})
    with acting(Actor("ada", Role.WRITER)):
        written = stored(memory, what="mend a shoe")
    with acting(Actor("ada", Role.CURATOR)):
        memory.experience.edit(imported, feedback="seen")
    assert classes(memory, own, imported, waiting, written) == ["agent", "reviewed", "reviewed", "person"]


def test_a_later_edit_of_an_agent_lowers_the_trust_of_a_record(memory, monkeypatch):
    monkeypatch.setattr(module.People, "names", lambda people: {"ada"})
    with acting(Actor("ada", Role.CURATOR)):
        written = stored(memory, what="mend a shoe")
    memory.experience.edit(written, feedback="send the shoes away")
    assert classes(memory, written) == ["agent"]
    with acting(Actor("ada", Role.CURATOR)):
        memory.experience.edit(written, feedback="seen")
    assert classes(memory, written) == ["reviewed"]


def test_a_derived_record_keeps_the_trust_of_a_source_that_was_deleted(memory, monkeypatch):
    monkeypatch.setattr(module.People, "names", lambda people: {"ada"})
    imported = stored(memory, kind="import", what="sort the crates")
    with acting(Actor("ada", Role.CURATOR)):
        learned = memory.strategies.add(atlas.Strategy(situation="crates", suggestion="sort", sources=(imported,)))
        unknown = memory.strategies.add(atlas.Strategy(situation="boxes", suggestion="stack", sources=("gone",)))
    assert classes(memory, learned, unknown) == ["imported", "agent"]
    memory.experience.delete([imported])
    assert classes(memory, learned, unknown) == ["imported", "agent"]


def test_a_writer_may_lower_the_trust_of_a_record_but_not_raise_it(memory):
    lowered, raised = stored(memory, trust="untrusted"), stored(memory, trust="person", what="sort the crates")
    assert classes(memory, lowered, raised) == ["untrusted", "agent"]


def test_what_is_derived_has_the_least_trust_of_its_sources(memory):
    planted, own = stored(memory, trust="untrusted"), stored(memory, what="sort the crates")
    attempts = [memory.experience.get(each).trajectory_id for each in (planted, own)]
    both = memory.strategies.add(atlas.Strategy(situation="a", suggestion="b", sources=tuple(attempts)))
    good = memory.strategies.add(atlas.Strategy(situation="c", suggestion="d", sources=(attempts[1],)))
    found = memory.concepts.add(replace(concept(1), found_in=(planted,)))
    caller = memory.concepts.add(replace(concept(2), calls=(found,)))
    assert classes(memory, both, good, found, caller) == ["untrusted", "agent", "untrusted", "untrusted"]


def test_a_block_has_only_records_of_a_class_and_names_it(memory):
    stored(memory)
    stored(memory, kind="import", what="water the tulips at noon")
    everything = memory.build_context(TASK, min_trust="untrusted")
    assert len(everything.shown["experience"]) == 2
    assert "imported, succeeded: water the tulips at noon" in everything.text
    assert "agent, succeeded: water the tulips" in everything.text
    own = memory.build_context(TASK, min_trust="agent")
    assert len(own.shown["experience"]) == 1
    assert "noon" not in own.text
    assert "noon" not in memory.build_context(TASK, min_trust="agent", by_words=True).text
    assert not any(memory.build_context(TASK, min_trust="person").shown.values())
    assert len(memory.query_sync(TASK, min_trust="agent").hits["experience"]) == 1
    assert len(asyncio.run(memory.query(TASK, min_trust="agent")).hits["experience"]) == 1
    assert "agent, " not in memory.build_context(TASK).text, "without a class, the block is as before"


def test_an_unknown_class_or_record_is_refused(memory):
    with pytest.raises(InvalidInput, match="expected one of untrusted, imported, agent, reviewed, person for min"):
        memory.build_context(TASK, min_trust="friends")
    with pytest.raises(NotFound, match="no memory has a record 'nothing'"):
        memory.trust(["nothing"])
