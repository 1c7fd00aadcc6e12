"""Marks and uses of records, and undoable operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from atlas.core.schema import IF_MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Tags, note, pin and other marks on a record."""

    tags: tuple[str, ...] = ()
    pinned: bool = False
    """A pinned record is never pruned."""

    note: str = ""
    buried: bool = False
    """A buried record is kept, listed and counted, but excluded from searches by default."""

    held_for: str = ""
    """Writer whose searches alone find the record until a curator accepts it. Empty for most records."""

    quarantine: str = ""
    """Reason of the quarantine: no search, context block or map contains the record. Empty for most records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Uses and retrievals of a record since it was stored."""

    n_uses: int = 0
    """Number of recorded uses."""

    n_successes: int = 0
    last_used_at: datetime | None = None
    n_retrieved: int = 0
    """Number of searches that returned the record."""

    last_retrieved_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A use of a record in an attempt, with its outcome."""

    record_id: str
    """The record that was used, or the one that it was merged into."""

    success: bool
    task_id: str = field(metadata={IF_MISSING: ""})
    """The task, or empty if not given."""

    trajectory_id: str = field(metadata={IF_MISSING: ""})
    """The attempt, or empty if not given."""

    at: datetime
    actor: str = field(metadata={IF_MISSING: ""})


NO_MARKS = Marks()
NO_USAGE = Usage()

UNTRIED_RATE = 0.5
"""Success rate of an untried record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One change to a store that can be undone as a whole, unless it is a purge."""

    id: str
    kind: str
    """`store`, `import`, `edit`, `delete`, `prune`, `merge`, `mark`, `restore`, `undo` or `purge`."""

    actor: str
    """Person or program that made the change."""

    created_at: datetime
    reason: str
    counts: Mapping[str, int]
    """Number of records `added`, `changed`, `removed` and `marked`."""

    undoes: str | None = None
    """Comma-separated ids of the operations that this one undid."""

    undone_by: str | None = None
    """Id of the operation that undid this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkUndo:
    """Result or preview of one operation that undoes several others."""

    id: str
    """Id of the operation that undid the others, or empty in a preview."""

    undone: tuple[Operation, ...]
    """The operations that were undone, newest first."""

    refused: tuple[tuple[Operation, str], ...]
    """Operations that can no longer be undone, with reasons."""

    n_later: int = 0
    """Number of matching operations after the preview, which were not undone."""

    @property
    def outcome(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The ids of the undone operations, and the ids of the refused ones."""
        return tuple(operation.id for operation in self.undone), tuple(operation.id for operation, _ in self.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """A filter of operations. An empty string matches all."""

    actor: str = ""
    kind: str = ""
    of: str = ""
    """Id of a record that the operations changed."""

    since: datetime | None = None
    text: str = ""
    """Part of the reason, or of the text of a changed record that is not purged, in upper or lower case."""


ANY_OPERATION = Operations()

UNDO = "undo"
"""Kind of operations that undid others."""


def undone_operation_ids(operation: Operation) -> tuple[str, ...]:
    """Return the ids of the operations that an operation undid."""
    return tuple(operation.undoes.split(",")) if operation.undoes else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange:
    """Effect of an operation on one record, or on its marks."""

    collection: str
    record_id: str
    title: str
    aspect: str
    """`record` or `marks`."""

    kind: str
    """`added`, `changed`, `removed` or `marked`, or `purged` if the record was purged, which leaves no details."""

    fields: tuple[tuple[str, str, str], ...] = ()
    """Each changed field: name, old text and new text. Empty for a record that was added or removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashedRecord:
    """A deleted record that can be restored."""

    id: str
    title: str
    outcome: str
    """`succeeded`, `failed` or `unknown`."""

    deleted_at: datetime
    operation_id: str
    """The operation that deleted the record."""

    kind: str
    """Kind of that operation, such as `delete`, `prune`, `merge` or `undo`."""

    actor: str
    reason: str
