"""Marks: what people say of records, undoable, crash-safe, and part of every filter.

The ledger holds them. Each collection's JSON file follows: a change is committed with its before-image, its records are
noted as *pending*, and then the file is replaced and they are pending no more. Whoever finds pending records (after a
crash, say) finishes the way. Nobody reads marks from a file but to take in what people changed there.

Where the two differ, for records that are not pending:

- A file that can be read, and is not as ATLAS left it, was changed by hand, or checked out from version control. It
  wins: what it says is taken in as an operation of its own, that can be undone, when a store is opened for writing,
  before the next change of marks, and by `atlas doctor --fix`.
- A file that cannot be read, or is gone, loses: it is set aside under another name, which the log says, and written
  again from the ledger. Mended and put back, it was changed by hand.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from atlas.core.codec import check_json
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.operations import NO_MARKS, Marks
from atlas.storage.marks.files import MarksFiles
from atlas.storage.marks.tinydb import encode_marks
from atlas.storage.records import OperationDraft
from atlas.storage.sqlite.ledger import SqliteLedger
from atlas.storage.sqlite.mark_tables import forget_lost, read_column, read_marks
from atlas.storage.sqlite.records import LedgerWriter

MARK_NAMES = tuple(field.name for field in fields(Marks))

_STRAYS = (
    "SELECT DISTINCT collection, record_id FROM marks m WHERE NOT EXISTS "
    "(SELECT 1 FROM records r WHERE r.collection = m.collection AND r.id = m.record_id)"
)
_LOST = (
    "SELECT record_id FROM lost_marks l WHERE EXISTS "
    "(SELECT 1 FROM records r WHERE r.collection = l.collection AND r.id = l.record_id AND r.deleted = 0)"
)


class MarksBook:
    """The marks of every collection of a store."""

    def __init__(self, directory: Path, ledger: SqliteLedger) -> None:
        self._ledger = ledger
        self._files = MarksFiles(directory, ledger)

    def read(self, collection: str, ids: Sequence[str]) -> dict[str, Marks]:
        """The marks of each record; empty ones where nobody marked it."""
        with self._ledger.database.read() as connection:
            return self.read_within(connection, collection, ids)

    def read_within(self, connection: sqlite3.Connection, collection: str, ids: Sequence[str]) -> dict[str, Marks]:
        """`read`, as part of a transaction."""
        held = read_marks(connection, collection, ids)
        return {record_id: held.get(record_id, NO_MARKS) for record_id in ids}

    def every(self, collection: str) -> dict[str, Marks]:
        """The marks of every record of a collection that has any."""
        with self._ledger.database.read() as connection:
            return read_marks(connection, collection)

    def column(self, collection: str, key: str, ids: Iterable[str]) -> dict[str, Any]:
        """One mark, such as `marks.tags`, of those of the records that have it."""
        name = key.removeprefix("marks.")
        if name not in MARK_NAMES:
            raise InvalidInput(f"unknown column {key!r}; known: {', '.join(f'marks.{known}' for known in MARK_NAMES)}")
        with self._ledger.database.read() as connection:
            values = read_column(connection, collection, name)
        return {record_id: values[record_id] for record_id in ids if record_id in values}

    def write(self, collection: str, marks: Mapping[str, Marks], operation: OperationDraft) -> None:
        """Set records' marks.

        Raises:
            NotFound: One of the records is not there.
            InvalidInput: A tag or note that JSON cannot hold.
        """
        check_marks(marks)
        with self._writing(operation) as (connection, writer):
            self.write_within(connection, writer, collection, marks)

    def write_within(
        self, connection: sqlite3.Connection, writer: LedgerWriter, collection: str, marks: Mapping[str, Marks]
    ) -> None:
        """`write`, as part of a transaction; `settle` before it began, and when it has committed."""
        _put(writer, collection, self.read_within(connection, collection, list(marks)), marks)

    def change(
        self, collection: str, ids: Sequence[str], change: Callable[[Marks], Marks], operation: OperationDraft
    ) -> int:
        """Set each record's marks to what a function makes of them; how many that changed.

        Raises:
            NotFound: One of the records is not there; no marks were changed.
            InvalidInput: A tag or note that JSON cannot hold.
        """
        with self._writing(operation) as (connection, writer):
            held = self.read_within(connection, collection, ids)
            wanted = {record_id: change(marks) for record_id, marks in held.items()}
            check_marks(wanted)
            check_there(writer, collection, wanted)
            changed = {record_id: marks for record_id, marks in wanted.items() if marks != held[record_id]}
            _put(writer, collection, held, changed)
            forget_lost(connection, collection, wanted)
        return len(changed)

    def strays(self) -> list[tuple[str, str]]:
        """Return the collection and id of each record that is marked, but never was in the ledger."""
        with self._ledger.database.read() as connection:
            return connection.execute(_STRAYS).fetchall()

    def drop_strays(self, operation: OperationDraft) -> None:
        """Take their marks from records that never were in the ledger."""
        with self._writing(operation) as (connection, writer):
            for collection, record_id in connection.execute(_STRAYS).fetchall():
                held = self.read_within(connection, collection, [record_id])
                writer.mark(collection, record_id, held[record_id], NO_MARKS)

    def lost(self) -> list[str]:
        """Return the live records whose last mark was lost with its file, until somebody marks them again."""
        with self._ledger.database.read() as connection:
            return [record_id for (record_id,) in connection.execute(_LOST)]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep every process from changing the marks files inside the block; changes wait in the ledger meanwhile."""
        with self._files.held():
            yield

    def ids_in_files(self) -> dict[str, set[str]]:
        """Return the ids that each readable marks file names, by collection."""
        return self._files.ids()

    def file_problems(self) -> list[str]:
        """Return how each marks file differs from the ledger, where it does."""
        return self._files.problems()

    def settle(self, *, thoroughly: bool = False) -> None:
        """Make the JSON files and the ledger say the same; see `MarksFiles.settle`."""
        self._files.settle(thoroughly=thoroughly)

    @contextmanager
    def _writing(self, operation: OperationDraft) -> Iterator[tuple[sqlite3.Connection, LedgerWriter]]:
        self.settle()
        with self._ledger.database.write() as connection:
            writer = LedgerWriter(connection, operation, self._ledger.clock.now())
            yield connection, writer
            writer.close()
        self.settle()


def check_marks(marks: Mapping[str, Marks]) -> None:
    """Raise `InvalidInput` for a tag or note that JSON cannot hold."""
    for value in marks.values():
        check_json(encode_marks(value), "marks")


def check_there(writer: LedgerWriter, collection: str, ids: Iterable[str]) -> None:
    """Raise `NotFound` unless each of the records is there."""
    for record_id in ids:
        if not writer.exists(collection, record_id):
            raise NotFound(f"there is no record {record_id!r} in {collection!r}; it may have been deleted")


def _put(writer: LedgerWriter, collection: str, held: Mapping[str, Marks], marks: Mapping[str, Marks]) -> None:
    check_there(writer, collection, marks)
    for record_id, value in marks.items():
        writer.mark(collection, record_id, held[record_id], value)
