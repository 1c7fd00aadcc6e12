"""How the uses of records went, for the filters and the findings of lists."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from atlas.core.statistics import SuccessRate
from atlas.maps.hygiene import is_failing, worst_first
from atlas.memory.base.memory import Memory
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Where

EVERY, WORSE, UNUSED = "All", "Clearly worse than the others", "Not used yet"
USE_STATES = (EVERY, WORSE, UNUSED)

ACTIVE = {"marks.buried": False}
"""Filter on the records that are compared."""


def use_rates(records: Memory[Any], where: Where | None = None) -> dict[str, SuccessRate]:
    """Return the success rate of each record that was used, by its id."""
    uses, successes = (records.column(f"usage.{name}", where) for name in ("n_uses", "n_successes"))
    return {
        each: SuccessRate.of({"succeeded": successes.get(each, 0), "failed": n - successes.get(each, 0)})
        for each, n in uses.items()
        if n
    }


def average_rate(memory: MemorySystem) -> float | None:
    """Return the share of all attempts of known outcome that succeeded, in [0, 1], or None without any."""
    return SuccessRate.of(memory.experience.values("outcome")).share


def worse_than(records: Memory[Any], retired: Collection[str] = ()) -> dict[str, SuccessRate]:
    """Return the records with a clearly lower success rate than all active ones together, and the rate of the others.

    The worst come first.

    Args:
        records: The memory of the records.
        retired: Ids that are compared, but not returned.
    """
    rates = use_rates(records, ACTIVE)
    n_succeeded, n_failed = (
        sum(getattr(rate, name) for rate in rates.values()) for name in ("n_succeeded", "n_failed")
    )
    whole = SuccessRate(n_succeeded=n_succeeded, n_failed=n_failed)
    return {
        each: SuccessRate(n_succeeded=n_succeeded - rates[each].n_succeeded, n_failed=n_failed - rates[each].n_failed)
        for each in worst_first(rates)
        if each not in retired and is_failing(rates[each], whole)
    }


def in_use_state(records: Memory[Any], state: str, retired: Collection[str] = ()) -> Any:
    """Return a filter on the ids of records that are clearly worse than the others, or that were not used yet."""
    if state == WORSE:
        return {"$in": list(worse_than(records, retired))}
    used = use_rates(records)
    return {"$in": [each for each in records.ids() if each not in used]}
