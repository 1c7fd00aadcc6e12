"""The agents that wrote last, on Settings."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta

import pytest

import atlas
from atlas.core.types import JournalEntry
from atlas.jobs.duplicates import LiveDuplicates
from atlas.jobs.live_map import LiveMap
from atlas.testing import HashEmbedder
from atlas.views.settings.activity import (
    MAX_READ,
    agent_rows,
    agents_title,
    connecting_lines,
    count_agents,
    records_sentence,
    work_facts,
)
from tests.support.records import attempt

BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_the_agents_that_wrote_last_are_named_however_little_they_wrote(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert agent_rows(memory) == ()
        many = [attempt(f"Mend {n}", agent=f"old-{n % 8}", at=BEGIN + timedelta(minutes=n)) for n in range(24)]
        newest = attempt("Sort", agent="new", at=BEGIN + timedelta(days=1))
        memory.experience.store_many([*many, attempt("Bake"), newest])
        rows = agent_rows(memory)
        assert [row.name for row in rows] == ["new", "old-7", "old-6", "old-5", "old-4"]
        assert (rows[0].n_attempts, rows[0].last_at, rows[0].interval) == (1, BEGIN + timedelta(days=1), "16–100%")
        assert (rows[1].n_attempts, rows[1].rate.text, rows[1].rate.share) == (3, "100% of 3", 1.0)
        assert agents_title(len(rows), count_agents(memory)) == "Agents that wrote last: 5 of 9"
        assert agents_title(9, 9) == "Agents that wrote last"


def test_agents_are_listed_behind_many_newer_attempts_without_an_agent(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        later = [attempt(f"Mend {n}", at=BEGIN + timedelta(minutes=n)) for n in range(1, MAX_READ + 1)]
        memory.experience.store_many([attempt("Sort", agent="scout", at=BEGIN), *later])
        assert [row.name for row in agent_rows(memory)] == ["scout"]


def test_the_rate_of_an_agent_has_a_bar_unless_no_outcome_is_known(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.experience.store_many([attempt(f"Mend {n}", success=n > 0, agent="two") for n in range(2)])
        memory.experience.store(attempt("Sort", success=None, agent="none"))
        rates = {row.name: row.rate for row in agent_rows(memory)}
    assert (rates["two"].share, rates["two"].text) == (0.5, "50% of 2")
    assert (rates["none"].share, rates["none"].text) == (None, "not known")


@pytest.mark.parametrize("name", ["mine", "my store"])
def test_the_lines_that_connect_an_agent_open_this_store_where_they_are_pasted(tmp_path, monkeypatch, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    with atlas.open_memory(tmp_path / name, embedder=HashEmbedder()) as memory:
        claude, python = connecting_lines(memory, "atlas", "").values()
    _, _, arguments = claude.partition(" -- ")
    pasted = subprocess.run(["sh", "-c", f"printf '%s\\n' {arguments}"], capture_output=True, text=True, check=True)
    assert pasted.stdout.splitlines() == ["atlas", "--store", str(tmp_path / name), "mcp"]
    assert str(tmp_path) not in claude + python, "the home directory is not named"
    opened: dict[str, atlas.MemorySystem] = {}
    exec(python.replace(")", ", embedder=embedder)"), {"embedder": HashEmbedder()}, opened)
    with opened["memory"] as memory:
        assert memory.storage.path == tmp_path / name


def test_the_records_are_counted_without_the_memories_that_are_empty(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert records_sentence(memory) == ""
        memory.experience.store_many([attempt("Bake"), attempt("Mend")])
        memory.journal.add_entries([JournalEntry(entry_type="reflection", content="Wait", generation=1)])
        assert records_sentence(memory) == "2 experiences · 1 journal entry"


class IdleWorker:
    """A worker that was never asked to work."""

    def status(self, key: str) -> None:
        return None


def test_near_duplicates_of_a_small_store_need_no_background_work(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.experience.store_many([attempt("Bake"), attempt("Mend")])
        facts = [
            work_facts(LiveMap(memory, IdleWorker()), LiveDuplicates(memory, IdleWorker(), max_synchronous=most))
            for most in (2, 1)
        ]
    assert [each["Near-duplicates"] for each in facts] == ["looked for when Curate is opened", "not made yet"]
    assert {each["Last map"] for each in facts} == {"not made yet"}
