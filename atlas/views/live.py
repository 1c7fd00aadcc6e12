"""What others have done to the store since a page was drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from atlas.memory.system import MemorySystem

OPERATIONS_SEEN = 50
"""Operations that are looked at; more than these in the time of one page are rare, and then the counts are a floor."""

WORDS = {"added": "new", "changed": "changed", "marked": "marked", "removed": "removed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The state of the store that a page shows."""

    revision: int
    counts: Mapping[str, Mapping[str, int]]
    """What each of the newest operations had done by then, by its id: an import may still be going on."""


def drawn_now(memory: MemorySystem) -> Drawn:
    """The state of the store now. The revision is read first, so what comes between is noticed, not missed."""
    revision = memory.revision()
    counts = {operation.id: dict(operation.counts) for operation in memory.history(OPERATIONS_SEEN)}
    return Drawn(revision=revision, counts=counts)


def changes_since(drawn: Drawn, memory: MemorySystem) -> str:
    """`3 new · 1 removed`, done since a page was drawn; empty where nothing was."""
    if memory.revision() == drawn.revision:
        return ""
    totals = dict.fromkeys(WORDS, 0)
    for operation in memory.history(OPERATIONS_SEEN):
        before = drawn.counts.get(operation.id, {})
        for name in totals:
            totals[name] += operation.counts.get(name, 0) - before.get(name, 0)
    named = [f"{n:,} {WORDS[name]}" for name, n in totals.items() if n > 0]
    return " · ".join(named) or "Changed elsewhere"
