"""Eviction: the selection of entries to delete from a journal that exceeds its cap."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from atlas.memory.journal.compact_plan import Eviction, Subject
from atlas.memory.journal.contexts import SUMMARY
from atlas.memory.journal.neighbours import title_of

Worth = Callable[[Subject], tuple[float, str]]
"""Function that returns an entry's worth and an explanation."""

SUMMARISED, PLAIN, LAST = range(3)
"""Order of eviction: summarised entries, then plain entries, then marked entries, linked entries and summaries."""

_REASONS = {SUMMARISED: "a summary replaces it", PLAIN: "no summary replaces it", LAST: "deleted last"}


def choose_evictions(
    candidates: Sequence[Subject], n: int, summarised: Set[str], requested_ids: Set[str], worth: Worth
) -> tuple[Eviction, ...]:
    """Return the n entries to evict first, or all candidates if there are fewer.

    Summarised entries come first, and entries with marks or links last. Among equals, the least valuable entry comes
    first, then the oldest.

    Args:
        candidates: Entries that may be evicted, newest first.
        summarised: Ids of the entries summarised in the same plan.
        requested_ids: Ids of entries to evict last even without marks or links.
        worth: Function that returns an entry's worth and an explanation.
    """
    ranked = []
    for age, subject in enumerate(candidates):
        rank = LAST if subject.entry.id in requested_ids else _rank(subject, summarised)
        value, reason = worth(subject)
        ranked.append((rank, value, -age, subject, f"{_REASONS[rank]}; {reason}"))
    ranked.sort(key=lambda row: row[:3])
    return tuple(_eviction(subject, value, reason) for _, value, _, subject, reason in ranked[: max(n, 0)])


def _rank(subject: Subject, summarised: Set[str]) -> int:
    marks = subject.marks
    if (
        marks.tags
        or marks.note
        or marks.held_for
        or marks.quarantine
        or subject.n_linking
        or subject.entry.entry_type == SUMMARY
    ):
        return LAST
    return SUMMARISED if subject.summary is not None or subject.entry.id in summarised else PLAIN


def _eviction(subject: Subject, value: float, reason: str) -> Eviction:
    entry = subject.entry
    return Eviction(
        id=entry.id,
        title=title_of(entry.content),
        entry_type=entry.entry_type,
        generation=entry.generation,
        tier=entry.tier,
        value=value,
        reason=reason,
    )
