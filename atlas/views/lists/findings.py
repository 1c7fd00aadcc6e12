"""Findings at the head of the lists of records that agents use."""

from __future__ import annotations

from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.kinds.uses import WORSE, use_groups
from atlas.views.lists.queries import Count, Narrowing, Query
from atlas.views.shared.wording import counted, look_at


def count_with_uses(memory: MemorySystem, kind: Kind, query: Query) -> Count:
    """Return the number of records. Of all records, also how sure it is that they work, and what to look at first."""
    n = kind.records(memory).count(query.where)
    if query.where or not n:
        return Count(n)
    groups = use_groups(kind.records(memory), memory.strategies.retired() if kind is STRATEGY else ())
    n_reliable, n_worse, n_unused = map(len, (groups.reliable, groups.worse, groups.unused))
    if n_unused == n:
        return Count(n, "none was used yet")
    n_failing = len(groups.failing)
    numbers = {
        "reliable": n_reliable,
        "mostly fails" if n_failing == 1 else "mostly fail": n_failing,
        "not clear yet": n - n_reliable - n_worse - n_failing - n_unused,
        "not used yet": n_unused,
    }
    note = ", ".join(f"{number:,} {what}" for what, number in numbers.items() if number)
    return Count(n, note, _narrowing(kind, n_worse) if n_worse else None)


def _narrowing(kind: Kind, n_worse: int) -> Narrowing:
    """Return the records that do clearly worse than the others as the first to look at."""
    do = "does" if n_worse == 1 else "do"
    sentence = f"{counted(n_worse, kind.noun)} {do} clearly worse than the others: {look_at(n_worse)}"
    return Narrowing(sentence, "state", WORSE)
