"""Numbers, times and outcomes as labels of the pages. They contain no texts of memories."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

from atlas.core.types import OUTCOMES as OUTCOMES
from atlas.core.words import first_sentences as first_sentences
from atlas.core.words import shortened as shortened
from atlas.infra.secrets import describe_counts

UNKNOWN_VALUE = "(not said)"
"""Placeholder for a missing value."""

READ_ONLY = "Nothing can be changed here: the store is open for reading only, or you are a viewer."

SIGNS = {"succeeded": "✓", "failed": "✗", "unknown": "?"}
"""Signs of outcomes, for people who cannot distinguish the colours."""

MOST_SIGNS = 4
"""Earlier attempts up to which each has a sign of its own in a list."""

MINUS = "\N{MINUS SIGN}"

NO_BREAK = "\N{NO-BREAK SPACE}"
"""Stands between a number and its unit, so that no line ends there."""


def percent(share: float) -> str:
    """Return `62%`. A half is rounded up, as browsers do."""
    return f"{whole_percent(share)}%"


def whole_percent(share: float) -> int:
    """Return the percentage that `percent` writes, so that differences agree with it."""
    return math.floor(100 * share + 0.5)


_FRACTIONS = {
    1 / 20: "a twentieth", 1 / 10: "a tenth", 1 / 5: "a fifth", 1 / 4: "a quarter", 1 / 3: "a third",
    2 / 5: "two fifths", 1 / 2: "half", 3 / 5: "three fifths", 2 / 3: "two thirds", 3 / 4: "three quarters",
    4 / 5: "four fifths", 9 / 10: "nine tenths", 19 / 20: "nineteen twentieths",
}  # fmt: skip


def share_in_words(share: float) -> str:
    """Return `half`, `about a third`, `hardly any` below 5% and `nearly all` above 95%: what stands before `of`."""
    if share in (0, 1):
        return "all" if share else "none"
    if not 0.05 <= share <= 0.95:
        return "hardly any" if share < 0.5 else "nearly all"
    nearest = min(_FRACTIONS, key=lambda each: abs(each - share))
    return f"{'' if abs(nearest - share) <= 0.025 else 'about '}{_FRACTIONS[nearest]}"


def share_text(share: float) -> str:
    """Return `62%`, or `under 1%` for less that is not nothing."""
    return "under 1%" if 0 < share < 0.01 else percent(share)


def hidden_text(n_hidden: int, *, n_shown: int, most: int) -> str:
    """Return `3 less relevant ones not shown`, or an empty string if none are hidden.

    The number has a plus sign if hits were counted only up to `most`. Without a shown hit, it is `3 not shown`.
    """
    if not n_hidden:
        return ""
    number = f"{n_hidden:,}{'+' if n_shown + n_hidden >= most else ''}"
    which = f" less relevant {'one' if n_hidden == 1 else 'ones'}" if n_shown else ""
    return f"{number}{which} not shown"


def counted(n: int, noun: str) -> str:
    """Return `1,204 experiences`, `1 experience`, `3 strategies`."""
    return f"{n:,} {noun if n == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return `strategies` of `strategy`, `tries` of `try`, `crashes` of `crash`, and `tasks` of `task`."""
    if noun.endswith(("s", "sh", "ch", "x")):
        return f"{noun}es"
    is_ies = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return f"{noun[:-1]}ies" if is_ies else f"{noun}s"


def look_at(n: int) -> str:
    """Return `look at it`, or `look at them` for several."""
    return "look at it" if n == 1 else "look at them"


def in_words(parts: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`, or an empty string for no parts."""
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def outcome_with_sign(outcome: str) -> str:
    """Return `✓ succeeded`."""
    return f"{SIGNS[outcome]} {outcome}"


def outcome_labels(outcomes: Sequence[str]) -> tuple[str, ...]:
    """Return `✓ succeeded` of one attempt, and `✓ 1 succeeded` and `✗ 2 failed` of several."""
    if len(outcomes) == 1:
        return (outcome_with_sign(outcomes[0]),)
    return tuple(f"{SIGNS[name]} {text}" for name, text in _counted_outcomes(Counter(outcomes)).items())


def history_text(outcomes: Sequence[str], *, is_last: bool) -> str:
    """Return `after ✗ ✓` for an attempt with two earlier ones, and `after ✓ 2 ✗ 7` for one with many.

    Args:
        outcomes: Outcomes of the other attempts at its task, oldest first.
        is_last: Whether none of them is later. Otherwise the text begins with `also`.
    """
    counts = Counter(outcomes)
    signs = (
        [SIGNS[each] for each in outcomes]
        if len(outcomes) <= MOST_SIGNS
        else [f"{SIGNS[name]} {counts[name]:,}" for name in OUTCOMES if counts[name]]
    )
    return " ".join(["after" if is_last else "also", *signs])


def outcomes_text(counts: Mapping[str, int]) -> str:
    """Return `3 succeeded, 1 failed`: the number of attempts by outcome, without zeros."""
    return ", ".join(_counted_outcomes(counts).values())


def _counted_outcomes(counts: Mapping[str, int]) -> dict[str, str]:
    return {name: f"{counts[name]:,} {name}" for name in OUTCOMES if counts.get(name)}


def attempts_text(counts: Mapping[str, int]) -> str:
    """Return `4 attempts: 3 succeeded, 1 failed`. Empty for a single one."""
    n = sum(counts.values())
    return f"{n:,} attempts: {outcomes_text(counts)}" if n > 1 else ""


def with_replaced(sentence: str, counts: Mapping[str, int]) -> str:
    """Return a sentence without its full stop, followed by the kinds of replaced secrets, if there are any."""
    return f"{sentence}. {describe_counts(counts)}" if counts else sentence


def day_text(at: date) -> str:
    """Return `31 Jan 2026`. A time counts as it is, so it should be in UTC."""
    return f"{at.day} {at:%b} {at.year}"


def utc_time_text(at: datetime) -> str:
    """Return `31 Jan 2026, 09:05 UTC`."""
    return f"{time_text(at.astimezone(UTC))} UTC"


def sortable_utc_time(at: datetime) -> str:
    """Return `2026-01-31 09:05 UTC`, for tables that sort by their texts and for scripts."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def time_text(at: datetime) -> str:
    """Return `31 Jan 2026, 09:05` in the zone of the time."""
    return f"{day_text(at)}, {at:%H:%M}"


def stored_time_text(made_at: str) -> str:
    """Return `31 Jan 2026, 09:05 UTC` for a time in ISO 8601, or an empty string if it is malformed."""
    try:
        return utc_time_text(datetime.fromisoformat(made_at))
    except ValueError:
        return ""
