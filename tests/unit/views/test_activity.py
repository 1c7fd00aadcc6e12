"""The agents that wrote last, on Settings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import atlas
from atlas.testing import HashEmbedder
from atlas.views.settings.activity import agent_facts
from tests.support.records import attempt

BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_the_agents_that_wrote_last_are_named_however_little_they_wrote(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        assert agent_facts(memory) == {}
        many = [attempt(f"Mend {n}", agent=f"old-{n % 8}", at=BEGIN + timedelta(minutes=n)) for n in range(24)]
        newest = attempt("Sort", agent="new", at=BEGIN + timedelta(days=1))
        memory.experience.store_many([*many, attempt("Bake"), newest])
        facts = agent_facts(memory)
        assert facts["2 Mar 2026, 09:00"] == "new: 1 attempt"
        assert [text.split(":")[0] for text in facts.values()] == [
            "new",
            "old-7",
            "old-6",
            "old-5",
            "old-4",
            "9 agents",
        ]
        assert facts["In all"] == "9 agents"
