"""How groups of attempts do, and which of them fail."""

from __future__ import annotations

from atlas.core.statistics import SuccessRate
from atlas.maps.hygiene import is_failing, rates_by_group, worst_first


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
