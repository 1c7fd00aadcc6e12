"""Undo: records and marks return to their states before an operation, and its uses no longer count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.errors import PlanOutdated, UndoRefused
from atlas.core.operations import NO_MARKS, UNDO, Operation, Operations, UndoneMany, undone_by
from atlas.core.types import new_id
from atlas.infra.actor import is_under_review
from atlas.protocols.infra import Clock
from atlas.storage.damage import parse_row
from atlas.storage.marks.codec import decode_marks
from atlas.storage.records import OperationDraft
from atlas.storage.sql.connection import Connection, Database
from atlas.storage.sql.history.operations import read_operation, read_operations
from atlas.storage.sql.marks import check_own, mark, read_marks
from atlas.storage.sql.meta import GONE, PURGED
from atlas.storage.sql.records import (
    LAST_CHANGE,
    MARKS,
    RECORD,
    LedgerWriter,
    current_state,
    record_from_image,
)
from atlas.storage.sql.review import ACCEPT, release_uses
from atlas.storage.sql.usage import UNDONE, change_uses


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A change of a record in an operation."""

    seq: int
    aspect: str
    """`record` or `marks`."""

    collection: str
    record_id: str
    state_before: int
    state_after: int
    before: dict[str, Any] | None
    """The record, or its marks, before, or None if it did not exist."""

    vectors: bytes


def undo(database: Database, clock: Clock, operation_id: str, *, actor: str, reason: str = "") -> Operation:
    """Undo an operation as a new operation, which can be undone too.

    Args:
        operation_id: Its id, or a unique prefix of it.

    Raises:
        NotFound: No such operation.
        UndoRefused: It was undone already, something that it touched has changed since, a record that would go was
            marked since, or all that it touched was purged. Purged records are not restored.
    """
    with database.write() as connection:
        operation = read_operation(connection, operation_id)
        draft = OperationDraft(
            id=new_id(),
            kind=UNDO,
            actor=actor,
            reason=reason or f"took back {operation.kind} {operation.id[:8]}",
            undoes=operation.id,
            is_reviewed=is_under_review(),
        )
        writer = LedgerWriter(connection, draft, clock.now())
        n_purged = _take_back(writer, operation)
        writer.close()
        if n_purged:
            connection.execute(
                "UPDATE operations SET reason = reason || ? WHERE id = ?", (_without(n_purged), draft.id)
            )
        return read_operation(connection, draft.id)


def undo_many(
    database: Database, clock: Clock, wanted: Operations, *, actor: str, reason: str, expected: UndoneMany | None
) -> UndoneMany:
    """Undo operations, newest first, as one new operation. Undoing the new operation restores them.

    Operations that conflict with later changes are skipped and listed, and undone ones are skipped. Operations after a
    preview are only counted, so that an active writer does not block the undo.

    Args:
        expected: The preview to apply exactly. None to preview without a write.

    Raises:
        PlanOutdated: An operation of the preview can no longer be undone. Nothing was done.
    """
    try:
        with database.write() as connection:
            left = _operations_to_undo(connection, wanted)
            draft = OperationDraft(id=new_id(), kind=UNDO, actor=actor, reason=reason, is_reviewed=is_under_review())
            writer = LedgerWriter(connection, draft, clock.now())
            if expected is None:
                raise _PreviewDone(_undo_all(writer, left))
            return _undo_expected(writer, left, expected)
    except _PreviewDone as preview:
        return preview.done


class _PreviewDone(Exception):
    def __init__(self, done: UndoneMany) -> None:
        self.done = done


def _operations_to_undo(connection: Connection, wanted: Operations) -> list[Operation]:
    """Return the matching operations to undo, newest first."""
    every = read_operations(connection, wanted, limit=-1, offset=0)
    ids = {operation.id for operation in every}
    return [
        operation
        for operation in every
        if not operation.undone_by and not (operation.kind == UNDO and ids.issuperset(undone_by(operation)))
    ]


def _undo_expected(writer: LedgerWriter, left: Sequence[Operation], expected: UndoneMany) -> UndoneMany:
    undone, refused = (set(ids) for ids in expected.outcome)
    # Looked up among what is wanted: a plan of other hands undoes nothing that its holder may not undo.
    done = _undo_all(writer, [operation for operation in left if operation.id in undone])
    if done.refused:
        raise PlanOutdated(f"{done.refused[0][1]}. Nothing was done; look again")
    if len(done.undone) < len(undone):
        n_gone = len(undone) - len(done.undone)
        were = "was" if n_gone == 1 else "were"
        raise PlanOutdated(f"{n_gone:,} of these operations {were} undone since; nothing was done. Reload the history")
    n_later = sum(operation.id not in undone and operation.id not in refused for operation in left)
    return replace(done, refused=expected.refused, n_later=n_later)


def _undo_all(writer: LedgerWriter, operations: Iterable[Operation]) -> UndoneMany:
    done, refused = list[Operation](), list[tuple[Operation, str]]()
    for operation in operations:
        try:
            _take_back(writer, operation)
            done.append(operation)
        except UndoRefused as error:  # before any of it was undone
            refused.append((operation, str(error)))
    writer.close()
    writer.connection.execute(
        "UPDATE operations SET undoes = ? WHERE id = ?",
        (",".join(operation.id for operation in done), writer.operation.id),
    )
    return UndoneMany(id=writer.operation.id, undone=tuple(done), refused=tuple(refused))


def _take_back(writer: LedgerWriter, operation: Operation) -> int:
    """Undo an operation as part of a writer's operation, and return the number of its purged records.

    Raises:
        UndoRefused: For the reasons of `undo`. The store was not changed.
    """
    connection = writer.connection
    if operation.undone_by:
        raise UndoRefused(
            f"{operation.kind} {operation.id[:8]} was undone already, by {operation.undone_by[:8]}; "
            f"to do it again: atlas undo {operation.undone_by[:8]}"
        )
    purged = _purged_in(connection, operation.id)
    every = list(_read_changes(connection, operation.id))
    changes = [change for change in every if (change.collection, change.record_id) not in purged]
    _check_anything_left(connection, operation, changes, purged)
    _check_unchanged_since(connection, operation, changes)
    for change in changes:
        check_own(connection, writer.operation, change.collection, [change.record_id])
    taker = _Taker(connection=connection, writer=writer)
    for change in changes:
        taker.take_back(change)
    for undone, counts in _first_done(connection, operation):
        _take_back_uses(connection, undone, counts=counts)
    _link(connection, operation, writer.operation.id)
    return len(purged)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taker:
    connection: Connection
    writer: LedgerWriter

    def take_back(self, change: _Change) -> None:
        if change.aspect == MARKS:
            self._take_back_marks(change)
        else:
            self._take_back_record(change)

    def _take_back_marks(self, change: _Change) -> None:
        now = read_marks(self.connection, change.collection, [change.record_id]).get(change.record_id, NO_MARKS)
        before = decode_marks(change.before or {})
        mark(self.writer, change.collection, change.record_id, now, before, state=change.state_before)

    def _take_back_record(self, change: _Change) -> None:
        is_there = self.writer.exists(change.collection, change.record_id)
        if change.before is None:
            if is_there:
                self.writer.remove("removed", change.collection, change.record_id, state=change.state_before)
            return
        self.writer.put(
            "changed" if is_there else "added",
            change.collection,
            record_from_image(change.record_id, change.before, change.vectors),
            state=change.state_before,
        )


def _without(n_purged: int) -> str:
    """Return a suffix of an undo's reason on purged records."""
    if not n_purged:
        return ""
    return f"; without {n_purged:,} {'record that was' if n_purged == 1 else 'records that were'} purged since"


def _check_anything_left(
    connection: Connection, operation: Operation, changes: list[_Change], purged: Mapping[tuple[str, str], str]
) -> None:
    if changes or not purged:
        return
    (_, record_id), purge_id = next(iter(purged.items()))
    purge = read_operation(connection, purge_id)
    since = f"{record_id} was purged since, by {purge.actor} on {purge.created_at:%Y-%m-%d %H:%M} UTC, and"
    raise UndoRefused(
        f"{operation.kind} {operation.id[:8]} cannot be undone: "
        f"{'what it removed' if purge.id == operation.id else since} is gone for good"
    )


def _check_unchanged_since(connection: Connection, operation: Operation, changes: list[_Change]) -> None:
    left_behind: dict[tuple[str, str, str], _Change] = {}
    for change in changes:  # latest first: what the operation left behind is its last change of each record
        left_behind.setdefault((change.collection, change.record_id, change.aspect), change)
    for change in left_behind.values():
        if current_state(connection, change.collection, change.record_id, change.aspect) != change.state_after:
            raise _changed_since(connection, operation, change)
    first = {(change.collection, change.record_id, change.aspect): change for change in changes}
    for key, change in left_behind.items():
        goes = change.aspect == RECORD and first[key].before is None
        if goes and (*key[:2], MARKS) not in left_behind and _marked_since(connection, change):
            raise _changed_since(connection, operation, replace(change, aspect=MARKS))


def _changed_since(connection: Connection, operation: Operation, change: _Change) -> UndoRefused:
    later = _last_change(connection, change)
    return UndoRefused(
        f"{operation.kind} {operation.id[:8]} cannot be undone: {change.record_id} was changed since, by "
        f"{later.kind} {later.id[:8]} of {later.created_at:%Y-%m-%d %H:%M} UTC. Undo that first: "
        f"atlas undo {later.id[:8]}"
    )


def _take_back_uses(connection: Connection, origin: Operation, *, counts: bool) -> None:
    if origin.kind == ACCEPT:
        release_uses(connection, origin.id, counts=counts)
    else:
        change_uses(connection, origin.id, UNDONE, is_set=not counts)


def _first_done(connection: Connection, operation: Operation, counts: bool = False) -> Iterator[tuple[Operation, bool]]:
    """Yield the original operations, if an operation undoes an undo, and so on.

    With each, whether it is done again.
    """
    if operation.kind != UNDO:
        yield operation, counts
    for operation_id in undone_by(operation):
        yield from _first_done(connection, read_operation(connection, operation_id), not counts)


def _link(connection: Connection, operation: Operation, undo_id: str) -> None:
    """Write `undone_by` of each operation that is touched by an undo."""
    for operation_id in undone_by(operation):
        connection.execute("UPDATE operations SET undone_by = NULL WHERE id = ?", (operation_id,))
    for undone, counts in _first_done(connection, operation):
        by = None if counts else undo_id
        connection.execute("UPDATE operations SET undone_by = ? WHERE id = ?", (by, undone.id))
    connection.execute("UPDATE operations SET undone_by = ? WHERE id = ?", (undo_id, operation.id))


def _read_changes(connection: Connection, operation_id: str) -> Iterator[_Change]:
    """Return an operation's changes, latest first, except changes whose before-images were purged."""
    rows = connection.execute(
        "SELECT seq, aspect, collection, record_id, state_before, coalesce(state_after, seq), before, vectors "
        "FROM changes "
        "WHERE operation = ? AND before IS DISTINCT FROM ? ORDER BY seq DESC",
        (operation_id, GONE),
    )
    for seq, aspect, collection, record_id, state_before, state_after, before, vectors in rows.fetchall():
        yield _Change(
            seq=seq,
            aspect=aspect,
            collection=collection,
            record_id=record_id,
            state_before=state_before,
            state_after=state_after,
            before=parse_row(before) if before is not None else None,
            vectors=vectors or b"",
        )


def _marked_since(connection: Connection, change: _Change) -> bool:
    """Return whether a record's marks differ from those at the time of a change of it."""
    row = connection.execute(
        "SELECT coalesce(state_after, seq) FROM changes WHERE collection = ? AND record_id = ? AND aspect = ? "
        "AND seq < ? ORDER BY seq DESC LIMIT 1",
        (change.collection, change.record_id, MARKS, change.seq),
    ).fetchone()
    return current_state(connection, change.collection, change.record_id, MARKS) != (row[0] if row else 0)


def _last_change(connection: Connection, change: _Change) -> Operation:
    """Return the operation that touched a change's record last."""
    row = connection.execute(
        f"SELECT operation {LAST_CHANGE}",
        (change.collection, change.record_id, change.aspect),
    ).fetchone()
    return read_operation(connection, row[0])


def _purged_in(connection: Connection, operation_id: str) -> dict[tuple[str, str], str]:
    """Return the purged records of an operation, each with its purge."""
    rows = connection.execute(
        f"SELECT c.collection, c.record_id, m.value FROM changes c JOIN meta m ON m.name = '{PURGED}' || c.collection "
        "|| ':' || c.record_id WHERE c.operation = ?",
        (operation_id,),
    ).fetchall()
    return {(collection, record_id): purge for collection, record_id, purge in rows}
