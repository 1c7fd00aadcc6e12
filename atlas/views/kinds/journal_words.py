"""Plain words for names that a journal stores: types of entries, and tiers of retention."""

from __future__ import annotations

from atlas.views.charts.palette import PALETTE

ROUND = (
    "A round of an agent's work: it acts, notes what happened, and may change itself. The API calls it a generation."
)

_TYPES = {"crash_log": "crash", "reflection_finding": "finding"}
TYPE_COLOURS = {
    "crash_log": PALETTE[1],
    "task": PALETTE[0],
    "observation": PALETTE[5],
    "reflection": PALETTE[2],
    "reflection_finding": PALETTE[7],
    "directive": PALETTE[3],
    "summary": PALETTE[4],
}
"""Colours by type, the same everywhere. Others are grey."""

_STATES = {"hot": "active", "warm": "fading", "cold": "search only"}


def type_word(entry_type: str) -> str:
    """Return the word for a type of entries: `crash` for `crash_log`, and other names without underscores."""
    return _TYPES.get(entry_type, entry_type.replace("_", " "))


def state_word(tier: str) -> str:
    """Return the word for a tier: `active` for `hot`."""
    return _STATES.get(tier, tier)
