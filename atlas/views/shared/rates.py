"""Success rates in the words of the pages."""

from __future__ import annotations

from atlas.core.statistics import SuccessRate
from atlas.views.shared.wording import percent


def rate_text(rate: SuccessRate) -> str:
    """Return `62 %`, or a dash if no outcome is known."""
    return "–" if rate.share is None else percent(rate.share)


def interval_text(rate: SuccessRate) -> str:
    """Return `58–66 %`, or an empty string if no outcome is known."""
    found = rate.interval
    return "" if found is None else f"{found.low * 100:.0f}–{percent(found.high)}"


def rate_line(rate: SuccessRate) -> str:
    """Return `62 % (58–66 %, n = 9)`, or a dash if no outcome is known."""
    return f"{rate_text(rate)} ({interval_text(rate)}, n = {rate.n_known:,})" if rate.n_known else "–"


def rate_sentence(rate: SuccessRate) -> str:
    """Return `62 % succeeded (58–66 %, 9 of known outcome)`, or `outcomes unknown`."""
    if not rate.n_known:
        return "outcomes unknown"
    return f"{rate_text(rate)} succeeded ({interval_text(rate)}, {rate.n_known:,} of known outcome)"
