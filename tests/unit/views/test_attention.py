"""What Overview shows first: what fails, what is undecided, and whether there is a backup."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

import atlas
from atlas.jobs.duplicates import DuplicatesResult
from atlas.jobs.worker import JobStatus
from atlas.storage.maintenance.backup import backup
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.curate.attention import attention
from atlas.views.curate.cases import Case, Cases, find_cases
from atlas.views.curate.health import NEVER, UNKNOWN, health
from tests.support.records import START, attempt

NO_CASES = Cases(by_queue={}, inbox=())


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(tmp_path, clock) -> Iterator[atlas.MemorySystem]:
    settings = atlas.Settings(actor="ann")
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=settings, clock=clock) as memory:
        yield memory


def test_nothing_is_listed_where_there_is_nothing_to_do(memory):
    assert attention(memory, NO_CASES, n_own=0, now=START) == ()


def test_the_strategy_that_fails_most_comes_first_with_its_last_failure(memory):
    retry, check = (
        memory.strategies.add(atlas.Strategy(title=title, situation=title, suggestion="Do it"))
        for title in ("Retry at once", "Check first")
    )
    for n in range(12):
        memory.strategies.update_stats(retry, n == 0)
        memory.strategies.update_stats(check, True)
    no_duplicates = DuplicatesResult(status=JobStatus(state="idle"))
    first, cases = attention(
        memory, find_cases(memory, health(memory, None, START), no_duplicates), n_own=0, now=START
    )  # fmt: skip
    assert (first.what, first.page, dict(first.parameters)) == (
        "Fails most: Retry at once",
        "strategies",
        {"id": retry},
    )
    assert first.detail == "1 of 12 uses succeeded, last failed on 1 Mar 2026 by ann"
    assert (cases.what, cases.detail, cases.page) == ("1 open case on Curate", "1 failing", "curate")


def test_a_case_in_two_queues_is_counted_in_the_first(memory):
    unknown, never = (Case(queue=queue, noun="experience", collection="c", ids=("a",)) for queue in (UNKNOWN, NEVER))
    cases = Cases(by_queue={UNKNOWN: (unknown,), NEVER: (never,)}, inbox=(unknown,))
    (row,) = attention(memory, cases, n_own=0, now=START)
    assert (row.what, row.detail) == ("1 open case on Curate", "1 outcome unknown")


def test_a_missing_backup_is_named_until_one_is_made_and_again_when_it_is_old(memory, clock, tmp_path):
    def backups(now=START):
        return [row.what for row in attention(memory, NO_CASES, n_own=1, now=now)]

    memory.store(attempt("Boil an egg"))
    assert backups() == ["No backup"]
    backup(memory.storage, tmp_path / "copy.zip")
    later = START + timedelta(days=40)
    assert backups() == backups(later) == []  # nothing has changed since
    clock.advance(timedelta(days=1))
    memory.store(attempt("Mend a shoe"))
    assert backups(START + timedelta(days=2)) == []
    assert backups(later) == ["Last backup 40 days ago"]
