"""The agents that wrote last, on Settings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import atlas
from atlas.testing import HashEmbedder
from atlas.views.settings.activity import agent_rows
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
        assert (rows[0].n_attempts, rows[0].last_at, rows[0].rate.text) == (1, BEGIN + timedelta(days=1), "100%")
        assert (rows[1].n_attempts, rows[1].rate.text) == (3, "100%")
