"""Undo: records and marks return to their states before an operation, whose uses no longer count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.errors import NotAllowed, PlanOutdated, UndoRefused
from atlas.core.operations import NO_MARKS, UNDO, BulkUndo, Operation, Operations, undone_operation_ids
from atlas.core.types import new_id
from atlas.infra.actor import changes_own_only, is_under_review
from atlas.protocols.infra import Clock
from atlas.storage.damage import parse_row
from atlas.storage.marks.codec import decode_marks
from atlas.storage.records import OperationDraft
from atlas.storage.sql.connection import Connection, Database
from atlas.storage.sql.history.operations import read_operation, read_operations
from atlas.storage.sql.marks import change_marks, check_may_change, read_marks
from atlas.storage.sql.meta import PURGED_IMAGE, PURGED_PREFIX
from atlas.storage.sql.records import (
    LAST_CHANGE_SQL,
    MARKS,
    RECORD,
    LedgerWriter,
    current_state,
    record_from_image,
)
from atlas.storage.sql.review import ACCEPT, count_accepted_uses
from atlas.storage.sql.usage import UNDONE, set_exclusion


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
    """The record or its marks before the change, or None if the record did not exist."""

    vectors: bytes


def undo(database: Database, clock: Clock, operation_id: str, *, actor: str, reason: str = "") -> Operation:
    """Undo an operation as a new operation, which can be undone too.

    Args:
        operation_id: The operation's id, or a unique prefix of it.

    Raises:
        NotFound: No such operation.
        UndoRefused: The operation was undone already, one of its records has been changed since, a record to be deleted
            has been marked since, or all of its records were purged. Purged records are not restored.
        NotAllowed: The actor is not a curator, and the undo would change records of other actors.
    """
    with database.write() as connection:
        operation = read_operation(connection, operation_id)
        undo_operation = OperationDraft(
            id=new_id(),
            kind=UNDO,
            actor=actor,
            reason=reason or f"took back {operation.kind} {operation.id[:8]}",
            undoes=operation.id,
            is_reviewed=is_under_review(),
        )
        writer = LedgerWriter(connection, undo_operation, clock.now())
        n_purged = _undo_operation(writer, operation)
        writer.close()
        if n_purged:
            connection.execute(
                "UPDATE operations SET reason = reason || ? WHERE id = ?",
                (_describe_purged(n_purged), undo_operation.id),
            )
        return read_operation(connection, undo_operation.id)


def undo_many(
    database: Database, clock: Clock, where: Operations, *, actor: str, reason: str, expected: BulkUndo | None
) -> BulkUndo:
    """Undo operations, newest first, as one new operation. Undoing the new operation redoes them.

    Operations that conflict with later changes are listed as refused. Operations that were undone already are skipped.
    Operations after the preview are only counted, so that an active writer does not block the undo.

    Args:
        expected: The preview to apply exactly. None to preview without a write.

    Raises:
        PlanOutdated: An operation of the preview can no longer be undone. Nothing was done.
    """
    try:
        with database.write() as connection:
            operations = _operations_to_undo(connection, where)
            undo_operation = OperationDraft(
                id=new_id(), kind=UNDO, actor=actor, reason=reason, is_reviewed=is_under_review()
            )
            writer = LedgerWriter(connection, undo_operation, clock.now())
            if expected is None:
                raise _PreviewFinished(_undo_all(writer, operations))
            return _undo_expected(writer, operations, expected)
    except _PreviewFinished as preview:
        return preview.result


class _PreviewFinished(Exception):
    """Signal that a preview is finished, which rolls its transaction back."""

    def __init__(self, result: BulkUndo) -> None:
        self.result = result


def _operations_to_undo(connection: Connection, where: Operations) -> list[Operation]:
    """Return the matching operations to undo, newest first."""
    matches = read_operations(connection, where, limit=-1, offset=0)
    matching_ids = {operation.id for operation in matches}
    operations_in_effect = [operation for operation in matches if not operation.undone_by]
    # An undo whose operations all match stays, because undoing it would redo them.
    return [
        operation
        for operation in operations_in_effect
        if operation.kind != UNDO or not matching_ids.issuperset(undone_operation_ids(operation))
    ]


def _undo_expected(writer: LedgerWriter, operations: Sequence[Operation], expected: BulkUndo) -> BulkUndo:
    """Undo exactly the operations of a preview, or raise `PlanOutdated` if one of them can no longer be undone."""
    expected_ids, refused_ids = (set(ids) for ids in expected.outcome)
    # Only among the matching operations, so that a forged plan cannot undo operations of others.
    result = _undo_all(writer, [operation for operation in operations if operation.id in expected_ids])
    if result.refused:
        _, reason = result.refused[0]
        raise PlanOutdated(f"{reason}. Nothing was done; reload the history")
    if len(result.undone) < len(expected_ids):
        n_gone = len(expected_ids) - len(result.undone)
        have = "has" if n_gone == 1 else "have"
        raise PlanOutdated(
            f"{n_gone:,} of these operations {have} been undone since the plan was made; nothing was done. "
            "Reload the history"
        )
    n_later = sum(operation.id not in expected_ids and operation.id not in refused_ids for operation in operations)
    return replace(result, refused=expected.refused, n_later=n_later)


def _undo_all(writer: LedgerWriter, operations: Iterable[Operation]) -> BulkUndo:
    """Undo all operations that can be undone. The result lists the others with the reason."""
    undone, refused = list[Operation](), list[tuple[Operation, str]]()
    for operation in operations:
        try:
            _undo_operation(writer, operation)
            undone.append(operation)
        except (UndoRefused, NotAllowed) as error:  # raised before any change
            refused.append((operation, str(error)))
    writer.close()
    writer.connection.execute(
        "UPDATE operations SET undoes = ? WHERE id = ?",
        (",".join(operation.id for operation in undone), writer.operation.id),
    )
    return BulkUndo(id=writer.operation.id, undone=tuple(undone), refused=tuple(refused))


def _undo_operation(writer: LedgerWriter, operation: Operation) -> int:
    """Undo an operation as part of a writer's operation, and return the number of its records that were purged.

    Raises:
        UndoRefused: For the reasons of `undo`. The store was not changed.
    """
    connection = writer.connection
    if operation.undone_by:
        raise UndoRefused(
            f"the operation {operation.kind} {operation.id[:8]} was undone already, by {operation.undone_by[:8]}; "
            f"to do it again: atlas undo {operation.undone_by[:8]}"
        )
    purge_ids = _read_purge_ids(connection, operation.id)
    all_changes = list(_read_changes(connection, operation.id))
    changes = [change for change in all_changes if (change.collection, change.record_id) not in purge_ids]
    _check_not_purged(connection, operation, changes, purge_ids)
    _check_unchanged_since(connection, operation, changes)
    _check_may_undo(writer, operation, changes)
    reverter = _ChangeReverter(connection=connection, writer=writer)
    for change in changes:
        reverter.revert(change)
    for original, is_in_effect in _iterate_originals(connection, operation):
        _count_uses(connection, original, is_counted=is_in_effect)
    _write_undo_state(connection, operation, writer.operation.id)
    return len(purge_ids)


def _check_may_undo(writer: LedgerWriter, operation: Operation, changes: Iterable[_Change]) -> None:
    """Raise `NotAllowed` if the actor may not undo the changes of an operation.

    Whether the undo may change records of other actors depends on the kinds of the original operations.
    """
    kinds = {original.kind for original, _ in _iterate_originals(writer.connection, operation)}
    restricted_operation = replace(writer.operation, changes_own_only=any(map(changes_own_only, kinds)))
    for change in changes:
        check_may_change(writer.connection, restricted_operation, change.collection, [change.record_id])


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChangeReverter:
    """Reverter of single changes, which writes them as parts of an undo."""

    connection: Connection
    writer: LedgerWriter

    def revert(self, change: _Change) -> None:
        if change.aspect == MARKS:
            self._revert_marks(change)
        else:
            self._revert_record(change)

    def _revert_marks(self, change: _Change) -> None:
        current = read_marks(self.connection, change.collection, [change.record_id]).get(change.record_id, NO_MARKS)
        before = decode_marks(change.before or {})
        change_marks(self.writer, change.collection, change.record_id, current, before, state=change.state_before)

    def _revert_record(self, change: _Change) -> None:
        exists = self.writer.exists(change.collection, change.record_id)
        if change.before is None:
            if exists:
                self.writer.remove("removed", change.collection, change.record_id, state=change.state_before)
            return
        self.writer.put(
            "changed" if exists else "added",
            change.collection,
            record_from_image(change.record_id, change.before, change.vectors),
            state=change.state_before,
        )


def _describe_purged(n_purged: int) -> str:
    """Return a clause for the reason of an undo, such as `; without 1 record that was purged later`."""
    return f"; without {n_purged:,} {'record that was' if n_purged == 1 else 'records that were'} purged later"


def _check_not_purged(
    connection: Connection, operation: Operation, changes: list[_Change], purge_ids: Mapping[tuple[str, str], str]
) -> None:
    """Raise `UndoRefused` if all records of an operation were purged, so that no changes remain."""
    if changes or not purge_ids:
        return
    (_, record_id), purge_id = next(iter(purge_ids.items()))
    purge = read_operation(connection, purge_id)
    reason = f"the record {record_id} was purged later, by {purge.actor} on {purge.created_at:%Y-%m-%d %H:%M} UTC"
    if purge.id == operation.id:
        reason = "a purge removes records for good"
    raise UndoRefused(f"the operation {operation.kind} {operation.id[:8]} cannot be undone: {reason}")


def blocker(connection: Connection, operation_id: str) -> Operation | None:
    """Return the later operation on the same records that has to be undone first, or None if there is none."""
    operation = read_operation(connection, operation_id)
    purge_ids = _read_purge_ids(connection, operation.id)
    all_changes = _read_changes(connection, operation.id)
    changes = [change for change in all_changes if (change.collection, change.record_id) not in purge_ids]
    conflict = _find_conflict(connection, changes)
    return _read_last_operation(connection, conflict) if conflict is not None else None


def _check_unchanged_since(connection: Connection, operation: Operation, changes: list[_Change]) -> None:
    """Raise `UndoRefused` if one of the changed records, or its marks, has changed again since the operation."""
    conflict = _find_conflict(connection, changes)
    if conflict is not None:
        raise _conflict_error(connection, operation, conflict)


def _find_conflict(connection: Connection, changes: list[_Change]) -> _Change | None:
    """Return the latest change after which the record or its marks have changed again, or None.

    Undoing an addition deletes the record. So new marks of an added record are a conflict too.
    """
    last_changes: dict[tuple[str, str, str], _Change] = {}
    for change in changes:  # latest first
        last_changes.setdefault((change.collection, change.record_id, change.aspect), change)
    for change in last_changes.values():
        if current_state(connection, change.collection, change.record_id, change.aspect) != change.state_after:
            return change
    first_changes = {(change.collection, change.record_id, change.aspect): change for change in changes}
    for key, change in last_changes.items():
        is_addition = change.aspect == RECORD and first_changes[key].before is None
        if is_addition and (*key[:2], MARKS) not in last_changes and _has_new_marks(connection, change):
            return replace(change, aspect=MARKS)
    return None


def _conflict_error(connection: Connection, operation: Operation, change: _Change) -> UndoRefused:
    """Return the error for an operation that cannot be undone, because of a conflict with one of its changes."""
    last = _read_last_operation(connection, change)
    return UndoRefused(
        f"the operation {operation.kind} {operation.id[:8]} cannot be undone: the record {change.record_id} was "
        f"changed later, by {last.kind} {last.id[:8]} of {last.created_at:%Y-%m-%d %H:%M} UTC. Undo that first: "
        f"atlas undo {last.id[:8]}"
    )


def _count_uses(connection: Connection, operation: Operation, *, is_counted: bool) -> None:
    """Count the uses that depend on an operation, or stop counting them."""
    if operation.kind == ACCEPT:
        count_accepted_uses(connection, operation.id, is_counted=is_counted)
    else:
        set_exclusion(connection, operation.id, UNDONE, is_excluded=not is_counted)


def _iterate_originals(
    connection: Connection, operation: Operation, is_in_effect: bool = False
) -> Iterator[tuple[Operation, bool]]:
    """Yield each original operation that an undo affects, and whether it is in effect after the undo.

    For an ordinary operation, this is the operation itself. For an undo, these are the operations that it had undone,
    and which undoing it redoes.

    Args:
        operation: The operation to undo.
        is_in_effect: Whether `operation` is in effect after the undo.
    """
    if operation.kind != UNDO:
        yield operation, is_in_effect
    for operation_id in undone_operation_ids(operation):
        yield from _iterate_originals(connection, read_operation(connection, operation_id), not is_in_effect)


def _write_undo_state(connection: Connection, operation: Operation, undo_id: str) -> None:
    """Update the column `undone_by` of each operation that an undo affects."""
    for operation_id in undone_operation_ids(operation):
        connection.execute("UPDATE operations SET undone_by = NULL WHERE id = ?", (operation_id,))
    for original, is_in_effect in _iterate_originals(connection, operation):
        undone_by_id = None if is_in_effect else undo_id
        connection.execute("UPDATE operations SET undone_by = ? WHERE id = ?", (undone_by_id, original.id))
    connection.execute("UPDATE operations SET undone_by = ? WHERE id = ?", (undo_id, operation.id))


def _read_changes(connection: Connection, operation_id: str) -> Iterator[_Change]:
    """Yield an operation's changes, latest first, except changes whose before-images were purged."""
    rows = connection.execute(
        "SELECT seq, aspect, collection, record_id, state_before, coalesce(state_after, seq), before, vectors "
        "FROM changes "
        "WHERE operation = ? AND before IS DISTINCT FROM ? ORDER BY seq DESC",
        (operation_id, PURGED_IMAGE),
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


def _has_new_marks(connection: Connection, change: _Change) -> bool:
    """Return whether the marks of a record have changed after a change of the record itself."""
    row = connection.execute(
        "SELECT coalesce(state_after, seq) FROM changes WHERE collection = ? AND record_id = ? AND aspect = ? "
        "AND seq < ? ORDER BY seq DESC LIMIT 1",
        (change.collection, change.record_id, MARKS, change.seq),
    ).fetchone()
    return current_state(connection, change.collection, change.record_id, MARKS) != (row[0] if row else 0)


def _read_last_operation(connection: Connection, change: _Change) -> Operation:
    """Return the operation that touched a change's record last."""
    row = connection.execute(
        f"SELECT operation {LAST_CHANGE_SQL}",
        (change.collection, change.record_id, change.aspect),
    ).fetchone()
    return read_operation(connection, row[0])


def _read_purge_ids(connection: Connection, operation_id: str) -> dict[tuple[str, str], str]:
    """Return the ids of the purges of an operation's records, keyed by collection and record id."""
    rows = connection.execute(
        "SELECT c.collection, c.record_id, m.value FROM changes c "
        f"JOIN meta m ON m.name = '{PURGED_PREFIX}' || c.collection "
        "|| ':' || c.record_id WHERE c.operation = ?",
        (operation_id,),
    ).fetchall()
    return {(collection, record_id): purge_id for collection, record_id, purge_id in rows}
