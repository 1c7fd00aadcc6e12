"""Eviction: the selection of entries to delete from a journal that exceeds its cap."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from atlas.memory.journal.compact_plan import CompactionCandidate, Eviction
from atlas.memory.journal.contexts import SUMMARY
from atlas.memory.journal.neighbours import title_of

Worth = Callable[[CompactionCandidate], tuple[float, str]]
"""Function that returns an entry's worth and an explanation."""

SUMMARISED, UNSUMMARISED, LAST = range(3)
"""Order of eviction: summarised entries, then other ones. Summaries and entries with marks or links come last."""

_REASONS = {SUMMARISED: "a summary replaces it", UNSUMMARISED: "no summary replaces it", LAST: "deleted last"}


def choose_evictions(
    evictable: Sequence[CompactionCandidate],
    n_to_evict: int,
    summarised_ids: Set[str],
    requested_ids: Set[str],
    worth: Worth,
) -> tuple[Eviction, ...]:
    """Return the first `n_to_evict` entries to evict, or all evictable ones if there are fewer.

    Summarised entries come first, and entries with marks or links last. Among equals, the least valuable entry comes
    first, then the oldest.

    Args:
        evictable: Entries that may be evicted, newest first.
        summarised_ids: Ids of the entries summarised in the same plan.
        requested_ids: Ids of entries to evict last even without marks or links.
        worth: Function that returns an entry's worth and an explanation.
    """
    ranked_candidates = []
    for age, candidate in enumerate(evictable):
        rank = LAST if candidate.entry.id in requested_ids else _eviction_order(candidate, summarised_ids)
        value, reason = worth(candidate)
        ranked_candidates.append((rank, value, -age, candidate, f"{_REASONS[rank]}; {reason}"))
    ranked_candidates.sort(key=lambda row: row[:3])
    return tuple(
        _plan_eviction(candidate, value, reason)
        for _, value, _, candidate, reason in ranked_candidates[: max(n_to_evict, 0)]
    )


def _eviction_order(candidate: CompactionCandidate, summarised_ids: Set[str]) -> int:
    """Return the place of an entry in the order of eviction. Summaries and entries with marks or links come last."""
    marks = candidate.marks
    if (
        marks.tags
        or marks.note
        or marks.held_for
        or marks.quarantine
        or candidate.n_linking
        or candidate.entry.entry_type == SUMMARY
    ):
        return LAST
    return SUMMARISED if candidate.summary is not None or candidate.entry.id in summarised_ids else UNSUMMARISED


def _plan_eviction(candidate: CompactionCandidate, value: float, reason: str) -> Eviction:
    entry = candidate.entry
    return Eviction(
        id=entry.id,
        title=title_of(entry.content),
        entry_type=entry.entry_type,
        generation=entry.generation,
        tier=entry.tier,
        value=value,
        reason=reason,
    )
