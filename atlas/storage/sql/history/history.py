"""The history of a ledger: operations, changes and undo."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.core.operations import (
    ANY_OPERATION,
    NO_MARKS,
    BulkUndo,
    Operation,
    Operations,
    RecordChange,
    TrashedRecord,
)
from atlas.protocols.infra import Clock
from atlas.storage.marks.codec import check_marks
from atlas.storage.records import Merge, Moment, OperationDraft, Origin, Record, Version
from atlas.storage.sql.connection import Database
from atlas.storage.sql.history import diff, operations, trash
from atlas.storage.sql.history.undo import blocker, undo, undo_many
from atlas.storage.sql.history.versions import read_versions
from atlas.storage.sql.marks import check_authors, read_marks, replace_marks
from atlas.storage.sql.meta import read_purge_id
from atlas.storage.sql.records import open_writer
from atlas.storage.sql.review import accept


class SqlHistory:
    """The history of all collections."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def check_unchanged(self, collection: str, ids: Sequence[str], moment: Moment) -> None:
        """Raise `PlanOutdated` if one of these records or its marks have changed since `moment`."""
        with self._database.read() as connection:
            operations.check_records_unchanged(connection, collection, ids, moment, with_marks=True)

    def operations(self, limit: int = 50, offset: int = 0, where: Operations = ANY_OPERATION) -> list[Operation]:
        """Return operations, newest first."""
        with self._database.read() as connection:
            return operations.read_operations(connection, where, limit, offset)

    def operation(self, operation_id: str) -> Operation:
        """Return an operation by its id or a unique prefix, or raise `NotFound`."""
        with self._database.read() as connection:
            return operations.read_operation(connection, operation_id)

    def count(self, where: Operations = ANY_OPERATION) -> int:
        """Return the number of operations."""
        with self._database.read() as connection:
            return operations.count_operations(connection, where)

    def actors(self) -> list[str]:
        """Return all actors, the most recent first."""
        with self._database.read() as connection:
            return operations.read_actors(connection)

    def changes(self, operation_id: str, limit: int, offset: int) -> list[RecordChange]:
        """Return an operation's changes of records, oldest first."""
        return diff.read_changes(self._database, operation_id, limit, offset)

    def collections_of(self, operation_id: str) -> set[str]:
        """Return the collections whose records an operation touched, or raise `NotFound`."""
        with self._database.read() as connection:
            return operations.read_collections(connection, operation_id)

    def check_authors(self, actor: str, collection: str, ids: Sequence[str]) -> None:
        """Raise `NotAllowed` unless an actor stored all of these records."""
        with self._database.read() as connection:
            check_authors(connection, actor, collection, ids)

    def origins(self, collection: str, ids: Sequence[str] | None = None) -> dict[str, Origin]:
        """Return who stored, edited and accepted each record, keyed by record id. Deleted records are included."""
        with self._database.read() as connection:
            return operations.read_origins(connection, collection, ids)

    def blocker(self, operation_id: str) -> Operation | None:
        """Return the later operation that has to be undone before this one, or None if there is none."""
        with self._database.read() as connection:
            return blocker(connection, operation_id)

    def undo(self, operation_id: str, *, actor: str, reason: str = "") -> Operation:
        """Undo an operation as a new operation, which can be undone too.

        Raises:
            NotFound: No such operation.
            UndoRefused: The operation was undone already, or one of its records has been changed or purged since.
        """
        return undo(self._database, self._clock, operation_id, actor=actor, reason=reason)

    def undo_many(self, where: Operations, *, actor: str, reason: str, expected: BulkUndo | None = None) -> BulkUndo:
        """Undo the matching operations as one operation, or only preview the undo if `expected` is None."""
        return undo_many(self._database, self._clock, where, actor=actor, reason=reason, expected=expected)

    def accept(
        self, collection: str, ids: Sequence[str], operation: OperationDraft, unchanged_since: Moment | None = None
    ) -> int:
        """Accept records that wait for review, count their uses, and return their number."""
        with open_writer(self._database, self._clock, operation) as writer:
            writer.check_exists(collection, ids)
            if unchanged_since is not None:
                operations.check_records_unchanged(writer.connection, collection, ids, unchanged_since)
            return accept(writer, collection, ids)

    def merge(
        self,
        collection: str,
        merges: Sequence[Merge],
        records: Sequence[Record],
        operation: OperationDraft,
        *,
        model: str,
        unchanged_since: Moment,
        deleted_ids: Sequence[str] = (),
    ) -> None:
        """Merge groups of records, atomically.

        Args:
            records: New rows of the remaining records.
            unchanged_since: The merge is refused if one of the records, or its marks, has changed since this moment.
            deleted_ids: Further records to delete, which are not replaced.

        Raises:
            NotFound: A record does not exist.
            PlanOutdated: A record has changed.
        """
        check_marks({item.kept_id: item.marks for item in merges})
        ids = [*(record_id for item in merges for record_id in (item.kept_id, *item.removed)), *deleted_ids]
        with open_writer(self._database, self._clock, operation) as writer:
            operations.check_records_unchanged(writer.connection, collection, ids, unchanged_since, with_marks=True)
            writer.check_vectors(records, model)
            writer.check_exists(collection, ids)
            for item, record in zip(merges, records, strict=True):
                writer.put("changed", collection, record)
                for record_id in item.removed:
                    writer.remove("removed", collection, record_id)
            for record_id in deleted_ids:
                writer.remove("removed", collection, record_id)
            marks = read_marks(writer.connection, collection, [item.kept_id for item in merges])
            changed = {item.kept_id: item.marks for item in merges if item.marks != marks.get(item.kept_id, NO_MARKS)}
            replace_marks(writer, collection, changed)

    def versions(self, collection: str, record_id: str) -> list[Version]:
        """Return the earlier versions of a record, latest first."""
        return read_versions(self._database, collection, record_id)

    def purged(self, collection: str, ids: Sequence[str]) -> set[str]:
        """Return the subset of `ids` whose records were purged."""
        with self._database.read() as connection:
            return {record_id for record_id in ids if read_purge_id(connection, collection, record_id)}

    def trash(self, collection: str, limit: int, offset: int) -> list[TrashedRecord]:
        """Return deleted records, most recently deleted first."""
        return trash.read_trash(self._database, collection, limit, offset)

    def count_trash(self, collection: str) -> int:
        """Return the number of deleted records."""
        return trash.count_trash(self._database, collection)

    def restore(self, collection: str, ids: Sequence[str], operation: OperationDraft) -> int:
        """Restore deleted records, and return the number of restored ones."""
        return trash.restore(self._database, self._clock, collection, ids, operation)
