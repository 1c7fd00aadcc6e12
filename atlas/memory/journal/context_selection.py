"""Which entries of a journal go into a prompt: so many of each type, then the best of the rest, as many as fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from atlas.core.errors import InvalidInput
from atlas.core.operations import Usage
from atlas.core.types import JournalEntry
from atlas.memory.base.ranking import retention
from atlas.memory.journal.entry_types import EntryTypes
from atlas.memory.journal.importance import with_feedback
from atlas.memory.journal.records import age_of

Quotas = Mapping[str, int]
"""How many entries of each type, the most urgent type first."""

EVOLUTION: Quotas = {"directive": 1, "crash_log": 2, "reflection": 3, "summary": 1, "observation": 2, "task": 2}
"""What an agent that changes itself is told."""

TASK: Quotas = {"directive": 1, "reflection": 3, "crash_log": 2, "summary": 1, "task": 2, "observation": 1}
"""What an agent at a task is told, of what is about the task."""

TASK_GENERATION: Quotas = {"summary": 1, "task": 10}
"""What an agent that looks for a task is told."""

LIMIT = 10
"""Entries of a context that is given no bound."""

CHARACTERS_PER_TOKEN = 4
"""Of English text, roughly; a character of another script counts as a token."""


def value_of(entry: JournalEntry, usage: Usage, types: EntryTypes, now: datetime) -> float:
    """How much an entry is worth now, in [0, 1]: its importance with what came of it, halved with each half-life."""
    return with_feedback(entry.importance, usage) * recency_of(entry, types, now)


def recency_of(entry: JournalEntry, types: EntryTypes, now: datetime) -> float:
    """How much of an entry's worth its age has left, in (0, 1]."""
    days = types.of(entry.entry_type).half_life_days
    return 1.0 if days is None else retention(age_of(entry, now), half_life=timedelta(days=days))


def chosen(
    wanted: Sequence[JournalEntry], rest: Sequence[JournalEntry], limit: int | None, token_budget: int | None
) -> list[JournalEntry]:
    """The wanted entries in their order, then the rest, as far as they fit; what says the same comes once.

    An entry that is too long for what is left of the budget makes room for shorter ones after it.

    Args:
        limit: Of entries; None for as many as fit.
        token_budget: Of all of them together; None for no bound.
    """
    taken: dict[str, JournalEntry] = {}
    n_left = float("inf") if token_budget is None else token_budget
    for entry in [*wanted, *rest]:
        if limit is not None and len(taken) >= limit:
            break
        n_tokens = tokens_of(entry.content)
        if entry.content not in taken and n_tokens <= n_left:
            taken[entry.content] = entry
            n_left -= n_tokens
    return list(taken.values())


def tokens_of(text: str) -> int:
    """About how many tokens a text takes."""
    n_plain = sum(character.isascii() for character in text)
    return len(text) - n_plain + -(-n_plain // CHARACTERS_PER_TOKEN)


def checked_limit(limit: int | None, token_budget: int | None) -> int | None:
    """How many entries there may be: as many as the budget holds where none is given, `LIMIT` where that is not either.

    Raises:
        InvalidInput: One of them is negative.
    """
    for name, bound in (("limit", limit), ("token_budget", token_budget)):
        if bound is not None and bound < 0:
            raise InvalidInput(f"{name} should be 0 or more, but is {bound}")
    return LIMIT if limit is None and token_budget is None else limit
