"""How many strategies there are, and how many of them were used, for the overview."""

from __future__ import annotations

from atlas.memory.system import MemorySystem
from atlas.views.shared.wording import counted

ENOUGH = 5
"""Least number of uses for a strategy to count as sufficiently used."""


def strategy_counts(memory: MemorySystem) -> str:
    """Return `8 strategies: 7 used, 4 of them 5 times or more, 1 retired`, or an empty string if there is none."""
    bank = memory.strategies
    n, n_retired = bank.count(), len(bank.retired())
    uses = [n_uses for n_uses in bank.column("usage.n_uses").values() if n_uses]
    if not n:
        return ""
    if not uses:
        return f"{counted(n, 'strategy')}, none used yet"
    n_enough = sum(n_uses >= ENOUGH for n_uses in uses)
    retired = f", {n_retired:,} retired" if n_retired else ""
    return f"{counted(n, 'strategy')}: {len(uses):,} used, {n_enough:,} of them {ENOUGH} times or more{retired}"
