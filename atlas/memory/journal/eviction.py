"""Eviction: which entries a journal over its cap gives up, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from atlas.memory.journal.compact_plan import Eviction, Subject
from atlas.memory.journal.contexts import SUMMARY
from atlas.memory.journal.neighbours import title_of

Worth = Callable[[Subject], tuple[float, str]]
"""From an entry to its worth, and the sentence that explains it."""

SUMMARISED, PLAIN, LAST = range(3)
"""Ranks in which entries go: those that a summary stands for, the others, and those that somebody or something uses."""

_WHY = {SUMMARISED: "a summary stands for it", PLAIN: "no summary stands for it", LAST: "goes last"}


def evictions(
    candidates: Sequence[Subject], n: int, summarised: Set[str], asked_for: Set[str], worth: Worth
) -> tuple[Eviction, ...]:
    """Return the first n entries to go, or all candidates if there are fewer.

    Within a rank the one of least worth goes first, and of equal worth the oldest.

    Args:
        candidates: Entries that may go, the newest first.
        summarised: The ids of those that a summary of the same plan stands for.
        asked_for: The ids of entries that go last even without marks or links.
        worth: Judges one.
    """
    ranked = []
    for age, subject in enumerate(candidates):
        rank = LAST if subject.entry.id in asked_for else _rank(subject, summarised)
        value, reason = worth(subject)
        ranked.append((rank, value, -age, subject, f"{_WHY[rank]}; {reason}"))
    ranked.sort(key=lambda row: row[:3])
    return tuple(_eviction(subject, value, reason) for _, value, _, subject, reason in ranked[: max(n, 0)])


def _rank(subject: Subject, summarised: Set[str]) -> int:
    marks = subject.marks
    if marks.tags or marks.note or marks.held_for or subject.n_linking or subject.entry.entry_type == SUMMARY:
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
