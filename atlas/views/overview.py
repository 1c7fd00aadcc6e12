"""The overview: how much is remembered, how well it went, and what was done to it lately."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from atlas.core.types import Operation
from atlas.memory.system import MemorySystem
from atlas.views.rates import SuccessRate
from atlas.views.wording import OUTCOMES, counted, import_command

GROUPS_SHOWN = 50
OPERATIONS_SHOWN = 10
NOT_SAID = "(not said)"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """The attempts that share a source or a domain."""

    name: str
    """As the source gives it: untrusted text."""

    n: int
    percent_succeeded: float | None
    """Of the known outcomes, in [0, 100]; None where none is known."""

    interval: str
    n_succeeded: int
    n_failed: int
    n_unknown: int


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups, largest first."""

    shown: tuple[GroupRow, ...]
    n_more: int
    """Groups beyond those shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRow:
    """One thing that was done to the store."""

    at: datetime
    what: str
    counts: str
    """`597 added`, or several such."""

    actor: str
    reason: str
    state: str
    """`undone`, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What the overview shows."""

    rate: SuccessRate
    sources: Groups
    domains: Groups
    operations: tuple[OperationRow, ...]
    import_command: str
    """What to type to fill the store."""


def overview(memory: MemorySystem) -> Overview:
    """The overview of a memory as it is now."""
    counts = memory.experience.values("outcome")
    return Overview(
        rate=SuccessRate.of(counts),
        sources=_groups(memory, "source", counts),
        domains=_groups(memory, "domain", counts),
        operations=tuple(_row(operation) for operation in memory.history(OPERATIONS_SHOWN)),
        import_command=import_command(memory),
    )


def _groups(memory: MemorySystem, key: str, totals: dict[Any, int]) -> Groups:
    tallies: dict[str, dict[str, int]] = {}
    for outcome in OUTCOMES:
        named = memory.experience.values(key, {"outcome": outcome})
        for value, n in [*named.items(), (NOT_SAID, totals.get(outcome, 0) - sum(named.values()))]:
            tally = tallies.setdefault(str(value), {})
            tally[outcome] = tally.get(outcome, 0) + max(n, 0)
    groups = [_group(name, SuccessRate.of(tally)) for name, tally in tallies.items() if any(tally.values())]
    groups.sort(key=lambda group: (-group.n, group.name))
    return Groups(tuple(groups[:GROUPS_SHOWN]), max(0, len(groups) - GROUPS_SHOWN))


def _group(name: str, rate: SuccessRate) -> GroupRow:
    return GroupRow(
        name=name,
        n=rate.n,
        percent_succeeded=None if rate.share is None else 100 * rate.share,
        interval=rate.interval_text,
        n_succeeded=rate.n_succeeded,
        n_failed=rate.n_failed,
        n_unknown=rate.n_unknown,
    )


def _row(operation: Operation) -> OperationRow:
    return OperationRow(
        at=operation.created_at,
        what=operation.kind,
        counts=", ".join(f"{n:,} {name}" for name, n in operation.counts.items()),
        actor=operation.actor,
        reason=operation.reason,
        state="undone" if operation.undone_by else "",
    )


def groups_caption(groups: Groups, noun: str) -> str:
    """What a table of groups does not say itself; empty where it says everything."""
    return f"and {counted(groups.n_more, f'more {noun}')}" if groups.n_more else ""
