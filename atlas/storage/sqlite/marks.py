"""The marks of a ledger, and how far their JSON files have followed it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from atlas.core.operations import NO_MARKS, Marks
from atlas.protocols.infra import Clock
from atlas.storage.marks.codec import check_marks
from atlas.storage.records import OperationDraft
from atlas.storage.sqlite.database import Database
from atlas.storage.sqlite.records import writing
from atlas.storage.sqlite.tables import marks as tables
from atlas.storage.sqlite.tables.tombstones import purged_by

_STRAYS = (
    "SELECT DISTINCT collection, record_id FROM marks m WHERE NOT EXISTS "
    "(SELECT 1 FROM records r WHERE r.collection = m.collection AND r.id = m.record_id)"
)
_LOST = (
    "SELECT record_id FROM lost_marks l WHERE EXISTS "
    "(SELECT 1 FROM records r WHERE r.collection = l.collection AND r.id = l.record_id AND r.deleted = 0)"
)


class SqliteMarks:
    """The marks of the records of every collection."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def read(self, collection: str, ids: Sequence[str] | None = None) -> dict[str, Marks]:
        """Return the marks of the records that have any, of a whole collection or among some ids."""
        with self._database.read() as connection:
            return tables.read_marks(connection, collection, ids)

    def column(self, collection: str, name: str) -> dict[str, Any]:
        """Return one of the marks of every record that has it: a tuple of tags, a truth or a text."""
        with self._database.read() as connection:
            return tables.read_column(connection, collection, name)

    def write(self, collection: str, marks: Mapping[str, Marks], operation: OperationDraft) -> None:
        """Set records' marks, or raise `NotFound` where one is not there."""
        check_marks(marks)
        with writing(self._database, self._clock, operation) as writer:
            writer.put_marks(collection, marks)

    def change(
        self, collection: str, ids: Sequence[str], change: Callable[[Marks], Marks], operation: OperationDraft
    ) -> int:
        """Set each record's marks to what a function makes of them, and return how many that changed."""
        with writing(self._database, self._clock, operation) as writer:
            held = tables.read_marks(writer.connection, collection, ids)
            before = {record_id: held.get(record_id, NO_MARKS) for record_id in ids}
            wanted = {record_id: change(marks) for record_id, marks in before.items()}
            check_marks(wanted)
            writer.check_there(collection, wanted)
            changed = {record_id: marks for record_id, marks in wanted.items() if marks != before[record_id]}
            writer.put_marks(collection, changed)
            tables.forget_lost(writer.connection, collection, wanted)
        return len(changed)

    def strays(self) -> list[tuple[str, str]]:
        """Return the collection and id of each record that is marked, but never was in the ledger."""
        with self._database.read() as connection:
            return connection.execute(_STRAYS).fetchall()

    def drop_strays(self, operation: OperationDraft) -> None:
        """Take their marks from records that never were in the ledger."""
        with writing(self._database, self._clock, operation) as writer:
            for collection, record_id in writer.connection.execute(_STRAYS).fetchall():
                held = tables.read_marks(writer.connection, collection, [record_id])
                writer.mark(collection, record_id, held.get(record_id, NO_MARKS), NO_MARKS)

    def lost(self) -> list[str]:
        """Return the live records whose last mark was lost with its file, until somebody marks them again."""
        with self._database.read() as connection:
            return [record_id for (record_id,) in connection.execute(_LOST)]

    # Following by files

    def collections(self) -> list[str]:
        """Return the collections that may have marks, or a file of them."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT collection FROM word_tables UNION SELECT collection FROM marks_files "
                "UNION SELECT collection FROM pending_marks"
            ).fetchall()
        return [collection for (collection,) in rows]

    def pending_collections(self) -> set[str]:
        """Return the collections of which a file has to follow the ledger."""
        with self._database.read() as connection:
            return {row[0] for row in connection.execute("SELECT DISTINCT collection FROM pending_marks")}

    def pending(self, collection: str) -> dict[str, int]:
        """Return the records whose entry in the file has to follow the ledger, each with the revision of its change."""
        with self._database.read() as connection:
            return tables.read_pending(connection, collection)

    def count_pending(self) -> int:
        """Return how many entries of files have to follow the ledger."""
        with self._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM pending_marks").fetchone()[0])

    def settled_version(self, collection: str) -> str | None:
        """Return the version of a file when it and the ledger said the same last. None before there was one."""
        with self._database.read() as connection:
            row = connection.execute("SELECT version FROM marks_files WHERE collection = ?", (collection,)).fetchone()
        return row[0] if row else None

    def settle(self, collection: str, version: str, written: Mapping[str, int]) -> None:
        """Note that a file of this version has followed what was pending.

        What another process has changed again meanwhile stays pending.
        """
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM pending_marks WHERE collection = ? AND record_id = ? AND revision = ?",
                [(collection, record_id, revision) for record_id, revision in written.items()],
            )
            connection.execute("INSERT OR REPLACE INTO marks_files VALUES (?, ?)", (collection, version))

    def differing(self, collection: str, held: Mapping[str, Marks]) -> list[str]:
        """Return the records of which a file and the ledger say different things, and whose entry is not pending."""
        with self._database.read() as connection:
            return tables.differing(connection, collection, held)

    def take_in(self, collection: str, held: Mapping[str, Marks], operation: OperationDraft) -> None:
        """Let the ledger say what a file says, as one operation.

        What is on its way to the file stays as the ledger has it. Marks of purged records leave the file.
        """
        with writing(self._database, self._clock, operation) as writer:
            connection = writer.connection
            purged = {record_id for record_id in held if purged_by(connection, collection, record_id)}
            differing = [one for one in tables.differing(connection, collection, held) if one not in purged]
            known = tables.read_marks(connection, collection, differing)
            for record_id in differing:
                writer.mark(collection, record_id, known.get(record_id, NO_MARKS), held.get(record_id, NO_MARKS))
            connection.executemany(
                "DELETE FROM pending_marks WHERE collection = ? AND record_id = ?",
                [(collection, record_id) for record_id in differing],
            )
            tables.await_files(connection, collection, purged, writer.revision)
