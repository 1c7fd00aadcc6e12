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
READ = 3_000
"""Maximum number of sampled tasks per side."""

PRIOR = 0.1
"""Weight of the prior, in selected tasks for each task of the store."""

SURE_FROM = 3.0
"""Threshold in standard errors for a more frequent word, above two because of multiple comparisons."""

TasksOf = Callable[[Sequence[str]], Mapping[str, str]]


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
    """A selection against the rest."""

    words: tuple[Share, ...]
    """Words of the tasks that are significantly more frequent in the selection, most distinctive first."""

    facts: tuple[Share, ...]
    """Success rate, sources and agents, and the middle day."""

    n_selected: int
    n_rest: int

    @property
    def caption(self) -> str:
        """`36 selected experiences against the other 272.`, and of how many tasks the words are."""
        is_sampled = max(self.n_selected, self.n_rest) > READ
        sampled = f" Words are those of {READ:,} tasks of a side at most." if is_sampled else ""
        return f"{counted(self.n_selected, 'selected experience')} against the other {self.n_rest:,}.{sampled}"


def difference_of(
    selected: Sequence[str], ids: Sequence[str], tasks_of: TasksOf, columns: Mapping[str, Mapping[str, Any]]
) -> Difference | None:
    """Return how the selected records differ from all others, or None if either side is empty.

    Args:
        selected: Ids.
        ids: Ids of all records.
        tasks_of: Reads the tasks of some records, by id.
        columns: Values by id, for `outcome`, `source`, `agent_id` and `created_at`.
    """
    chosen = set(selected)
    inside = [record_id for record_id in ids if record_id in chosen]
    outside = [record_id for record_id in ids if record_id not in chosen]
    if not inside or not outside:
        return None
    outcome = columns["outcome"]
    rates = [
        rate_line(SuccessRate.of(Counter(str(outcome.get(record_id)) for record_id in ids)))
        for ids in (inside, outside)
    ]
    days = [_middle_day(columns["created_at"], ids) for ids in (inside, outside)]
    return Difference(
        words=_words(*(list(tasks_of(_spread(of)).values()) for of in (inside, outside))),
        facts=(
            Share(name="Succeeded", selected=rates[0], rest=rates[1]),
            *_values("Source", columns["source"], inside, outside),
            *_values("Agent", columns["agent_id"], inside, outside),
            Share(name="Median day", selected=days[0], rest=days[1]),
        ),
        n_selected=len(inside),
        n_rest=len(outside),
    )


def log_odds(n_inside: Mapping[str, int], n_outside: Mapping[str, int]) -> dict[str, float]:
    """Return the z-score of each word's log-odds inside versus outside.

    Args:
        n_inside: Document frequencies inside.
        n_outside: Document frequencies outside.

    Source:
        Log-odds with an informative Dirichlet prior (Monroe, Colaresi & Quinn, Political Analysis 2008).
    """
    both = Counter(n_inside) + Counter(n_outside)
    sums = [sum(of.values()) for of in (n_inside, n_outside)]
    prior = PRIOR * (sum(both.values()) + 1)  # plus one, so that a text of a single word has a prior too
    scores = {}
    for word, n in both.items():
        weight = PRIOR * n
        counts = [of.get(word, 0) + weight for of in (n_inside, n_outside)]
        odds = [math.log(count / (total + prior - count)) for count, total in zip(counts, sums, strict=True)]
        scores[word] = (odds[0] - odds[1]) / math.sqrt(1 / counts[0] + 1 / counts[1])
    return scores


def _words(inside: Sequence[str], outside: Sequence[str]) -> tuple[Share, ...]:
    counts = [Counter(word for text in texts for word in prose(text).words) for texts in (inside, outside)]
    scores = log_odds(*counts)
    telling = sorted((word for word in scores if scores[word] > SURE_FROM), key=lambda word: (-scores[word], word))
    return tuple(
        Share(name=word, selected=_share(counts[0][word], len(inside)), rest=_share(counts[1][word], len(outside)))
        for word in telling[:MAX_WORDS]
    )


def _values(title: str, column: Mapping[str, Any], inside: Sequence[str], outside: Sequence[str]) -> tuple[Share, ...]:
    """Return the values whose shares surely differ, the most frequent first: their intervals do not overlap."""
    counts = [Counter(str(column.get(left) or UNKNOWN_VALUE) for left in ids) for ids in (inside, outside)]
    sizes = (len(inside), len(outside))
    found = []
    for name, _ in (counts[0] + counts[1]).most_common():
        left, right = (credible_interval(of[name], n) for of, n in zip(counts, sizes, strict=True))
        if left.low > right.high or right.low > left.high:
            shares = [_share(of[name], n) for of, n in zip(counts, sizes, strict=True)]
            found.append(Share(name=f"{title}: {name}", selected=shares[0], rest=shares[1]))
    return tuple(found[:MAX_SOURCES])


def _share(n: int, of: int) -> str:
    found = credible_interval(n, of)
    return f"{percent(n / of)} ({found.low * 100:.0f}–{percent(found.high)})"


def _middle_day(created_at: Mapping[str, Any], ids: Iterable[str]) -> str:
    times = sorted(str(created_at[record_id]) for record_id in ids if created_at.get(record_id))
    return (stored_time_text(median_low(times)).partition(",")[0] if times else "") or "–"


def _spread(ids: Sequence[str]) -> Sequence[str]:
    return ids[:: -(-len(ids) // READ)]
