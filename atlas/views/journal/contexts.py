"""Context previews: the journal entries for an agent before it evolves, at a task, or generating one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from atlas.core.types import JournalEntry
from atlas.memory.journal.contexts import EVOLUTION, TASK, TASK_GENERATION, Quotas, estimate_tokens
from atlas.memory.system import MemorySystem
from atlas.views.journal.list import EntryRow, entry_rows
from atlas.views.kinds.journal_words import type_word
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted

FOR_EVOLUTION, FOR_TASK, FOR_GENERATION = "Improve itself", "Do a task", "Choose a task"

QUOTAS: Mapping[str, Quotas] = {FOR_EVOLUTION: EVOLUTION, FOR_TASK: TASK, FOR_GENERATION: TASK_GENERATION}
"""Numbers of entries of each type that a context begins with, by its purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextQuery:
    """The purpose and the limits of a context."""

    purpose: str = FOR_EVOLUTION
    """A key of `QUOTAS`."""

    task: str = ""
    limit: int | None = 10
    """Maximum number of entries, or None for as many as fit in the budget."""

    token_budget: int | None = None
    """Maximum tokens in total, or None for no bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntry:
    """One entry of a context."""

    row: EntryRow
    text: Text
    """Text in the context. Untrusted."""

    n_tokens: int
    """An estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextView:
    """A context in its order, the most urgent entry first."""

    entries: tuple[ContextEntry, ...]
    n_tokens: int
    caption: str
    """Contains no text of entries."""


def quota_sentence(purpose: str) -> str:
    """Return `It begins with 1 directive, 2 crash logs …`."""
    quotas = [counted(count, type_word(entry_type)) for entry_type, count in QUOTAS[purpose].items()]
    beginning = "what is about the task" if purpose == FOR_TASK else "the latest"
    return (
        f"It begins with {beginning}: up to {', '.join(quotas)}; where there is room, the entries of most value follow."
    )


def context_view(memory: MemorySystem, query: ContextQuery) -> ContextView:
    """Return the entries that an agent would be given. This counts as no retrieval.

    Raises:
        InvalidInput: It has neither a limit nor a token budget.
    """
    entries = _context_entries(memory, query)
    rows = entry_rows(memory, entries)
    sizes = [estimate_tokens(entry.content) for entry in entries]
    n_tokens = sum(sizes)
    of_budget = f" of {query.token_budget:,}" if query.token_budget is not None else ""
    return ContextView(
        entries=tuple(
            ContextEntry(row=row, text=Text(entry.content), n_tokens=size)
            for row, entry, size in zip(rows, entries, sizes, strict=True)
        ),
        n_tokens=n_tokens,
        caption=f"{counted(len(entries), 'entry')}, about {n_tokens:,}{of_budget} tokens, the most urgent first",
    )


def _context_entries(memory: MemorySystem, query: ContextQuery) -> list[JournalEntry]:
    journal, bounds = memory.journal, {"limit": query.limit, "token_budget": query.token_budget}
    if query.purpose == FOR_TASK:
        return journal.context_for_task(query.task, **bounds, count_retrieval=False)
    if query.purpose == FOR_GENERATION:
        return journal.context_for_task_generation(**bounds)
    return journal.context_for_evolution(**bounds)
