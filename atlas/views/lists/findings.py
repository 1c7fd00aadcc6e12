"""Findings at the head of the lists of records that agents use."""

from __future__ import annotations

from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.kinds.uses import WORSE, use_groups
from atlas.views.lists.queries import Count, Narrowing, Query


def count_with_uses(memory: MemorySystem, kind: Kind, query: Query) -> Count:
    """Return the number of records. Of all records, also how sure it is that they work, and a link to the worst."""
    n = kind.records(memory).count(query.where)
    if query.where or not n:
        return Count(n)
    groups = use_groups(kind.records(memory), memory.strategies.retired() if kind is STRATEGY else ())
    n_reliable, n_worse, n_unused = map(len, (groups.reliable, groups.worse, groups.unused))
    if n_unused == n:
        return Count(n, "none was used yet")
    n_unclear = n - n_reliable - n_worse - n_unused
    numbers = {"reliable": n_reliable, "too few uses to tell": n_unclear, "not used yet": n_unused}
    worse = Narrowing(f"{n_worse:,} clearly worse than the others", "state", WORSE) if n_worse else None
    return Count(n, ", ".join(f"{number:,} {what}" for what, number in numbers.items() if number), worse)
