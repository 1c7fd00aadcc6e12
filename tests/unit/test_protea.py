"""Protea's own calls (seed 003, §3 and §8), made of the class that stands for its `MemoryStore`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from atlas.core.errors import ImportFailed, InvalidInput
from atlas.protea import MemoryStore
from atlas.testing import FixedClock, HashEmbedder
from tests.support.memories import attempt
from tests.support.protea import EARLY, protea


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
    with pytest.raises(InvalidInput, match="expected a string that is not blank for an entry's content"):
        memory_store.add(1, "task", " ")
    with pytest.raises(InvalidInput, match=r"expected several names such as .* for keywords"):
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


def test_a_file_of_something_else_is_refused_in_words_and_nothing_is_made_beside_it(tmp_path):
    file = tmp_path / "memory.db"
    file.write_text("no database")
    with pytest.raises(ImportFailed, match=r"memory\.db is not a SQLite file; give the path of a store"):
        MemoryStore(file, embedder=HashEmbedder())
    assert [path.name for path in tmp_path.iterdir()] == ["memory.db"]


def genes(file, *, wal=False):
    """A file in which another part of the agent keeps its own, before there is any memory."""
    with closing(sqlite3.connect(file)) as connection, connection:
        if wal:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE gene_pool (id INTEGER PRIMARY KEY, score REAL, source TEXT)")
        connection.execute("CREATE INDEX by_score ON gene_pool (score)")
        connection.execute("INSERT INTO gene_pool VALUES (1, 0.5, 'def beat(): pass')")
    return file


def dumped(file):
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize("wal", [False, True])
def test_a_file_that_another_part_made_first_is_taken_and_gets_the_table(tmp_path, wal):
    file = genes(tmp_path / "protea.db", wal=wal)
    before = dumped(file)
    with closing(sqlite3.connect(file)) as other:  # the other part has it open meanwhile
        for expected in (1, 2):
            with MemoryStore(file, embedder=HashEmbedder(), clock=FixedClock()) as opened:
                assert opened.add(1, "task", f"User asked: task {expected}") == expected
        other.execute("INSERT INTO gene_pool VALUES (2, 0.7, '')")
        other.rollback()
        columns = [row[1] for row in other.execute("PRAGMA table_info(memory)")]
    assert columns == list(EARLY)
    assert [line for line in dumped(file) if "memory" not in line] == before


def test_a_file_in_which_nothing_was_written_yet_is_taken(tmp_path):
    file = tmp_path / "protea.db"
    file.touch()
    with MemoryStore(file, embedder=HashEmbedder()) as opened:
        assert opened.add(1, "task", "User asked: sort a list") == 1
    assert "CREATE TABLE memory" in "".join(dumped(file))


def test_what_another_part_calls_memory_stays_and_the_log_says_so(tmp_path, caplog):
    file = tmp_path / "protea.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE memory (address INTEGER, value BLOB)")
        connection.execute("INSERT INTO memory VALUES (1, x'00')")
    before = file.read_bytes()
    with MemoryStore(file, embedder=HashEmbedder()) as opened:
        assert opened.count() == 0
    assert "protea.db is adopted without entries: its table `memory` has no id, entry_type, content" in caplog.text
    assert file.read_bytes() == before


def test_a_file_that_may_not_be_written_is_taken_without_the_table(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("atlas.importers.formats.protea.LOCK_TIMEOUT_SECONDS", 0.0)
    file = genes(tmp_path / "protea.db")
    with closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN IMMEDIATE")
        with MemoryStore(file, embedder=HashEmbedder()) as opened:
            assert opened.add(1, "task", "User asked: sort a list") == 1
    assert "protea.db has no table `memory`, and it could not be created: database is locked" in caplog.text


def test_clearing_forgets_every_entry_as_one_operation_and_numbers_go_on(memory_store):
    memory_store.clear()  # nothing to do
    for generation in (1, 2, 3):
        memory_store.add(generation, "task", f"User asked: task {generation}")
    kept = memory_store.memory.store(attempt("cancel a flight"))["experience"]
    assert memory_store.clear() is None
    assert (memory_store.count(), memory_store.get_recent()) == (0, [])
    assert memory_store.memory.experience.get(kept)
    (last, *_) = memory_store.memory.history(1)
    assert (last.kind, last.reason, last.counts["removed"]) == ("delete", "cleared", 3)
    assert memory_store.add(9, "task", "User asked: again") == 4
    memory_store.memory.undo(last.id)
    assert sorted(row["id"] for row in memory_store.get_recent()) == [1, 2, 3, 4]
    memory_store.clear()
    memory_store.clear()
    assert memory_store.add(9, "task", "User asked: again") == 5


def test_what_was_cleared_does_not_come_in_again_with_its_file(tmp_path):
    file = protea(tmp_path / "memory.db", [{}, {}])
    with MemoryStore(file, embedder=HashEmbedder()) as opened:
        assert opened.count() == 2
        opened.clear()
    with MemoryStore(file, embedder=HashEmbedder()) as opened:
        assert opened.count() == 0
