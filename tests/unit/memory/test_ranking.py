"""The order of what is found: similarity first, and among about equals what has worked."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.core.errors import InvalidInput
from atlas.core.settings import RankingWeights
from atlas.core.types import Usage
from atlas.memory.ranking import Candidate, maximal_marginal_relevance, rank, retention
from tests.unit.memory.conftest import NOW, ago, attempt, memory_over, task

WEIGHTS = RankingWeights()
MOST = WEIGHTS.success + WEIGHTS.use + WEIGHTS.recency


def candidate(name, similarity, success=None, *, age_days=0.0, n_uses=0, n_successes=0):
    usage = Usage(n_uses=n_uses, n_successes=n_successes)
    return Candidate(item=name, similarity=similarity, success=success, created_at=ago(age_days), usage=usage)


def order(*candidates, weights=WEIGHTS):
    return "".join(hit.item for hit in rank(candidates, weights, NOW))


def test_successes_come_before_unknown_ones_and_those_before_failures_among_equals():
    assert order(candidate("f", 0.8, False), candidate("u", 0.8), candidate("s", 0.8, True)) == "suf"


def test_a_clearly_more_similar_failure_comes_first():
    assert order(candidate("s", 0.7, True), candidate("f", 0.9, False)) == "fs"


def test_what_helped_comes_before_what_did_not():
    bad, good = candidate("b", 0.8, n_uses=4, n_successes=0), candidate("g", 0.8, n_uses=4, n_successes=4)
    assert order(bad, candidate("n", 0.8), good) == "gnb"


def test_newer_comes_before_older_among_equals():
    assert order(candidate("o", 0.8, age_days=900), candidate("n", 0.8, age_days=1)) == "no"


def test_equals_stay_as_they_came():
    assert order(candidate("a", 0.5), candidate("b", 0.5), candidate("c", 0.5)) == "abc"


def test_without_weights_similarity_alone_decides():
    weights = RankingWeights(success=0, use=0, recency=0)
    assert order(candidate("a", 0.7, True), candidate("b", 0.8, False), weights=weights) == "ba"


CANDIDATES = st.builds(
    candidate,
    st.text("abc", min_size=1),
    st.floats(-1, 1),
    st.sampled_from([True, False, None]),
    age_days=st.floats(-10, 10_000),
    n_uses=st.just(4),
    n_successes=st.integers(0, 4),
)


@given(st.lists(CANDIDATES, max_size=8))
def test_signals_add_up_and_never_outweigh_a_larger_difference_of_similarity(candidates):
    hits = rank(candidates, WEIGHTS, NOW)
    for hit in hits:
        assert list(hit.signals) == ["similarity", "success", "use", "recency"]
        assert hit.rank_value == pytest.approx(sum(hit.signals.values()))
        assert hit.signals["similarity"] == hit.similarity
        assert all(0 <= hit.signals[name] <= getattr(WEIGHTS, name) for name in ("success", "use", "recency"))
    for first, second in pairwise(hits):
        assert first.rank_value >= second.rank_value
        assert first.similarity > second.similarity - MOST - 1e-9


def test_retention_halves_with_each_half_life():
    half_life = timedelta(days=30)
    ages = [timedelta(days=days) for days in (-5, 0, 30, 60, 10**6)]
    assert [retention(age, half_life=half_life) for age in ages] == [1, 1, 0.5, 0.25, 0]
    assert retention(timedelta(days=10**6), half_life=half_life, floor=0.3) == 0.3


@pytest.mark.parametrize(("days", "floor"), [(0, 0), (-1, 0), (1, -0.1), (1, 1.1)])
def test_an_impossible_retention_is_refused(days, floor):
    with pytest.raises(InvalidInput, match="expected a positive half-life and a floor"):
        retention(timedelta(0), half_life=timedelta(days=days), floor=floor)


def test_marginal_relevance_puts_what_repeats_itself_last():
    vectors = np.array([[1, 0], [1, 0.01], [0, 1]], np.float32)
    assert maximal_marginal_relevance(vectors, [0.9, 0.89, 0.7], diversity=0.5) == [0, 2, 1]
    assert maximal_marginal_relevance(vectors, [0.9, 0.89, 0.7], diversity=0) == [0, 1, 2]
    assert maximal_marginal_relevance(vectors[:0], []) == []


@pytest.mark.parametrize("kind", ["memory", "dict", "ledger"])
def test_search_puts_successes_first_among_attempts_at_the_same_task(kind, tmp_path):
    with memory_over(kind, tmp_path) as memory:
        outcomes = [False, None, True, False, True, None]
        memory.store_many([attempt("cancel a flight", success) for success in outcomes])
        memory.store(attempt("something else entirely", True))
        found = memory.search(task("cancel a flight"), k=6)
        assert [e.success for e in found] == [True, True, None, None, False, False]
        hit = memory.search_hits("cancel a flight", 1)[0]
        assert hit.similarity == pytest.approx(1, abs=1e-5)
        assert hit.rank_value == pytest.approx(1 + 0.05 + 0.01 + 0.01, abs=1e-5)
