"""Protea's own calls (seed 003, §3 and §8), made of the class that stands for its `MemoryStore`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from atlas.core.errors import ImportFailed, InvalidInput
from atlas.protea import MemoryStore
from atlas.testing import FixedClock, HashEmbedder
from tests.unit.importers.databases import protea


@pytest.fixture
def clock():
    return FixedClock()


@pytest.fixture
def memory_store(tmp_path, clock):
    with MemoryStore(tmp_path / "memory", embedder=HashEmbedder(), clock=clock) as opened:
        yield opened


def test_protea_moves_over_by_changing_an_import(memory_store, clock):
    memory_store.add(1, "task", "User asked: sort a list, Result: sorted")
    memory_store.add(2, "crash_log", "Gen 2 died after 5s, Reason: heartbeat loss", {"attempt": 1})
    clock.advance(timedelta(minutes=1))
    last = memory_store.add(generation=3, entry_type="evolution_intent", content="Mend the heartbeat", importance=0.4)
    assert last == 3
    recent = memory_store.get_recent(limit=3)
    assert [row["id"] for row in recent] == [3, 2, 1]
    assert (recent[0]["generation"], recent[0]["importance"]) == (3, 0.4)
    assert recent[1]["metadata"] == {"attempt": 1}
    assert [row["id"] for row in memory_store.get_by_type("crash_log", limit=3)] == [2]
    assert [row["content"] for row in memory_store.get_by_type("task", 5)] == [recent[2]["content"]]
    assert [row["id"] for row in memory_store.search(["Heartbeat"], limit=10)] == [3, 2]
    assert [row["id"] for row in memory_store.search(["heartbeat", "los"], 1)] == [2]
    assert memory_store.search([]) == []
    assert memory_store.get_context_for_evolution(limit=1)[0]["entry_type"] == "crash_log"


def test_nothing_that_an_agent_adds_is_kept_out(memory_store):
    assert [memory_store.add(1, "observation", "ok") for _ in range(3)] == [1, 2, 3]
    assert memory_store.count() == 3


def test_what_is_no_entry_and_no_keywords_is_refused_in_words(memory_store):
    with pytest.raises(InvalidInput, match="content should say something"):
        memory_store.add(1, "task", " ")
    with pytest.raises(InvalidInput, match="keywords should be several names"):
        memory_store.search("heartbeat")
    assert memory_store.count() == 0


def test_a_file_of_protea_comes_in_first_and_the_numbers_go_on(tmp_path):
    file = protea(tmp_path / "memory.db", [{}, {"metadata": '{"user": "ada"}'}])
    before = file.read_bytes()
    for expected in (3, 4):
        with MemoryStore(file, embedder=HashEmbedder(), clock=FixedClock()) as opened:
            assert opened.add(9, "task", "User asked: something new") == expected
            rows = opened.get_recent()
    assert [row["id"] for row in rows] == [4, 3, 2, 1]
    assert {row["id"]: row["metadata"] for row in rows}[2] == {"user": "ada"}
    assert file.read_bytes() == before


def test_a_file_of_something_else_is_refused_in_words(tmp_path):
    file = tmp_path / "memory.db"
    file.write_text("no database")
    with pytest.raises(ImportFailed, match=r"memory\.db"):
        MemoryStore(file, embedder=HashEmbedder())
