"""Evaluating a store on its own attempts."""

from __future__ import annotations

import pytest

from atlas.evaluation.leave_one_out import Attempt, leave_one_out, outcome_agreement
from atlas.evaluation.report import Report, as_text
from atlas.evaluation.split import is_in_test_half
from tests.support.retrievers import ScriptedRetriever


def attempt(id, task_id, success=None):
    return Attempt(id=id, task_id=task_id, text=f"text of {id}", success=success)


def finding(**answers):
    return ScriptedRetriever("scripted", {f"text of {id}": found.split() for id, found in answers.items()})


def agreement(attempts, retriever, half="both"):
    return outcome_agreement(attempts, [retriever], half=half, seed=0)


def test_an_attempt_asks_for_the_others_at_its_task_and_not_for_itself():
    attempts = [attempt("a1", "a"), attempt("b1", "b"), attempt("a2", "a"), attempt("a3", "a")]
    queries = leave_one_out(attempts, half="both", seed=0).queries
    assert [(query.text, set(query.grades), set(query.excluded)) for query in queries] == [
        ("text of a1", {"a2", "a3"}, {"a1"}),
        ("text of a2", {"a1", "a3"}, {"a2"}),
        ("text of a3", {"a1", "a2"}, {"a3"}),
    ]


def test_tasks_without_an_identity_are_not_the_same_task():
    assert leave_one_out([attempt("a", ""), attempt("b", "")], half="both", seed=0).queries == ()


def test_a_large_store_is_sampled_the_same_way_each_time():
    attempts = [attempt(f"a{n}", f"task-{n // 2}") for n in range(400)]
    drawn = leave_one_out(attempts, half="both", seed=1, limit=50).queries
    assert len(drawn) == len(set(drawn_texts(drawn))) == 50
    assert drawn_texts(drawn) == drawn_texts(leave_one_out(attempts, half="both", seed=1, limit=50).queries)
    assert drawn_texts(drawn) != drawn_texts(leave_one_out(attempts, half="both", seed=2, limit=50).queries)


def drawn_texts(queries):
    return [query.text for query in queries]


def test_outcomes_are_foretold_by_those_that_are_found():
    attempts = [attempt("a", "1", True), attempt("b", "2", True), attempt("c", "3", False), attempt("d", "4", False)]
    told = agreement(attempts, finding(a="b", b="a c", c="a b d", d="c"))
    [row] = told.rows
    assert told.base_rate == 0.5
    assert row.accuracy.mean == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert row.brier.mean == pytest.approx((0 + 0.25 + (2 / 3) ** 2 + 0) / 4)


def test_the_base_rate_is_what_always_saying_the_same_would_reach():
    attempts = [attempt(str(n), str(n), n > 0) for n in range(4)]
    told = agreement(attempts, finding())
    assert (told.base_accuracy, told.base_brier) == (0.75, pytest.approx(0.1875))


def test_where_no_known_outcome_is_found_the_base_rate_stands_in():
    attempts = [attempt("a", "1", True), attempt("b", "2", True), attempt("c", "3", False), attempt("x", "4")]
    [row] = agreement(attempts, finding(a="x", b="a", c="a")).rows
    assert row.n_guessed == 1
    assert row.brier.mean == pytest.approx(((1 / 3) ** 2 + 0 + 1) / 3)


def test_rows_are_compared_on_the_same_attempts():
    attempts = [attempt("a", "1", True), attempt("b", "2", True), attempt("c", "3", False), attempt("d", "4", False)]
    good = finding(a="b", b="a", c="d", d="c")
    poor = ScriptedRetriever("poor", {"text of a": ["c"], "text of b": ["a"]}, baselines=("scripted", "not there"))
    row = outcome_agreement(attempts, [good, poor], half="both", seed=0).rows[1]
    assert row.accuracy.mean == pytest.approx((0 + 1 + 0.5 + 0.5) / 4)
    assert set(row.differences) == {"scripted"}
    assert row.differences["scripted"].accuracy.mean == pytest.approx(0.5 - 1)
    assert row.differences["scripted"].brier.mean == pytest.approx((1 + 0 + 0.25 + 0.25) / 4)


def test_the_difference_is_resampled_in_pairs():
    """Two rows that always differ by as much are surely different, however much both vary."""
    attempts = [attempt(f"{n}", f"task-{n}", n % 2 == 0) for n in range(40)]
    right = {f"text of {n}": [str((n + 2) % 40)] for n in range(0, 40, 2)}
    one = ScriptedRetriever("one", right)
    same = ScriptedRetriever("same", right, baselines=("one",))
    by = outcome_agreement(attempts, [one, same], half="both", seed=0).rows[1].differences["one"]
    assert (by.accuracy.mean, by.accuracy.interval.low, by.accuracy.interval.high) == (0, 0, 0)


def test_only_as_many_are_looked_at_as_a_search_gives():
    attempts = [attempt("a", "0", True), *(attempt(f"f{n}", f"{n + 1}", n > 3) for n in range(8))]
    [row] = agreement(attempts, finding(a="f0 f1 f2 f3 f4 f5 f6 f7")).rows
    assert row.n_guessed == 8
    assert row.accuracy.mean == pytest.approx(sum([0, 0, 0, 0, 0, 1, 1, 1, 1]) / 9)


def test_a_store_without_outcomes_has_no_agreement():
    assert agreement([attempt("a", "1"), attempt("b", "1")], finding()) is None


def test_each_half_foretells_its_own_tasks():
    attempts = [attempt(str(n), f"task-{n}", True) for n in range(20)]
    n_test = sum(is_in_test_half(f"task-{n}") for n in range(20))
    assert agreement(attempts, finding(), half="test").n_attempts == n_test
    assert agreement(attempts, finding(), half="dev").n_attempts == 20 - n_test


def test_the_report_tells_it_beside_the_base_rate():
    told = agreement([attempt("a", "1", True), attempt("b", "1", False)], finding(a="b"))
    report = Report(model="none", half="both", seed=0, retrievers={}, tasks=(), outcomes=told)
    lines = [line.split() for line in as_text(report).splitlines()]
    assert ["base", "rate", ".500", ".250"] in lines
    assert ["scripted", ".250", ".625", "1"] in lines
    assert "2 attempts at 1 task, 50% of them successes." in as_text(report)
