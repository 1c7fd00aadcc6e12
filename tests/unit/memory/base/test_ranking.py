"""The order of what is found: similarity first, and among about equals what has worked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.core.errors import InvalidInput
from atlas.core.operations import Usage
from atlas.core.settings import RankingWeights
from atlas.memory.base.ranking import check_threshold, diversify, explain, maximal_marginal_relevance, rank
from atlas.memory.base.scoring import Calibration, Candidate, retention
from tests.support.memories import NOW, ago, attempt, memory_over, task

WEIGHTS = RankingWeights()
SCALE = Calibration(unrelated=0.0, near=1.0)


def candidate(name, similarity, success=None, *, words=0.0, age_days=0.0, n_uses=0, n_successes=0, pinned=False):
    return Candidate(
        item=name,
        similarity=similarity,
        words=words,
        success=success,
        created_at=ago(age_days),
        usage=Usage(n_uses=n_uses, n_successes=n_successes),
        is_pinned=pinned,
    )


def order(*candidates, weights=WEIGHTS, scale=SCALE):
    return "".join(hit.item for hit in rank(candidates, weights, scale, NOW))


def relevant(hit):
    return hit.relevance >= 0.25


def only(candidate, scale=SCALE):
    return rank([candidate], WEIGHTS, scale, NOW)[0]


def test_successes_come_before_unknown_ones_and_those_before_failures_among_equals():
    assert order(candidate("f", 0.8, False), candidate("u", 0.8), candidate("s", 0.8, True)) == "suf"


def test_importance_stands_in_the_place_of_success_and_moves_only_about_equals():
    entry, other, far = [
        replace(candidate(name, similarity), importance=importance)
        for name, similarity, importance in (("i", 0.8, 1.0), ("o", 0.81, 0.0), ("f", 0.9, 0.0))
    ]
    assert order(other, entry, far) == "fio"
    assert "success" not in only(entry).signals
    assert only(entry).signals["importance"] == WEIGHTS.importance <= WEIGHTS.success
    assert "importance" not in only(candidate("s", 0.8)).signals


def test_a_clearly_more_relevant_failure_comes_first():
    assert order(candidate("s", 0.7, True), candidate("f", 0.9, False)) == "fs"


def test_words_count_as_meaning_does():
    assert order(candidate("m", 0.5), candidate("w", 0.4, words=0.25)) == "wm"
    assert order(candidate("m", 0.5), candidate("w", 0.4, words=0.01)) == "mw"


def test_without_one_of_the_two_the_other_makes_all_of_the_relevance():
    meaning_alone = rank([candidate("a", 0.8)], replace(WEIGHTS, words=0.0), SCALE, NOW)[0]
    words_alone = rank([candidate("a", 0.8, words=1.0)], replace(WEIGHTS, meaning=0.0), SCALE, NOW)[0]
    neither = rank([candidate("a", 0.8)], replace(WEIGHTS, meaning=0.0, words=0.0), SCALE, NOW)[0]
    assert meaning_alone.relevance == pytest.approx(0.8)
    assert (words_alone.relevance, neither.relevance) == (1.0, 0.0)


def test_what_helped_comes_before_what_did_not():
    bad, good = candidate("b", 0.8, n_uses=4, n_successes=0), candidate("g", 0.8, n_uses=4, n_successes=4)
    assert order(bad, candidate("n", 0.8), good) == "gnb"


def test_newer_comes_before_older_and_pinned_before_others_among_equals():
    assert order(candidate("o", 0.8, age_days=900), candidate("n", 0.8, age_days=1)) == "no"
    assert order(candidate("o", 0.8), candidate("p", 0.8, pinned=True)) == "po"


def test_equals_stay_as_they_came():
    assert order(candidate("a", 0.5), candidate("b", 0.5), candidate("c", 0.5)) == "abc"


def test_without_nudges_relevance_alone_decides():
    weights = RankingWeights(success=0, use=0, recency=0, pin=0)
    assert order(candidate("a", 0.7, True), candidate("b", 0.8, False), weights=weights) == "ba"


CANDIDATES = st.builds(
    candidate,
    st.text("abc", min_size=1),
    st.floats(-1, 1),
    st.sampled_from([True, False, None]),
    words=st.floats(0, 1),
    age_days=st.floats(-10, 10_000),
    n_uses=st.just(4),
    n_successes=st.integers(0, 4),
    pinned=st.booleans(),
)


@settings(deadline=None)
@given(st.lists(CANDIDATES, max_size=8), st.floats(0, 0.5), st.floats(0.1, 0.5))
def test_signals_add_up_and_never_outweigh_a_larger_difference_of_relevance(candidates, unrelated, span):
    hits = rank(candidates, WEIGHTS, Calibration(unrelated=unrelated, near=unrelated + span), NOW)
    for hit in hits:
        assert list(hit.signals) == ["meaning", "words", "success", "use", "recency", "pin"]
        assert hit.rank_value == pytest.approx(sum(hit.signals.values()))
        assert 0 <= hit.relevance <= 1
        nudges = {name: hit.signals[name] for name in ("success", "use", "recency", "pin")}
        assert all(0 <= value <= getattr(WEIGHTS, name) for name, value in nudges.items())
    for first, second in pairwise(hits):
        assert first.rank_value >= second.rank_value
        before, after = (hit.signals["meaning"] + hit.signals["words"] for hit in (first, second))
        assert before > after - WEIGHTS.nudges - 1e-9


def test_what_is_less_relevant_is_left_out_and_stands_for_nothing():
    candidates = [candidate("near", 0.9), candidate("far", 0.1, True)]
    assert [hit.item for hit in rank(candidates, WEIGHTS, SCALE, NOW, is_kept=relevant)] == ["near"]
    assert rank(candidates[1:], WEIGHTS, SCALE, NOW, is_kept=relevant) == []
    alike = [at("a", "below", 0.545, True), at("a", "above", 0.56)]
    (hit,) = rank(alike, WEIGHTS, SCALE, NOW, is_kept=relevant, distinct=True)
    assert (hit.item, hit.outcomes) == ("above", {"unknown": 1})


def at(task_id, name, similarity, success=None):
    return replace(candidate(name, similarity, success), task_id=task_id)


def test_attempts_at_one_task_that_are_alike_become_one_hit_that_tells_how_all_went():
    candidates = [at("a", "f", 0.8, False), at("a", "s", 0.8, True), at("b", "o", 0.7), at("a", "u", 0.81)]
    hits = rank(candidates, WEIGHTS, SCALE, NOW, distinct=True)
    assert [(hit.item, hit.outcomes) for hit in hits] == [
        ("s", {"succeeded": 1, "failed": 1, "unknown": 1}),
        ("o", {"unknown": 1}),
    ]
    assert len(rank(candidates, WEIGHTS, SCALE, NOW)) == 4


def test_of_attempts_that_are_alike_one_that_succeeded_is_shown():
    candidates = [at("a", "f", 0.815, False), at("b", "o", 0.807, True), at("a", "s", 0.8, True)]
    failed_first = replace(WEIGHTS, success=0.0)
    assert [hit.item for hit in rank(candidates, failed_first, SCALE, NOW)] == ["f", "o", "s"]
    hits = rank(candidates, failed_first, SCALE, NOW, distinct=True)
    assert [(hit.item, hit.outcomes) for hit in hits] == [("o", {"succeeded": 1}), ("s", {"failed": 1, "succeeded": 1})]


def test_attempts_that_say_something_else_or_are_at_no_known_task_stay_apart():
    apart = [at("a", "x", 0.9), at("a", "y", 0.5), at("", "p", 0.8), at("", "q", 0.8)]
    assert len(rank(apart, WEIGHTS, SCALE, NOW, distinct=True)) == 4


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_an_impossible_threshold_is_refused(threshold):
    with pytest.raises(InvalidInput, match="expected a relevance threshold from 0 to 1"):
        check_threshold(threshold)


def test_a_hit_is_explained_in_a_sentence():
    assert explain(only(candidate("a", 0.92, True, words=0.36, age_days=9000))) == (
        "Relevance 0.68: nearly the same meaning (similarity 0.92), and some of the query's words "
        "(36%, where rare words count more). Success and use moved it up by 0.025."
    )
    far = only(candidate("a", 0.1))
    assert explain(far).startswith("Relevance 0.05: another meaning (similarity 0.10), and none of the query's words.")


def test_a_hit_is_explained_by_what_it_was_ranked_by():
    near = candidate("a", 0.92, words=0.36, age_days=9000)
    by_words, by_meaning = replace(WEIGHTS, meaning=0.0), replace(WEIGHTS, words=0.0)
    [hit] = rank([near], by_words, SCALE, NOW)
    assert explain(hit).startswith(
        "Relevance 0.49: some of the query's words (36%, where rare words count more). Only words count for this query."
    )
    [hit] = rank([near], by_meaning, SCALE, NOW)
    assert explain(hit).startswith("Relevance 0.92: nearly the same meaning (similarity 0.92). ")


def test_retention_halves_with_each_half_life():
    half_life = timedelta(days=30)
    ages = [timedelta(days=days) for days in (-5, 0, 30, 60, 10**6)]
    assert [retention(age, half_life=half_life) for age in ages] == [1, 1, 0.5, 0.25, 0]
    assert retention(timedelta(days=10**6), half_life=half_life, floor=0.3) == 0.3


@pytest.mark.parametrize(
    ("days", "floor", "message"),
    [
        (0, 0, "a positive half_life"),
        (-1, 0, "a positive half_life"),
        (1, -0.1, "a number from 0 to 1 for floor"),
        (1, 1.1, "a number from 0 to 1 for floor"),
    ],
)
def test_an_impossible_retention_is_refused(days, floor, message):
    with pytest.raises(InvalidInput, match=f"expected {message}"):
        retention(timedelta(0), half_life=timedelta(days=days), floor=floor)


def test_marginal_relevance_puts_what_repeats_itself_last():
    vectors = np.array([[1, 0], [1, 0.01], [0, 1]], np.float32)
    assert maximal_marginal_relevance(vectors, [0.9, 0.89, 0.7], diversity=0.5) == [0, 2, 1]
    assert maximal_marginal_relevance(vectors, [0.9, 0.89, 0.7], diversity=0) == [0, 1, 2]
    assert maximal_marginal_relevance(vectors[:0], []) == []


@settings(deadline=None)
@given(st.lists(CANDIDATES, max_size=8), st.floats(0, 0.95), st.integers(0, 9))
def test_diversified_hits_are_the_same_hits_in_an_order_that_their_values_show(candidates, diversity, seed):
    hits = rank(candidates, WEIGHTS, SCALE, NOW)
    vectors = np.random.default_rng(seed).normal(size=(len(hits), 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    spread = diversify(hits, vectors, diversity)
    assert Counter(hit.similarity for hit in spread) == Counter(hit.similarity for hit in hits)
    for hit in spread:
        assert hit.signals["diversity"] <= 0
    for first, second in pairwise(spread):
        assert first.rank_value >= second.rank_value - 1e-6
    if spread:
        assert spread[0].signals["diversity"] == 0


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
        assert hit.signals["success"] == WEIGHTS.success
