"""How many strategies there are, and how many of them were used, for the overview."""

from __future__ import annotations

from atlas.memory.system import MemorySystem
from atlas.views.shared.wording import counted


def strategy_counts(memory: MemorySystem) -> str:
    """Return `8 strategies: 7 used, 1 retired`, or an empty string if there is none."""
    bank = memory.strategies
    n, n_retired = bank.count(), len(bank.retired())
    n_used = sum(bool(n_uses) for n_uses in bank.column("usage.n_uses").values())
    if not n:
        return ""
    if not n_used:
        return f"{counted(n, 'strategy')}, none used yet"
    retired = f", {n_retired:,} retired" if n_retired else ""
    return f"{counted(n, 'strategy')}: {n_used:,} used{retired}"
