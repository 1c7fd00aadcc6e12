"""Findings at the head of the lists of records that agents use."""

from __future__ import annotations

from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.kinds.uses import UNUSED, WORSE, use_groups
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
    n_unclear = n - n_reliable - n_worse - n_unused
    numbers = {"reliable": n_reliable, "too few uses to tell": n_unclear, "not used yet": n_unused}
    note = ", ".join(f"{number:,} {what}" for what, number in numbers.items() if number)
    return Count(n, note, _narrowing(kind, n_worse, n_unused))


def _narrowing(kind: Kind, n_worse: int, n_unused: int) -> Narrowing | None:
    """Return the worst records as the first to look at, or else those that were not used yet."""
    if n_worse:
        do = "does" if n_worse == 1 else "do"
        sentence = f"{counted(n_worse, kind.noun)} {do} clearly worse than the others: {look_at(n_worse)}"
        return Narrowing(sentence, "state", WORSE)
    if n_unused:
        was = "was" if n_unused == 1 else "were"
        return Narrowing(f"{counted(n_unused, kind.noun)} {was} not used yet: {look_at(n_unused)}", "state", UNUSED)
    return None
