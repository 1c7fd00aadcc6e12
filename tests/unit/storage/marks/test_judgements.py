"""Judgements of hits: kept with care, seen by every process at once, and one that is damaged costs no other."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

import atlas
from atlas.core.settings import Settings
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.marks.judgements import group_by_query
from atlas.testing import HashEmbedder
from tests.support.records import attempt

ASKED = "mend the report"


def opened(path, **options):
    return atlas.open_memory(path, embedder=HashEmbedder(), settings=Settings(), **options)


@pytest.fixture
def memory(tmp_path):
    with opened(tmp_path / "store") as made:
        made.experience.store_many([attempt(f"mend report {n}") for n in range(3)])
        yield made


@pytest.fixture
def judgements(memory):
    return memory.storage.judgements


@pytest.fixture
def ids(memory):
    return sorted(memory.experience.ids())


def said(judgements):
    return {(one.query, one.record_id): one.is_right for one in judgements.all()}


def test_a_judgement_is_kept_replaced_and_taken_back(memory, judgements, ids):
    assert (judgements.all(), judgements.state()) == ([], "")
    memory.judge(f" {ASKED}\n", ids[0], True)
    memory.judge(ASKED, ids[1], False)
    assert said(judgements) == {(ASKED, ids[0]): True, (ASKED, ids[1]): False}
    memory.judge(ASKED, ids[0], False)
    first = judgements.state()
    memory.judge(ASKED, ids[1], None)
    assert said(judgements) == {(ASKED, ids[0]): False}
    assert judgements.state() != first
    [one] = memory.judgements()
    assert (one.collection, one.judged_at.tzinfo is not None) == (memory.experience.collection_name, True)


def test_judging_moves_no_revision_and_writes_no_operation(memory, ids):
    before = memory.revision(), memory.count_operations()
    memory.judge(ASKED, ids[0], True)
    assert (memory.revision(), memory.count_operations()) == before


def test_agents_judge_from_async_code_too(memory, ids):
    asyncio.run(memory.ajudge(ASKED, ids[0], True))
    assert [one.query for one in asyncio.run(memory.ajudgements())] == [ASKED]


@pytest.mark.parametrize("query", ["a\tb\nc", '["x", "y"]', "%_:", "检索 🚀", "'; DROP TABLE meta; --"])
def test_any_query_is_kept_as_it_is(memory, judgements, ids, query):
    memory.judge(query, ids[0], True)
    assert said(judgements) == {(query, ids[0]): True}
    judgements.forget([query])
    assert judgements.all() == []


@pytest.mark.parametrize("query", ["", " \n", "\ud800"])
def test_a_query_says_something(memory, judgements, ids, query):
    with pytest.raises(atlas.InvalidInput, match="quer"):
        memory.judge(query, ids[0], True)
    assert judgements.all() == []


def test_only_records_that_are_there_are_judged_and_only_by_memories_that_are(memory, ids):
    with pytest.raises(atlas.NotFound, match="no record 'nope' to judge"):
        memory.judge(ASKED, "nope", True)
    with pytest.raises(atlas.NotFound, match="no record"):
        memory.judge(ASKED, ids[0], True, memory="journal")
    with pytest.raises(atlas.InvalidInput, match=r"one of .* journal for the memory, got 'nope'"):
        memory.judge(ASKED, ids[0], True, memory="nope")


def test_an_id_that_several_memories_have_needs_the_name_of_one(memory, judgements, ids):
    entry = atlas.JournalEntry(id=ids[0], entry_type="observation", content="the report broke", generation=1)
    memory.journal.add_entries([entry])
    with pytest.raises(atlas.InvalidInput, match="several memories have a record"):
        memory.judge(ASKED, ids[0], True)
    memory.judge(ASKED, ids[0], True, memory="journal")
    assert [one.collection for one in judgements.all()] == [memory.journal.collection_name]


def test_what_was_said_of_a_deleted_record_is_taken_back(memory, judgements, ids):
    memory.judge(ASKED, ids[0], True)
    memory.experience.delete([ids[0]])
    assert len(judgements.all()) == 1
    memory.judge(ASKED, ids[0], None)
    assert judgements.all() == []


def test_a_store_for_reading_only_is_not_judged(memory, ids):
    memory.judge(ASKED, ids[0], True)
    with opened(memory.storage.path, read_only=True) as reading:
        assert len(reading.judgements()) == 1
        with pytest.raises(atlas.ReadOnlyStore):
            reading.judge(ASKED, ids[1], True)


PROGRAM = """
import os, signal, sys
import atlas
from atlas.testing import HashEmbedder

path, name, *ids = sys.argv[1:]
memory = atlas.open_memory(path, embedder=HashEmbedder(), settings=atlas.Settings())
for n in range(5):
    for record_id in ids:
        memory.judge(f"{name} {n}", record_id, True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_processes_that_judge_at_once_and_are_killed_then_lose_nothing(memory, judgements, ids):
    path = str(memory.storage.path)
    workers = [subprocess.Popen([sys.executable, "-c", PROGRAM, path, name, *ids]) for name in ("one", "other")]
    assert [worker.wait() for worker in workers] == [-9, -9]
    assert said(judgements) == {(f"{w} {n}", i): True for w in ("one", "other") for n in range(5) for i in ids}


def test_queries_that_are_forgotten_come_back_unless_judged_again(memory, judgements, ids):
    for query in (ASKED, "another"):
        for record_id in ids:
            memory.judge(query, record_id, record_id == ids[0])
    before = judgements.all()
    forgotten = judgements.forget([ASKED])
    assert {*group_by_query(judgements.all())} == {"another"}
    judgements.restore(forgotten)
    assert judgements.all() == before
    forgotten = judgements.forget([ASKED])
    memory.judge(ASKED, ids[2], True)
    with pytest.raises(atlas.PlanOutdated, match="judged again after the deletion"):
        judgements.restore(forgotten)
    assert said(judgements)[(ASKED, ids[2])] is True


def test_a_backup_holds_judgements_and_restoring_brings_them_back(memory, judgements, ids, tmp_path):
    memory.judge(ASKED, ids[0], True)
    backup(memory.storage, tmp_path / "saved.zip")
    memory.judge(ASKED, ids[0], None)
    memory.judge("later", ids[1], True)
    restore(memory.storage, tmp_path / "saved.zip")
    assert said(judgements) == {(ASKED, ids[0]): True}


@pytest.mark.parametrize("name", ["garbage", "3", "[]", '["a", "b"]', "[1, 2, 3, 4]"])
@pytest.mark.parametrize("text", ["garbage", "null", "[]", '{"right": 1, "judged_at": "2026-01-01T00:00:00+00:00"}'])
def test_a_damaged_judgement_costs_no_other(memory, judgements, ids, name, text):
    memory.judge(ASKED, ids[0], True)
    memory.storage.ledger.notes.write({f"judged:{name}": text})
    assert said(judgements) == {(ASKED, ids[0]): True}
