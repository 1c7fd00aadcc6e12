"""Gates of a journal, and refused entries, which can still be accepted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from atlas.memory.journal import ACCEPTANCE_REASON, Gate
from atlas.memory.journal.importance import MIN_WORDS, NOISE, REPEATED, Refusal
from atlas.memory.system import MemorySystem
from atlas.views.kinds.journal_words import type_word
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted, utc_time_text

__all__ = ["ACCEPTANCE_REASON"]

SHOWN = 20

GATES = {
    NOISE: "tell nothing",
    REPEATED: "repeat an entry of the same type",
}
"""Words for the faults of refused entries, by gate."""

NAMES = {NOISE: "Noise", REPEATED: "Repetitions"}

STOPPED = {
    NOISE: f"Entries of fewer than {MIN_WORDS} different words",
    REPEATED: "Entries that repeat a recent one of their type",
}
"""Descriptions of the entries that each gate refuses."""

VARIABLES = {NOISE: "ATLAS_KEEP_NOISE", REPEATED: "ATLAS_KEEP_REPETITIONS"}
"""The environment variables that override the setting of the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """A gate before the journal, with its state for the visitor."""

    name: str
    label: str
    is_on: bool
    effect: str
    """The effect of the gate: `Entries of fewer than 3 different words are refused`."""

    reason: str
    """The sentence on who decided it."""

    is_overridden: bool
    """True if switching it has no effect here, because an environment variable decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedView:
    """One entry that was refused. Type and text are untrusted."""

    id: str
    entry_type: str
    generation: int
    time: str
    text: Text
    reason: str
    """Contains no text of entries."""

    like_id: str
    """Id of the repeated entry, or empty if that was deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedListing:
    """The entries that were refused."""

    n: int
    by_gate: tuple[tuple[str, int], ...]
    """In our own words, most first."""

    entries: tuple[RefusedView, ...]
    """The latest refused entries, newest first."""

    caption: str


def gate_views(memory: MemorySystem) -> tuple[GateView, ...]:
    """Return both gates: whether each is on, and which setting decides it."""
    return tuple(_gate_view(gate) for gate in memory.journal.gates())


def _gate_view(gate: Gate) -> GateView:
    reasons = {
        "caller": f"{VARIABLES[gate.name]} is set here and overrides the store's setting.",
        "store": f"Switched {'on' if gate.is_on else 'off'} for everyone who writes to this store.",
        "default": "This is the default.",
        "no store": "Refused entries would be lost, because this journal has no store.",
    }
    return GateView(
        name=gate.name,
        label=NAMES[gate.name],
        is_on=gate.is_on,
        effect=f"{STOPPED[gate.name]} are {'refused' if gate.is_on else 'accepted'}",
        reason=reasons[gate.source],
        is_overridden=gate.source == "caller",
    )


def refused_listing(memory: MemorySystem, limit: int = SHOWN) -> RefusedListing:
    """Return how much the gates refused, and the latest entries of it."""
    refusals = memory.journal.rejected(limit)
    titles = memory.journal.titles([refused.refusal.like_id for refused in refusals.latest if refused.refusal.like_id])
    n_refused, n_shown = refusals.n_total, len(refusals.latest)
    return RefusedListing(
        n=n_refused,
        by_gate=tuple((GATES.get(gate, gate), count) for gate, count in refusals.by_gate.items()),
        entries=tuple(
            RefusedView(
                id=refused.id,
                entry_type=type_word(refused.entry_type),
                generation=refused.generation,
                time=utc_time_text(datetime.fromisoformat(refused.refused_at)),
                text=Text(refused.content),
                reason=_short_reason(refused.refusal),
                like_id=refused.refusal.like_id if refused.refusal.like_id in titles else "",
            )
            for refused in refusals.latest
        ),
        caption=f"The latest {n_shown:,} of {counted(n_refused, 'refused entry')}" if n_refused > n_shown else "",
    )


def _short_reason(refusal: Refusal) -> str:
    """Return the reason, with the id as short as the pages show it."""
    return refusal.reason.replace(refusal.like_id, refusal.like_id[:8]) if refusal.like_id else refusal.reason
