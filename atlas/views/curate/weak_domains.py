"""The domains of the map with the lowest success rates."""

from __future__ import annotations

from atlas.views.curate.health import Health
from atlas.views.lists.rate_rows import RateRow, rate_row
from atlas.views.shared.rates import weak_groups_sentence
from atlas.views.shared.wording import counted

MAX_LISTED = 5
"""Most domains that are listed."""


def weak_domains_sentence(health: Health) -> str:
    """Return `2 of 12 domains are clearly below the average of 65%.`."""
    return weak_groups_sentence(len(health.failing), counted(len(health.domains), "domain"), health.rate)


def weak_domain_rows(health: Health) -> list[RateRow]:
    """Return the domains that are clearly below the average, worst first, or else those with the lowest rates."""
    listed = (health.failing or health.domains)[:MAX_LISTED]
    average = health.rate.share
    return [rate_row(domain, str(domain.number), is_weak=domain.is_failing, average=average) for domain in listed]
