"""Review: additions of an untrusted writer wait until a curator accepts them.

A waiting record has the mark `held_for` with its writer's name. Uses that come with an attempt are stored, but not
counted until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from atlas.core.operations import NO_MARKS
from atlas.storage.sql.connection import Connection
from atlas.storage.sql.marks import change_marks, read_marks, write_marks_without_history
from atlas.storage.sql.records import RECORD, LedgerWriter
from atlas.storage.sql.usage import WAITING, set_exclusion

ACCEPT = "accept"
"""Kind of operations that accept waiting records."""


def mark_pending(writer: LedgerWriter, collection: str, ids: Sequence[str]) -> None:
    """Mark new records as pending if the operation's actor is under review.

    This is not a change in the history, so undoing the operation only has to remove the record.
    """
    if not writer.operation.is_reviewed or not ids:
        return
    marks = read_marks(writer.connection, collection, ids)
    pending_marks = {
        record_id: replace(marks.get(record_id, NO_MARKS), held_for=writer.operation.actor) for record_id in ids
    }
    write_marks_without_history(writer.connection, collection, pending_marks)
    writer.next_revision()


def accept(writer: LedgerWriter, collection: str, ids: Sequence[str]) -> int:
    """Accept pending records, count the uses that came with them, and return the number of accepted records."""
    all_marks = read_marks(writer.connection, collection, list(ids))
    pending_marks = {
        record_id: marks
        for record_id, marks in all_marks.items()
        if marks.held_for and writer.exists(collection, record_id)
    }
    for record_id, marks in pending_marks.items():
        change_marks(writer, collection, record_id, marks, replace(marks, held_for=""))
    count_accepted_uses(writer.connection, writer.operation.id, is_counted=True)
    return len(pending_marks)


def count_accepted_uses(connection: Connection, accept_id: str, *, is_counted: bool) -> None:
    """Count the uses that came with accepted records, or stop counting them.

    Args:
        accept_id: Id of the operation that accepted the records.
    """
    rows = connection.execute(
        "SELECT DISTINCT a.operation FROM changes c JOIN changes a ON a.collection = c.collection "
        "AND a.record_id = c.record_id AND a.aspect = ? AND a.before IS NULL WHERE c.operation = ?",
        (RECORD, accept_id),
    ).fetchall()
    for (operation_id,) in rows:  # of the operations that added the records
        set_exclusion(connection, operation_id, WAITING, is_excluded=not is_counted)
