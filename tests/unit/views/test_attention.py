"""What Overview shows first: what fails, what is undecided, and whether there is a backup."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

import atlas
from atlas.core.types import JournalEntry
from atlas.storage.maintenance.backup import backup
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.curate.attention import AttentionRow, attention
from atlas.views.curate.cases import Case, failing_strategies
from atlas.views.curate.decisions import ask_again, keep
from atlas.views.curate.health import FAILING
from tests.support.records import START, attempt


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(tmp_path, clock) -> Iterator[atlas.MemorySystem]:
    settings = atlas.Settings(actor="ann")
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=settings, clock=clock) as memory:
        yield memory


def cases(**n_of: int) -> list[Case]:
    """Return so many cases of each queue, of records that do not exist."""
    return [
        Case(queue=queue, noun="experience", collection="atlas_experiences", ids=(f"{queue} {n}",))
        for queue, n_cases in n_of.items()
        for n in range(n_cases)
    ]


def test_nothing_is_listed_where_there_is_nothing_to_do(memory):
    assert attention(memory, n_own=0, now=START) == ()


def test_the_strategy_that_fails_most_comes_first_with_its_last_failure(memory):
    retry, check = (
        memory.strategies.add(atlas.Strategy(title=title, situation=title, suggestion="Do it"))
        for title in ("Retry at once", "Check first")
    )
    for n in range(12):
        memory.strategies.update_stats(retry, n == 0)
        memory.strategies.update_stats(check, True)
    (first,) = attention(memory, n_own=0, now=START)
    assert (first.what, first.page, dict(first.parameters)) == (
        "Strategy that fails most: Retry at once",
        "strategies",
        {"id": retry},
    )
    assert first.detail == "1 of 12 uses succeeded, last failed on 1 Mar 2026 by ann"
    case = Case(queue=FAILING, noun="strategy", collection="atlas_strategies", ids=(retry,))
    *_, undecided = attention(memory, [case, *cases(failing=2, stale=1)], n_own=0, now=START)
    assert undecided.detail == "3 failing (1 named above), 1 stale"


def test_a_failing_strategy_that_was_decided_to_stay_gives_way_to_the_next_one(memory):
    worst, bad, good = (
        memory.strategies.add(atlas.Strategy(title=title, situation=title, suggestion="Do it"))
        for title in ("Retry at once", "Guess", "Check first")
    )
    for n in range(12):
        memory.strategies.update_stats(worst, n == 0)
        memory.strategies.update_stats(bad, n < 2)
    for _ in range(36):
        memory.strategies.update_stats(good, True)

    def named() -> list[str]:
        return [row.parameters["id"] for row in attention(memory, n_own=0, now=START) if row.id == "strategy"]

    assert named() == [worst]
    first, second = failing_strategies(memory)
    keep(memory, [first])
    assert named() == [bad]
    keep(memory, [second])
    assert named() == []
    ask_again(memory, [first])
    assert named() == [worst]


def test_undecided_cases_are_counted_by_their_queue_and_add_up(memory):
    (row,) = attention(memory, cases(failing=3, unknown=1_016, never=37), n_own=0, now=START)
    assert (row.what, row.page) == ("1,056 cases to decide", "curate")
    assert row.detail == "3 failing, 1,016 outcome unknown, 37 never retrieved"


def test_a_failed_search_for_near_duplicates_is_told_beside_what_is_undecided(memory):
    (row,) = attention(memory, n_own=0, now=START, has_failed=True)
    assert (row.detail, row.page) == ("the search for near-duplicates failed", "curate")
    assert row.what == "Near-duplicates unknown"
    (row,) = attention(memory, cases(stale=2), n_own=0, now=START, has_failed=True)
    assert row.detail == "2 stale, the search for near-duplicates failed"


def test_a_missing_backup_is_named_until_one_is_made_and_again_when_it_is_old(memory, clock, tmp_path):
    def backups(now=START):
        return [row.what for row in attention(memory, n_own=1, now=now)]

    memory.store(attempt("Boil an egg"))
    assert backups() == ["No backup"]
    backup(memory.storage, tmp_path / "copy.zip")
    later = START + timedelta(days=40)
    assert backups() == backups(later) == []  # nothing has changed since
    clock.advance(timedelta(days=1))
    memory.store(attempt("Mend a shoe"))
    assert backups(START + timedelta(days=2)) == []
    assert backups(later) == ["Last backup 40 days ago"]


def test_searches_that_should_change_come_after_a_missing_backup_and_before_records(memory):
    memory.store(attempt("Boil an egg"))
    search = AttentionRow(
        id="search",
        severity="important",
        what="Search hides much",
        detail="",
        action="Adjust",
        page="evaluation",
    )
    rows = attention(memory, cases(unknown=1), n_own=1, now=START, search=search)
    assert [(row.id, row.severity) for row in rows] == [
        ("backup", "urgent"), ("search", "important"), ("undecided", "routine"),
    ]  # fmt: skip


def test_routine_searches_come_after_what_makes_agents_worse(memory):
    entry = JournalEntry(entry_type="crash_log", content="It burns", generation=1, created_at=START)
    memory.journal.add_entries([entry])
    search = AttentionRow(
        id="search", severity="routine", what="", detail="", action="Open", page="evaluation"
    )  # fmt: skip
    rows = attention(memory, cases(unknown=1), n_own=0, now=START, search=search)
    assert [row.id for row in rows] == ["crashes", "search", "undecided"]


def test_crashes_without_a_fix_are_counted_with_the_day_of_the_newest_and_open_the_journal_at_them(memory):
    journal = memory.journal

    def add(kind, n):
        made = JournalEntry(entry_type=kind, content=f"{kind} {n}", generation=n, created_at=START + timedelta(days=n))
        return journal.add_entries([made])[0]

    *crashes, fix = (add("crash_log" if n < 4 else "reflection", n) for n in range(5))
    journal.link(crashes[3], fix, "fixed_by")
    (row,) = attention(memory, n_own=0, now=START)
    assert (row.what, row.detail, row.severity) == ("3 crashes without a fix", "The newest on 3 Mar 2026", "important")
    assert (row.page, dict(row.parameters)) == ("journal", {"journal_fixes": "Crashes without a fix"})
    for crash in crashes[:3]:
        journal.link(crash, fix, "fixed_by")
    assert attention(memory, n_own=0, now=START) == ()
