"""The queue of what keys under review wrote: whose it is, since when, and what accepting and rejecting do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import atlas
from atlas.core.errors import PlanOutdated
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import HashEmbedder
from atlas.views.curate.queues import REVIEW, TITLES, tabs
from atlas.views.curate.review import RejectRequest, accept, n_waiting, review_queue, words_of
from tests.support.records import attempt


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[atlas.MemorySystem]:
    """An attempt, a strategy and a note of one key under review, an attempt of another, and one that waits not."""
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        opened.store(attempt("Water the garden"))
        with acting(Actor("crawler", Role.WRITER, is_reviewed=True)):
            opened.store(attempt("Sort a list"))
            opened.strategies.add(atlas.Strategy(situation="Sorting", suggestion="Use sorted"))
            opened.journal.add("observation", "Sorting takes long", generation=0)
        with acting(Actor("intern", Role.WRITER, is_reviewed=True)):
            opened.store(attempt("Join two tables"))
        yield opened


def titles(found) -> list[str]:
    return sorted(row.title for row in found.rows)


def test_it_lists_what_waits_of_every_kind_by_its_writer(memory):
    found = review_queue(memory)
    assert n_waiting(memory) == len(found.rows) == 4
    assert found.n_by_writer == {"crawler": 3, "intern": 1}
    assert words_of(found.rows) == "2 experiences, 1 strategy and 1 entry"
    assert titles(review_queue(memory, "intern")) == ["Join two tables"]
    assert review_queue(memory, "intern").n_by_writer == found.n_by_writer
    assert review_queue(memory, since=datetime.now(UTC) + timedelta(hours=1)).rows == ()
    assert len(review_queue(memory, since=datetime.now(UTC) - timedelta(hours=1)).rows) == 4


def test_the_tab_is_there_where_anything_waits():
    counts = dict.fromkeys(("duplicates", "failing", "never", "stale", "unknown", "buried"), 0)
    assert REVIEW not in tabs(counts)
    assert list(tabs({**counts, REVIEW: 3}).items())[1] == (REVIEW, f"{TITLES[REVIEW]} 3")


def test_all_of_a_key_are_accepted_as_one_operation(memory):
    operation = accept(memory, review_queue(memory, "crawler").rows)
    assert titles(review_queue(memory)) == ["Join two tables"]
    assert memory.operation(operation).counts == {"marked": 3}
    memory.undo(operation)
    assert n_waiting(memory) == 4


def test_all_of_a_key_are_rejected_as_one_operation(memory):
    plan = RejectRequest(rows=review_queue(memory, "crawler").rows).propose(memory)
    assert plan.view.button == "Reject 1 experience, 1 strategy and 1 entry"
    assert {row.why for row in plan.view.rows} == {"written by crawler"}
    operation = plan.apply(memory)
    assert titles(review_queue(memory)) == ["Join two tables"]
    assert len(memory.experience) == 2
    memory.undo(operation)
    assert n_waiting(memory) == 4


def test_what_was_accepted_meanwhile_is_not_rejected(memory):
    rows = review_queue(memory).rows
    plan = RejectRequest(rows=rows).propose(memory)
    accept(memory, rows[:1])
    with pytest.raises(PlanOutdated, match="Reload the list"):
        plan.apply(memory)
    assert RejectRequest(rows=rows[:1]).propose(memory).view.button == ""


def test_what_was_changed_since_it_was_looked_at_is_not_accepted(memory):
    rows = review_queue(memory, "intern").rows
    with acting(Actor("intern", Role.WRITER, is_reviewed=True)):
        memory.experience.edit(rows[0].id, feedback="something else altogether")
    with pytest.raises(PlanOutdated):
        accept(memory, rows)
    assert n_waiting(memory) == 4
