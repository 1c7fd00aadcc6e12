"""Plain words for names that a journal stores: types of entries, and tiers of retention."""

from __future__ import annotations

ROUND = (
    "A round of an agent's work: it acts, notes what happened, and may change itself. The API calls it a generation."
)

_TYPES = {"crash_log": "crash", "reflection_finding": "finding"}
_STATES = {"hot": "active", "warm": "fading", "cold": "search only"}


def type_word(entry_type: str) -> str:
    """Return the word for a type of entries: `crash` for `crash_log`, and other names without underscores."""
    return _TYPES.get(entry_type, entry_type.replace("_", " "))


def state_word(tier: str) -> str:
    """Return the word for a tier: `active` for `hot`."""
    return _STATES.get(tier, tier)
