"""The trash: deleted records in the history, and their restoration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atlas.core.errors import NotFound
from atlas.core.operations import TrashedRecord
from atlas.protocols.infra import Clock
from atlas.storage.damage import UnreadableRow, parse_row, parse_time
from atlas.storage.records import OperationDraft
from atlas.storage.sql.connection import Connection, Database, clamp_rows
from atlas.storage.sql.meta import IS_PURGED, PURGED_PREFIX, read_purge_id
from atlas.storage.sql.records import RECORD, open_writer, record_from_image

# Both indexes are narrow. Only the ids of the requested records are read from the table itself.
_TRASH_SQL = (
    "FROM records r INDEXED BY records_by_revision WHERE r.collection = ? AND r.revision > 0 AND NOT EXISTS "
    "(SELECT 1 FROM records l INDEXED BY records_live WHERE l.collection = r.collection AND l.deleted = 0 "
    f"AND l.seq = r.seq) AND NOT {IS_PURGED}"
)
_COLUMNS = "c.record_id, c.before, o.created_at, o.id, o.kind, o.actor, o.reason"


def read_trash(database: Database, collection: str, limit: int, offset: int) -> list[TrashedRecord]:
    """Return deleted records, most recently deleted first."""
    with database.read() as connection:
        rows = connection.execute(
            f"SELECT r.seq {_TRASH_SQL} ORDER BY r.revision DESC LIMIT ? OFFSET ?",
            (collection, clamp_rows(limit), clamp_rows(offset)),
        ).fetchall()
        return [_decode_trashed(_read_deletion(connection, seq)) for (seq,) in rows]


def count_trash(database: Database, collection: str) -> int:
    """Return the number of deleted records."""
    with database.read() as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM records WHERE collection = ?1) "
            "- (SELECT count(*) FROM records WHERE collection = ?1 AND deleted = 0)",
            (collection,),
        ).fetchone()
        return int(row[0]) - _count_purged(connection, collection)


def _count_purged(connection: Connection, collection: str) -> int:
    """Return the number of purged records of a collection."""
    prefix = f"{PURGED_PREFIX}{collection}"
    row = connection.execute("SELECT count(*) FROM meta WHERE name > ? AND name < ?", (f"{prefix}:", f"{prefix};"))
    return int(row.fetchone()[0])


def restore(database: Database, clock: Clock, collection: str, ids: Sequence[str], operation: OperationDraft) -> int:
    """Restore deleted records, and return their number. Live records are skipped.

    Raises:
        NotFound: An id never had a record, or it was purged; the store was not changed.
    """
    n_restored = 0
    with open_writer(database, clock, operation) as writer:
        for record_id in dict.fromkeys(ids):
            if writer.exists(collection, record_id):
                continue
            image_text, vectors, state = _read_deleted(writer.connection, collection, record_id)
            record = record_from_image(record_id, parse_row(image_text), vectors)
            writer.put("added", collection, record, state=state)
            n_restored += 1
    return n_restored


def _read_deleted(connection: Connection, collection: str, record_id: str) -> tuple[str, bytes, int]:
    """Return a deleted record as JSON, its vectors as bytes, and the number of its state."""
    row = connection.execute(
        "SELECT before, vectors, state_before FROM changes WHERE collection = ? AND record_id = ? AND aspect = ? "
        "ORDER BY seq DESC LIMIT 1",
        (collection, record_id, RECORD),
    ).fetchone()
    if read_purge_id(connection, collection, record_id):
        raise NotFound(
            f"the record {record_id!r} of {collection!r} was purged and cannot be restored; store it with a new id"
        )
    if row is None or row[0] is None:
        raise NotFound(f"there is no deleted record {record_id!r} in {collection!r}; see: atlas trash")
    return row[0], row[1] or b"", int(row[2])


def _read_deletion(connection: Connection, seq: int) -> tuple[Any, ...]:
    """Return the `_COLUMNS` of the change that deleted a record, and of its operation."""
    row: tuple[Any, ...] | None = connection.execute(
        f"SELECT {_COLUMNS} FROM records r JOIN changes c ON c.collection = r.collection AND c.record_id = r.id "
        "AND c.aspect = ? JOIN operations o ON o.id = c.operation WHERE r.seq = ? ORDER BY c.seq DESC LIMIT 1",
        (RECORD, seq),
    ).fetchone()
    if row is None:
        raise UnreadableRow("the history lacks the deletion of a record")
    return row


def _decode_trashed(row: tuple[Any, ...]) -> TrashedRecord:
    """Return a deleted record from a row of `_COLUMNS`."""
    record_id, image_text, created_at, operation_id, kind, actor, reason = row
    metadata = parse_row(parse_row(image_text, "metadata")["metadata"])
    return TrashedRecord(
        id=record_id,
        title=str(metadata.get("title", "")),
        outcome=str(metadata.get("outcome", "unknown")),
        deleted_at=parse_time(created_at),
        operation_id=operation_id,
        kind=kind,
        actor=actor,
        reason=reason,
    )
