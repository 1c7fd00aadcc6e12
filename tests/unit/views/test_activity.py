"""The agents that wrote last, on Settings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import atlas
from atlas.testing import HashEmbedder
from atlas.views.settings.activity import agent_rows, agents_caption, count_agents
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
        assert (rows[0].n_attempts, rows[0].last_at, rows[0].rate.share) == (1, BEGIN + timedelta(days=1), None)
        assert (rows[1].n_attempts, rows[1].rate.text) == (3, "100% of 3 (likely 40–100%)")
        assert agents_caption(len(rows), count_agents(memory)) == "The latest 5 of 9 agents"
        assert agents_caption(9, 9) == ""


def test_a_rate_has_a_bar_once_five_outcomes_are_known(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.experience.store_many([attempt(f"Mend {n}", success=n > 0, agent="five") for n in range(5)])
        memory.experience.store(attempt("Sort", success=None, agent="none"))
        rates = {row.name: row.rate for row in agent_rows(memory)}
    assert rates["five"].share == 0.8
    assert rates["five"].text.startswith("80% of 5 (likely ")
    assert (rates["none"].share, rates["none"].text) == (None, "–")
