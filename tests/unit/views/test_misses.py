"""Judged queries whose first hit is not right."""

from __future__ import annotations

import pytest

import atlas
from atlas.testing import HashEmbedder
from atlas.views.evaluation.misses import miss_rows, missed_queries
from tests.support.records import attempt

RIGHT, WRONG = "Rotate the logs of the crawler", "Bake a cake for the office party"


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        yield opened


def test_only_queries_whose_first_hit_is_not_right_are_listed(memory):
    right, wrong = memory.experience.store_many([attempt(RIGHT), attempt(WRONG)])
    memory.judge(RIGHT, right, True)
    memory.judge(f"{RIGHT}, all of them", wrong, True)
    found = missed_queries(memory)
    assert (found.n, found.n_searched) == (1, 2)
    assert found.sentence == "For 1 of 2 judged queries, the first hit is not one that was judged right."
    [row] = miss_rows(memory, found)
    assert (row.query, row.first, row.right) == (f"{RIGHT}, all of them", RIGHT, WRONG)
    assert row.rank in ("2", "not in 10")


def test_a_record_that_no_search_may_find_is_not_missed(memory):
    right, _ = memory.experience.store_many([attempt(RIGHT), attempt(WRONG)])
    memory.judge(RIGHT, right, True)
    memory.quarantine([right], reason="it looks like an instruction")
    assert missed_queries(memory).n_searched == 0


def test_nothing_is_listed_without_judged_queries(memory):
    memory.experience.store(attempt(RIGHT))
    assert missed_queries(memory).n_searched == 0
