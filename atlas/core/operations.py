"""What happened to records since they were stored: marks, uses, and operations that can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What people have said about a record since it was stored."""

    tags: tuple[str, ...] = ()
    pinned: bool = False
    """A pinned record is never pruned."""

    note: str = ""
    buried: bool = False
    """A buried record is left out of searches, unless they ask for it, but is kept, listed and counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What agents have done with a record since it was stored."""

    n_uses: int = 0
    """Tasks that it was used for and whose outcome was recorded."""

    n_successes: int = 0
    last_used_at: datetime | None = None
    n_retrieved: int = 0
    """Searches that returned it."""

    last_retrieved_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One attempt at a task that a record was used for, and how it went."""

    record_id: str
    """The one that was used; another one where that was merged since."""

    success: bool
    task_id: str
    """Empty where nobody said."""

    trajectory_id: str
    """The attempt; empty where nobody said."""

    at: datetime
    actor: str


NO_MARKS = Marks()
NO_USAGE = Usage()

UNTRIED_RATE = 0.5
"""The success rate of what nobody has tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One change to a store that can be undone as a whole, unless it is a purge."""

    id: str
    kind: str
    """`store`, `import`, `edit`, `delete`, `prune`, `merge`, `mark`, `restore`, `undo` or `purge`."""

    actor: str
    """Who did it."""

    created_at: datetime
    reason: str
    counts: Mapping[str, int]
    """How many records were `added`, `changed` or `removed`, and how many `marked`."""

    undoes: str | None = None
    """The operation that this one took back."""

    undone_by: str | None = None
    """The operation that took this one back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange:
    """What an operation did to one record, or to its marks."""

    collection: str
    record_id: str
    title: str
    aspect: str
    """`record` or `marks`."""

    kind: str
    """`added`, `changed`, `removed` or `marked`; `purged` where the record was purged, which left nothing to tell."""

    fields: tuple[tuple[str, str, str], ...] = ()
    """Name, text before and text after of each field that differs; none for what was added or removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashedRecord:
    """A deleted record that can be brought back."""

    id: str
    title: str
    outcome: str
    """`succeeded`, `failed` or `unknown`."""

    deleted_at: datetime
    operation_id: str
    """The operation that deleted it."""

    kind: str
    """What that operation was, such as `delete`, `prune`, `merge` or `undo`."""

    actor: str
    reason: str
