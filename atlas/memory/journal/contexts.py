"""Selection of journal entries for a prompt: a quota of each type, then the most valuable of the other entries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from atlas.core.errors import InvalidInput
from atlas.core.operations import Usage
from atlas.core.types import JournalEntry
from atlas.memory.base.scoring import retention
from atlas.memory.journal.entries import PROMPT_TIERS, EntryLog
from atlas.memory.journal.entry_types import EntryTypes
from atlas.memory.journal.importance import DEFAULT_SCORE, SCORE, SCORED_TYPE, adjust_by_feedback, score_of
from atlas.memory.journal.records import age_of

Quotas = Mapping[str, int]
"""Number of entries, keyed by type, the most urgent type first."""

EVOLUTION: Quotas = {"directive": 1, "crash_log": 2, "reflection": 3, "summary": 1, "observation": 2, "task": 2}
"""Quotas for an agent that modifies itself."""

TASK: Quotas = {"directive": 1, "reflection": 3, "crash_log": 2, "summary": 1, "task": 2, "observation": 1}
"""Quotas of entries about a task."""

TASK_GENERATION: Quotas = {"summary": 1, "task": 10}
"""Quotas for an agent that generates a task."""

DIRECTIVE, SUMMARY, TASK_TYPE = "directive", "summary", "task"

RANKED_TYPES = (SCORED_TYPE, SUMMARY)
"""Types selected by value rather than by recency, because old successes and summaries stay relevant."""

N_RANKED = 200
"""Number of latest entries, of latest summaries and of most important entries that are ranked by value."""

LIMIT = 10
"""Default number of entries in a context."""

WARM_WEIGHT = 0.5
"""Weight of a warm entry, which is old or summarised, relative to a hot entry."""

CHARACTERS_PER_TOKEN = 4
"""Rough estimate for English. A character of another script counts as a token."""


@dataclass(frozen=True, slots=True)
class EntrySelector:
    """A selector of the entries of a log for prompts."""

    log: EntryLog
    types: EntryTypes

    def choose_by_quota(self, quotas: Quotas, limit: int | None, token_budget: int | None) -> list[JournalEntry]:
        """Return entries for a prompt: a quota of each type, then the most valuable of the others."""
        with self.log.store.reading():
            pool = self.pool()
            return choose(self._quota_entries(quotas, pool), self.sort_by_value(pool), limit, token_budget)

    def choose_for_task(
        self, entries: Sequence[JournalEntry], limit: int | None, token_budget: int | None
    ) -> list[JournalEntry]:
        """Return entries for a task: the last directive, the given entries, then the most valuable of the others."""
        with self.log.store.reading():
            directive = self.log.recent(1, self.types.types_sharing_quota(DIRECTIVE))
            return choose([*directive, *entries], self.sort_by_value(self.pool()), limit, token_budget)

    def quota_filters(self) -> list[tuple[int, Mapping[str, object]]]:
        """Return the quota of each type for a task, with the filter that selects the entries of the type."""
        tier = {"$in": list(PROMPT_TIERS)}
        return [
            (count, {"entry_type": {"$in": self.types.types_sharing_quota(name)}, "tier": tier})
            for name, count in TASK.items()
        ]

    def pool(self) -> list[JournalEntry]:
        """Return the candidates for a selection by value: the latest and the most important entries."""
        log = self.log
        latest_entries = [*log.recent(N_RANKED), *log.recent(N_RANKED, [SUMMARY])]
        rows = log.store.scan(order_by="importance", descending=True, limit=N_RANKED)
        hidden_ids = log.hidden_ids()
        visible_ids = [
            row["id"] for row in rows if row["metadata"]["tier"] in PROMPT_TIERS and row["id"] not in hidden_ids
        ]
        important_entries = log.get(visible_ids)
        return list({entry.id: entry for entry in [*latest_entries, *important_entries]}.values())

    def sort_by_value(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Return the entries sorted by value, the most valuable first."""
        usage, now = self.log.store.usage([entry.id for entry in entries]), self.log.clock.now()
        return sorted(entries, key=lambda entry: -entry_value(entry, usage[entry.id], self.types, now))

    def _quota_entries(self, quotas: Quotas, pool: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Return the quota of each type: the latest entries or, for summaries and observations, the best ones."""
        quota_entries: list[JournalEntry] = []
        for name, count in quotas.items():
            type_names = self.types.types_sharing_quota(name)
            if name not in RANKED_TYPES:
                quota_entries += self.log.recent(count, type_names)
                continue
            candidates = [*pool, *self._best_observations()] if name == SCORED_TYPE else pool
            best_entries = self.sort_by_value([entry for entry in candidates if entry.entry_type in type_names])
            best_entries = (
                sorted(best_entries, key=_score_or_default, reverse=True) if name == SCORED_TYPE else best_entries
            )
            quota_entries += list({entry.id: entry for entry in best_entries}.values())[:count]
        return quota_entries

    def _best_observations(self) -> list[JournalEntry]:
        """Return the observations with the best scores, of any age."""
        types, tiers = self.types.types_sharing_quota(SCORED_TYPE), list(PROMPT_TIERS)
        where = {"entry_type": {"$in": types}, "tier": {"$in": tiers}, SCORE: {"$gt": DEFAULT_SCORE}}
        rows = self.log.store.scan(where, order_by=SCORE, descending=True, limit=N_RANKED)
        hidden_ids = self.log.hidden_ids()
        entries = self.log.get([row["id"] for row in rows if row["id"] not in hidden_ids])
        return [entry for entry in entries if entry.tier in PROMPT_TIERS]  # a plain store may not support filters


def entry_value(entry: JournalEntry, usage: Usage, types: EntryTypes, now: datetime) -> float:
    """Return the value of an entry, in [0, 1], from its importance, feedback, age and tier."""
    weight = WARM_WEIGHT if entry.tier == PROMPT_TIERS[-1] else 1.0
    return weight * adjust_by_feedback(entry.importance, usage) * recency_of(entry, types, now)


def recency_of(entry: JournalEntry, types: EntryTypes, now: datetime) -> float:
    """Return the factor, in (0, 1], by which age reduces an entry's worth."""
    half_life_days = types.of(entry.entry_type).half_life_days
    return 1.0 if half_life_days is None else retention(age_of(entry, now), half_life=timedelta(days=half_life_days))


def choose(
    preferred: Sequence[JournalEntry], others: Sequence[JournalEntry], limit: int | None, token_budget: int | None
) -> list[JournalEntry]:
    """Return the distinct entries that fit the limits, preferred ones first.

    An entry too long for the remaining budget is skipped, and shorter ones may follow.

    Args:
        limit: Maximum number of entries; None for as many as fit.
        token_budget: Maximum number of tokens in total; None for no limit.
    """
    by_content: dict[str, JournalEntry] = {}
    n_tokens_left = float("inf") if token_budget is None else token_budget
    for entry in [*preferred, *others]:
        if limit is not None and len(by_content) >= limit:
            break
        n_tokens = estimate_tokens(entry.content)
        if entry.content not in by_content and n_tokens <= n_tokens_left:
            by_content[entry.content] = entry
            n_tokens_left -= n_tokens
    return list(by_content.values())


def estimate_tokens(text: str) -> int:
    """Return an estimate of a text's number of tokens."""
    n_ascii = sum(character.isascii() for character in text)
    return len(text) - n_ascii + math.ceil(n_ascii / CHARACTERS_PER_TOKEN)


def resolve_limit(limit: int | None, token_budget: int | None) -> int | None:
    """Return the maximum number of entries: None if only a budget is set, `LIMIT` if neither is set.

    Raises:
        InvalidInput: A limit is negative.
    """
    for name, value in (("limit", limit), ("token_budget", token_budget)):
        if value is not None and value < 0:
            raise InvalidInput(f"expected 0 or more for {name}, got {value}")
    return LIMIT if limit is None and token_budget is None else limit


def _score_or_default(entry: JournalEntry) -> float:
    score = score_of(entry.content, entry.metadata)
    return DEFAULT_SCORE if score is None else score
