"""How many strategies there are, and how many of them were tried, for the overview."""

from __future__ import annotations

from atlas.memory.system import MemorySystem
from atlas.views.shared.wording import counted

ENOUGH = 5
"""Least number of tries for a strategy to count as sufficiently tried."""


def strategy_counts(memory: MemorySystem) -> str:
    """Return `8 strategies: 7 tried, 4 of them 5 times or more, 1 retired`, or an empty string if there is none."""
    bank = memory.strategies
    n, n_retired = bank.count(), len(bank.retired())
    tries = [n_uses for n_uses in bank.column("usage.n_uses").values() if n_uses]
    if not n:
        return ""
    if not tries:
        return f"{counted(n, 'strategy')}, none tried yet"
    n_enough = sum(n_uses >= ENOUGH for n_uses in tries)
    retired = f", {n_retired:,} retired" if n_retired else ""
    return f"{counted(n, 'strategy')}: {len(tries):,} tried, {n_enough:,} of them {ENOUGH} times or more{retired}"
