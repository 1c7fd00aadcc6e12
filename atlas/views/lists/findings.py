"""Findings at the head of the lists of records that agents use."""

from __future__ import annotations

from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.uses import MOSTLY_FAILED, use_groups
from atlas.views.lists.queries import Count, Narrowing, Query


def count_with_uses(memory: MemorySystem, kind: Kind, query: Query) -> Count:
    """Return the number of records. Of all records, also how many mostly succeeded, and a link to those that failed."""
    n = kind.records(memory).count(query.where)
    if query.where or not n:
        return Count(n)
    groups = use_groups(kind.records(memory))
    n_good, n_bad, n_unused = map(len, (groups.succeeded, groups.failed, groups.unused))
    if n_unused == n:
        return Count(n, "none was used yet")
    unused = f", {n_unused:,} {'was' if n_unused == 1 else 'were'} not used yet" if n_unused else ""
    failed = Narrowing(f"{n_bad:,} failed in most uses", "state", MOSTLY_FAILED) if n_bad else None
    return Count(n, f"{n_good:,} succeeded in most uses{unused}", failed)
