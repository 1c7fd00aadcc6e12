"""Comparison of a selection with the rest: words, outcomes, sources and age."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from atlas.core.statistics import SuccessRate, credible_interval
from atlas.maps.naming import prose
from atlas.views.shared.rates import rate_line
from atlas.views.shared.wording import UNKNOWN_VALUE, counted, percent, stored_time_text

MAX_WORDS = 8
MAX_SOURCES = 5
MAX_SAMPLED = 3_000
"""Maximum number of sampled tasks per side."""

PRIOR = 0.1
"""Weight of the prior, in selected tasks for each task of the store."""

MIN_Z_SCORE = 3.0
"""Smallest z-score of a word that counts as more frequent, above two because many words are compared."""

ReadTasks = Callable[[Sequence[str]], Mapping[str, str]]
"""Function that returns the tasks of records, keyed by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Numbers of selected and other records with a feature."""

    name: str
    """Untrusted text."""

    selected: str
    """`62% (58–66%)`."""

    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The differences between selected records and the others."""

    words: tuple[Share, ...]
    """Words of the tasks that are significantly more frequent in the selection, most distinctive first."""

    facts: tuple[Share, ...]
    """Success rate, sources and agents, and the middle day."""

    n_selected: int
    n_rest: int

    @property
    def caption(self) -> str:
        """`36 selected experiences against the other 272.`, and a note if the words are those of a sample."""
        is_sampled = max(self.n_selected, self.n_rest) > MAX_SAMPLED
        sampled = f" Words are those of {MAX_SAMPLED:,} tasks of a side at most." if is_sampled else ""
        return f"{counted(self.n_selected, 'selected experience')} against the other {self.n_rest:,}.{sampled}"


def compare_selection(
    selected: Sequence[str], ids: Sequence[str], read_tasks: ReadTasks, columns: Mapping[str, Mapping[str, Any]]
) -> Difference | None:
    """Return how the selected records differ from all others, or None if either side is empty.

    Args:
        selected: Ids of the selected records.
        ids: Ids of all records.
        read_tasks: Returns the tasks of records, keyed by id.
        columns: Values keyed by id, for `outcome`, `source`, `agent_id` and `created_at`.
    """
    selected_ids = set(selected)
    inside = [record_id for record_id in ids if record_id in selected_ids]
    outside = [record_id for record_id in ids if record_id not in selected_ids]
    if not inside or not outside:
        return None
    outcome = columns["outcome"]
    rates = [
        rate_line(SuccessRate.of(Counter(str(outcome.get(record_id)) for record_id in side)))
        for side in (inside, outside)
    ]
    days = [_median_day(columns["created_at"], side) for side in (inside, outside)]
    return Difference(
        words=_frequent_words(*(list(read_tasks(_sample_evenly(side)).values()) for side in (inside, outside))),
        facts=(
            Share(name="Succeeded", selected=rates[0], rest=rates[1]),
            *_differing_values("Source", columns["source"], inside, outside),
            *_differing_values("Agent", columns["agent_id"], inside, outside),
            Share(name="Median day", selected=days[0], rest=days[1]),
        ),
        n_selected=len(inside),
        n_rest=len(outside),
    )


def log_odds(n_inside: Mapping[str, int], n_outside: Mapping[str, int]) -> dict[str, float]:
    """Return how much more frequent each word is inside than outside, as the z-score of its log-odds ratio.

    Args:
        n_inside: Number of texts inside that contain each word.
        n_outside: Number of texts outside that contain each word.

    Source:
        Log-odds with an informative Dirichlet prior (Monroe, Colaresi & Quinn, Political Analysis 2008).
    """
    n_all = Counter(n_inside) + Counter(n_outside)
    totals = [sum(frequencies.values()) for frequencies in (n_inside, n_outside)]
    prior = PRIOR * (sum(n_all.values()) + 1)  # plus one, so that a text of a single word has a prior too
    scores = {}
    for word, n_texts in n_all.items():
        weight = PRIOR * n_texts
        counts = [frequencies.get(word, 0) + weight for frequencies in (n_inside, n_outside)]
        inside, outside = (
            math.log(n_texts / (total + prior - n_texts)) for n_texts, total in zip(counts, totals, strict=True)
        )
        scores[word] = (inside - outside) / math.sqrt(1 / counts[0] + 1 / counts[1])
    return scores


def _frequent_words(inside: Sequence[str], outside: Sequence[str]) -> tuple[Share, ...]:
    counts = [Counter(word for text in texts for word in prose(text).words) for texts in (inside, outside)]
    scores = log_odds(*counts)
    frequent = sorted((word for word in scores if scores[word] > MIN_Z_SCORE), key=lambda word: (-scores[word], word))
    return tuple(
        Share(name=word, selected=_share(counts[0][word], len(inside)), rest=_share(counts[1][word], len(outside)))
        for word in frequent[:MAX_WORDS]
    )


def _differing_values(
    title: str, column: Mapping[str, Any], inside: Sequence[str], outside: Sequence[str]
) -> tuple[Share, ...]:
    """Return the values whose shares clearly differ between the sides, the most frequent value first.

    Their intervals do not overlap.
    """
    counts = [Counter(str(column.get(record_id) or UNKNOWN_VALUE) for record_id in ids) for ids in (inside, outside)]
    shares = []
    for value, _ in (counts[0] + counts[1]).most_common():
        n_inside, n_outside = counts[0][value], counts[1][value]
        selected, rest = credible_interval(n_inside, len(inside)), credible_interval(n_outside, len(outside))
        if selected.low > rest.high or rest.low > selected.high:
            texts = _share(n_inside, len(inside)), _share(n_outside, len(outside))
            shares.append(Share(name=f"{title}: {value}", selected=texts[0], rest=texts[1]))
    return tuple(shares[:MAX_SOURCES])


def _share(n_with_value: int, n_total: int) -> str:
    interval = credible_interval(n_with_value, n_total)
    return f"{percent(n_with_value / n_total)} ({interval.low * 100:.0f}–{percent(interval.high)})"


def _median_day(created_at: Mapping[str, Any], ids: Iterable[str]) -> str:
    times = sorted(str(created_at[record_id]) for record_id in ids if created_at.get(record_id))
    return (stored_time_text(median_low(times)).partition(",")[0] if times else "") or "–"


def _sample_evenly(ids: Sequence[str]) -> Sequence[str]:
    """Return every n-th id, so that at most `MAX_SAMPLED` remain."""
    return ids[:: -(-len(ids) // MAX_SAMPLED)]
