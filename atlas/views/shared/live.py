"""Changes that others have made to the store since a page was drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from atlas.memory.system import MemorySystem
from atlas.views.shared.state import StoreState, store_state

OPERATIONS_SEEN = 50
"""Maximum number of operations to compare. With more, the counts are lower bounds."""

UNNAMED = "Changed elsewhere"
WORDS = {"added": "new", "changed": "changed", "marked": "marked", "removed": "deleted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """The state of the store that a page shows."""

    state: StoreState
    counts: Mapping[str, Mapping[str, int]]
    """Counts of each of the newest operations by then, by its id: an import may still be going on."""


def page_state(memory: MemorySystem, state: StoreState) -> PageState:
    """Return the state that a page shows. It is read before the page is drawn, so later changes are noticed."""
    counts = {operation.id: dict(operation.counts) for operation in memory.history(OPERATIONS_SEEN)}
    return PageState(state=state, counts=counts)


def changes_since(last: PageState, memory: MemorySystem) -> str:
    """Return `3 new · 1 deleted` for the changes since a page was drawn, or an empty string if there are no changes."""
    now = store_state(memory)
    if now == last.state:
        return ""
    if now.ledger_id != last.state.ledger_id:
        return UNNAMED
    totals = dict.fromkeys(WORDS, 0)
    for operation in memory.history(OPERATIONS_SEEN):
        before = last.counts.get(operation.id, {})
        for name in totals:
            totals[name] += operation.counts.get(name, 0) - before.get(name, 0)
    named = [f"{n:,} {WORDS[name]}" for name, n in totals.items() if n > 0]
    return " · ".join(named) or UNNAMED
