"""Verdicts on success rates, and the rule of each in words."""

from __future__ import annotations

FEW_KNOWN = 10
"""Known outcomes below which a rate is called too few to judge."""

WORKS, FAILING, NOT_CLEAR, MIXED = "mostly works", "mostly fails", "not clear yet", "mixed"
"""Verdicts on a rate, from its interval and the number of uses."""

CLEARLY_WORSE = "clearly worse"
"""Word for records whose rate is clearly below that of the other active ones of their kind."""

VERDICTS_MEAN = (
    "Mostly works: even the low end of its likely range is at least 50%. "
    "Mostly fails: even the high end is at most 50%. "
    "Clearly worse: clearly below the rate of the other active ones. "
    f"Not clear yet: 50% is inside the range, with under {FEW_KNOWN} uses. Mixed: the same with more uses."
)
"""The rule of the verdicts in words, for the help of what shows one."""

AVERAGE_MEANS = "The dashed line is the share of all attempts with a known outcome that succeeded."
