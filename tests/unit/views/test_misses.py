"""Judged queries whose first hit is not right, as they were measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

import atlas
from atlas.evaluation.job import evaluate_now
from atlas.evaluation.judged import MissedQueries
from atlas.evaluation.report import as_json
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import HashEmbedder
from atlas.views.evaluation.misses import HIDDEN, miss_rows, misses_sentence
from tests.support.records import attempt

RIGHT, WRONG = "Rotate the logs of the crawler", "Bake a cake for the office party"
QUERY = f"{RIGHT}, all of them"


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        yield opened


def missed(memory: atlas.MemorySystem) -> MissedQueries | None:
    return evaluate_now(memory, seed=0, on_progress=lambda done, total, what: None).report.missed


@pytest.fixture
def ids(memory):
    """One query whose first hit was judged right, and one whose first hit was not."""
    right, wrong = memory.experience.store_many([attempt(RIGHT), attempt(WRONG)])
    memory.judge(RIGHT, right, True)
    memory.judge(QUERY, wrong, True)
    return right, wrong


def test_only_queries_whose_first_hit_is_not_right_are_listed(memory, ids):
    found = missed(memory)
    assert (found.n_missed, found.n_judged, found.strictness) == (1, 2, 1.0)
    [row] = miss_rows(memory, found)
    assert (row.query, row.first, row.right) == (QUERY, RIGHT, WRONG)
    assert row.rank in ("2", "not in 10")
    sentence = "For 1 of 2 judged queries, the first hit is not one that was judged right."
    assert misses_sentence(found, 1, 1.0) == sentence
    assert misses_sentence(found, 1, 1.5) == f"At strictness 1, f{sentence[1:]}"
    assert misses_sentence(replace(found, n_missed=2), 1, 1.0) == sentence.replace("1 of", "2 of") + " 1 of them:"


def test_the_report_has_no_text_of_the_query_or_its_records(memory, ids):
    report = evaluate_now(memory, seed=0, on_progress=lambda done, total, what: None).report
    assert report.missed.worst
    assert not any(text in as_json(report) for text in (QUERY, RIGHT, WRONG))


def test_a_query_whose_judgements_were_deleted_since_is_not_listed(memory, ids):
    found = missed(memory)
    memory.storage.judgements.forget([QUERY])
    assert miss_rows(memory, found) == ()


def test_a_record_that_the_visitor_cannot_read_has_no_title(memory, ids):
    right, wrong = ids
    found = missed(memory)
    memory.experience.delete([right])
    [row] = miss_rows(memory, found)
    assert row.first == HIDDEN
    memory.experience.delete([wrong])
    assert miss_rows(memory, found) == ()


def test_an_agent_does_not_see_the_title_of_a_record_in_quarantine(memory, ids):
    right, _ = ids
    found = missed(memory)
    memory.quarantine([right], reason="it looks like an instruction")
    with acting(Actor("clerk", Role.WRITER, is_agent=True)):
        [row] = miss_rows(memory, found)
    assert row.first == HIDDEN


def test_a_record_that_no_search_may_find_is_not_missed(memory):
    right, _ = memory.experience.store_many([attempt(RIGHT), attempt(WRONG)])
    memory.judge(RIGHT, right, True)
    memory.quarantine([right], reason="it looks like an instruction")
    assert missed(memory).n_judged == 0


def test_nothing_is_listed_without_judged_queries(memory):
    memory.experience.store(attempt(RIGHT))
    found = missed(memory)
    assert (found.n_judged, found.worst) == (0, ())
