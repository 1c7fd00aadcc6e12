"""The domains of the map with the lowest success rates."""

from __future__ import annotations

from atlas.views.curate.health import Health
from atlas.views.lists.rate_rows import RateRow, rate_row
from atlas.views.shared.rates import weak_groups_sentence
from atlas.views.shared.wording import counted

MAX_LISTED = 5
"""Most domains that are listed."""

N_OTHERS = 2
"""Most of the next domains that are listed below those clearly below the average."""

OTHERS = "Not clearly below the average"


def weak_domains_sentence(health: Health) -> str:
    """Return `2 of 12 domains are clearly below the average of 65%, the stroke on the bars.`."""
    sentence = weak_groups_sentence(len(health.failing), counted(len(health.domains), "domain"), health.rate)
    return f"{sentence.removesuffix('.')}, the stroke on the bars."


def weak_domain_rows(health: Health) -> list[RateRow]:
    """Return the domains that are clearly below the average, worst first, and after them the next ones."""
    weak, average = health.failing[:MAX_LISTED], health.rate.share
    n_others = min(N_OTHERS, MAX_LISTED - len(weak)) if weak else MAX_LISTED
    others = [domain for domain in health.domains if not domain.is_failing][:n_others]
    return [
        *(rate_row(domain, str(domain.number), is_weak=True, average=average) for domain in weak),
        *(rate_row(domain, str(domain.number), average=average, group=OTHERS if weak else "") for domain in others),
    ]
