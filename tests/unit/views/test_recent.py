"""What is new in a store, in a sentence on Overview."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

import atlas
from atlas.core.statistics import rates_by_day
from atlas.testing import HashEmbedder
from atlas.views.overview.recent import recent
from tests.support.records import attempt


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        yield opened


def sentence(memory: atlas.MemorySystem, *times: datetime, today: date) -> tuple[str, date]:
    """What is new after attempts at these times."""
    memory.experience.store_many(
        [attempt(f"Mend {time}", agent="scout", at=time.replace(tzinfo=UTC)) for time in times]
    )
    found = recent(memory, rates_by_day(memory.experience.counts_by_day()), today)
    assert found is not None
    return found.sentence, found.since


def test_the_last_seven_days_end_today(memory):
    times = datetime(2026, 3, 1, 9), datetime(2026, 3, 2, 9), datetime(2026, 3, 8, 23)
    assert sentence(memory, *times, today=date(2026, 3, 8)) == ("Last 7 days: 2 attempts by 1 agent", date(2026, 3, 2))


def test_attempts_that_name_no_agent_are_told_apart(memory):
    today = datetime(2026, 3, 8, 9, tzinfo=UTC)
    memory.experience.store_many(attempt(f"Bake {n}", at=today) for n in range(3))
    assert sentence(memory, datetime(2026, 3, 8, 9), today=date(2026, 3, 8))[0] == (
        "Last 7 days: 4 attempts, 1 of them by 1 agent"
    )


def test_in_an_idle_store_they_end_with_the_newest_attempt(memory):
    found = sentence(memory, datetime(2026, 3, 8, 9), today=date(2026, 9, 1))
    assert found == ("7 days to 8 Mar 2026: 1 attempt by 1 agent", date(2026, 3, 2))


def test_a_zero_time_is_no_problem(memory):
    assert sentence(memory, datetime(1, 1, 1), today=date(2026, 9, 1))[1] == date(1, 1, 1)
