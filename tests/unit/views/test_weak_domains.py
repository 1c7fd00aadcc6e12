"""The domains that Overview lists: those clearly below the average, or else the lowest."""

from __future__ import annotations

import pytest

from atlas.core.statistics import SuccessRate
from atlas.views.curate.health import DomainLine, Health
from atlas.views.curate.weak_domains import weak_domain_rows, weak_domains_sentence


def health_of(*weak: bool) -> Health:
    """Return the health of a store with these domains, the lowest rate first."""
    domains = tuple(
        DomainLine(
            number=number,
            name=f"domain {number}",
            n=10,
            n_known=10,
            n_tasks=10,
            percent_succeeded=10.0 * number,
            interval="",
            is_failing=is_weak,
            verdict="",
        )
        for number, is_weak in enumerate(weak)
    )
    rate = SuccessRate(n_succeeded=65, n_failed=35)
    return Health(rate=rate, domains=domains, never_used=(), stale=(), n_unknown=0, n_buried=0)


def test_domains_clearly_below_the_average_are_listed_alone_with_the_average_on_each_bar():
    health = health_of(True, False, True, False, False, False)
    rows = weak_domain_rows(health)
    assert [(row.name, row.rate.weak) for row in rows] == [("domain 0", True), ("domain 2", True)]
    assert {row.rate.tick for row in rows} == {0.65}
    assert weak_domains_sentence(health) == "2 of 6 domains are clearly below the average of 65%."


@pytest.mark.parametrize(("n_weak", "n_listed"), [(1, 1), (5, 5), (9, 5), (0, 5)])
def test_at_most_five_are_listed_which_are_the_lowest_without_a_weak_one(n_weak, n_listed):
    rows = weak_domain_rows(health_of(*[True] * n_weak, *[False] * 6))
    assert [row.name for row in rows] == [f"domain {number}" for number in range(n_listed)]
    assert {row.rate.weak for row in rows} == {n_weak > 0}
