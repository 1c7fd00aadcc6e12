"""The bodies of the journal's methods, as coroutines. `atlas.memory.journal` has the class to use."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.core.types import JournalEntry
from atlas.memory.journal_choosing import EVOLUTION, TASK, TASK_GENERATION, Quotas, check_bounds, chosen, value_of
from atlas.memory.journal_entries_async import LIVE
from atlas.memory.journal_links_async import AsyncLinkedEntries

N_CONSIDERED = 200
"""Latest entries among which those of most value are looked for."""

BY_VALUE = "observation"
"""The type of which contexts take the best rather than the latest: what went well is no news."""


class AsyncJournal(AsyncLinkedEntries):
    """The log of an agent, in a vector store."""

    # What to tell an agent

    async def acontext_for_evolution(
        self, limit: int | None = 10, *, token_budget: int | None = None
    ) -> list[JournalEntry]:
        """What an agent should know that is about to change itself, the most urgent first.

        The latest directive, crashes, reflections and tasks and the best observations, so many of each; where a type
        has too few, or there is room for more, the entries of most value.

        Args:
            limit: Of entries; None for as many as the budget holds.
            token_budget: Of all texts together, roughly.
        """
        check_bounds(limit, token_budget)
        pool = await self.arecent(N_CONSIDERED)
        return chosen(await self._by_quota(EVOLUTION, pool), await self._by_value(pool), limit, token_budget)

    async def acontext_for_task(
        self, task: str, limit: int | None = 10, *, token_budget: int | None = None
    ) -> list[JournalEntry]:
        """What an agent should know at a task: what is about it, so many entries of each type, then by value.

        Args:
            task: What it was asked.
        """
        check_bounds(limit, token_budget)
        wanted = []
        for entry_type, count in TASK.items():
            where = {
                "entry_type": {"$in": self.types.counting_as(entry_type)},
                "tier": {"$in": list(LIVE)},
            }
            wanted += [hit.item for hit in (await self.aretrieve(task, count, where=where)).hits]
        return chosen(wanted, await self._by_value(await self.arecent(N_CONSIDERED)), limit, token_budget)

    async def acontext_for_task_generation(
        self, limit: int | None = 10, *, token_budget: int | None = None
    ) -> list[JournalEntry]:
        """What an agent should know that looks for a task of its own: the latest tasks, then entries by value."""
        check_bounds(limit, token_budget)
        pool = await self.arecent(N_CONSIDERED)
        return chosen(await self._by_quota(TASK_GENERATION, pool), await self._by_value(pool), limit, token_budget)

    async def _by_quota(self, quotas: Quotas, pool: Sequence[JournalEntry]) -> list[JournalEntry]:
        """The latest of each type, and of observations those of most value."""
        wanted: list[JournalEntry] = []
        for name, count in quotas.items():
            names = self.types.counting_as(name)
            if name == BY_VALUE:
                wanted += (await self._by_value([entry for entry in pool if entry.entry_type in names]))[:count]
            else:
                wanted += await self.arecent(count, names)
        return wanted

    async def _by_value(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        usage, now = await self._usage_of(entries), self._clock.now()
        return sorted(entries, key=lambda entry: -value_of(entry, usage[entry.id], self.types, now))
