"""Groups of records by how their uses went, for the filters and the findings of lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from atlas.memory.base.memory import Memory

EVERY, MOSTLY_FAILED, UNUSED = "All", "Failed in most uses", "Not used yet"
USE_STATES = (EVERY, MOSTLY_FAILED, UNUSED)


@dataclass(frozen=True, slots=True)
class UseGroups:
    """Ids of records by how their uses went. A record of as many failures as successes is in none."""

    succeeded: tuple[str, ...]
    failed: tuple[str, ...]
    unused: tuple[str, ...]


def use_groups(records: Memory[Any]) -> UseGroups:
    """Return the ids of records whose uses mostly succeeded, mostly failed, and of those without any."""
    uses, successes = (records.column(f"usage.{name}") for name in ("n_uses", "n_successes"))
    leads = {each: 2 * successes.get(each, 0) - n for each, n in uses.items() if n}
    return UseGroups(
        succeeded=tuple(each for each, lead in leads.items() if lead > 0),
        failed=tuple(each for each, lead in leads.items() if lead < 0),
        unused=tuple(each for each in records.ids() if each not in leads),
    )


def in_use_state(records: Memory[Any], state: str) -> Any:
    """Return a filter on the ids of records that failed in most uses, or that were not used yet."""
    groups = use_groups(records)
    return {"$in": list(groups.unused if state == UNUSED else groups.failed)}
