"""What the gates kept out of a journal: how much, why, and the latest of it; any of it can still be let in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from atlas.memory.journal import ACCEPTED
from atlas.memory.journal_judging import Refusal
from atlas.memory.system import MemorySystem
from atlas.views.texts import Text
from atlas.views.wording import counted, moment

__all__ = ["ACCEPTED"]

SHOWN = 20

GATES = {
    "noise": "tell nothing",
    "near-duplicate": "repeat an entry of the same type",
}
"""What is wrong with entries that a gate keeps out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedView:
    """One entry that was kept out; type and text are untrusted."""

    id: str
    entry_type: str
    generation: int
    when: str
    text: Text
    reason: str
    """Holds nothing that entries say."""

    like_id: str
    """The entry that it repeats, where that is still there; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedListing:
    """What was kept out."""

    n: int
    by_gate: tuple[tuple[str, int], ...]
    """In our own words, most first."""

    shown: tuple[RefusedView, ...]
    """The latest, newest first."""

    caption: str


def refused_listing(memory: MemorySystem, limit: int = SHOWN) -> RefusedListing:
    """What the gates kept out, and the latest of it."""
    refusals = memory.journal.rejected(limit)
    there = memory.journal.titles([one.refusal.like_id for one in refusals.latest if one.refusal.like_id])
    n, n_shown = refusals.n_total, len(refusals.latest)
    return RefusedListing(
        n=n,
        by_gate=tuple((GATES.get(gate, gate), count) for gate, count in refusals.by_gate.items()),
        shown=tuple(
            RefusedView(
                id=one.id,
                entry_type=one.entry_type,
                generation=one.generation,
                when=moment(datetime.fromisoformat(one.refused_at)),
                text=Text(one.content),
                reason=_reason(one.refusal),
                like_id=one.refusal.like_id if one.refusal.like_id in there else "",
            )
            for one in refusals.latest
        ),
        caption=f"The latest {n_shown:,} of {counted(n, 'refused entry')}" if n > n_shown else "",
    )


def _reason(refusal: Refusal) -> str:
    """Why, with an id no longer than the pages show one."""
    return refusal.reason.replace(refusal.like_id, refusal.like_id[:8]) if refusal.like_id else refusal.reason
