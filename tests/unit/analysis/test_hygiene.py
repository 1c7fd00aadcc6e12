"""What is told apart as never retrieved, stale, or failing."""

from __future__ import annotations

from atlas.analysis.hygiene import is_failing, never_retrieved, rates_by_group, stale, worst_first
from atlas.analysis.statistics import SuccessRate

OLD, NEW, LINE = "2026-01-01T00:00:00+00:00", "2026-06-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00"


def test_what_no_search_has_returned_is_listed_longest_stored_first():
    stored = {"b": "2026-02-01T00:00:00+00:00", "a": OLD, "found": OLD, "new": NEW}
    assert never_retrieved(stored, {"found": 3, "a": 0}, stored_before=LINE) == ("a", "b")


def test_what_was_attempted_long_ago_and_retrieved_lately_is_not_stale():
    attempted = dict.fromkeys(("idle", "used", "stored lately", "young"), OLD) | {"young": NEW}
    stored = dict.fromkeys(attempted, OLD) | {"stored lately": NEW}
    found = stale(attempted, stored, {"used": NEW}, attempted_before=LINE, unused_since=LINE)
    assert found == ("idle",)


def test_a_missing_time_never_makes_anything_stale():
    assert stale({"a": OLD}, {}, {}, attempted_before=LINE, unused_since=LINE) == ()
    assert stale({}, {"a": OLD}, {}, attempted_before=LINE, unused_since=LINE) == ()


def test_groups_are_counted_by_outcome_and_what_is_in_none_is_left_out():
    outcomes = {"a": "succeeded", "b": "failed", "c": "unknown", "d": "failed"}
    rates = rates_by_group({"a": 1, "b": 1, "c": 2}, outcomes)
    assert rates == {1: SuccessRate(n_succeeded=1, n_failed=1), 2: SuccessRate(n_unknown=1)}


def test_the_group_that_surely_does_badly_comes_first_and_the_unknown_last():
    rates = {
        "one failure": SuccessRate(n_failed=1),
        "many failures": SuccessRate(n_succeeded=2, n_failed=40),
        "good": SuccessRate(n_succeeded=30, n_failed=1),
        "unknown": SuccessRate(n_unknown=9),
    }
    assert worst_first(rates) == ("many failures", "one failure", "good", "unknown")


def test_a_few_failures_are_no_failing_domain():
    whole = SuccessRate(n_succeeded=70, n_failed=30)
    assert is_failing(SuccessRate(n_succeeded=5, n_failed=20), whole)
    assert not is_failing(SuccessRate(n_failed=4), whole)
    assert not is_failing(SuccessRate(n_succeeded=6, n_failed=4), whole)
    assert not is_failing(SuccessRate(n_unknown=10), whole)
