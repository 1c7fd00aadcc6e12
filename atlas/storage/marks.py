"""Marks and the ledger together: undoable, crash-safe, and part of every filter.

A change of marks is committed to the ledger first, with its before-image, as *pending*; then the JSON file is replaced
and the pending rows are dropped. Whoever finds pending rows (after a crash, say) finishes the way. Readers lay pending
rows over the file, so they never see half of it.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from atlas.core.codec import check_json
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.operations import NO_MARKS, Marks
from atlas.infra.forking import InterProcessLock
from atlas.storage.history import OperationDraft
from atlas.storage.ledger import SqliteLedger
from atlas.storage.metadata import TinyMetadataStore, decode_marks, encode_marks, is_marks
from atlas.storage.records import LedgerWriter

logger = logging.getLogger(__name__)

FILES = {
    "atlas_experiences": "experiences_meta.json",
    "atlas_concepts": "concepts_meta.json",
    "atlas_strategies": "strategies_meta.json",
    "atlas_journal": "journal_meta.json",
}

MARK_NAMES = tuple(field.name for field in fields(Marks))


def marks_file(collection: str) -> str:
    """The name of a collection's marks file.

    Raises:
        InvalidInput: The collection's name could lead out of the store's directory.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", collection):
        raise InvalidInput(f"a collection's name should be of letters, digits, _ and - alone, but is {collection!r}")
    return FILES.get(collection, f"{collection}_meta.json")


class MarksBook:
    """The marks of every collection of a store."""

    def __init__(self, directory: Path, ledger: SqliteLedger) -> None:
        self._directory = directory
        self._ledger = ledger
        self._files: dict[str, TinyMetadataStore] = {}
        self._lock = InterProcessLock(directory / "marks.lock")
        ledger.fill_marks = self._fill

    def read(self, collection: str, ids: Sequence[str]) -> dict[str, Marks]:
        """The marks of each record; empty ones where nobody marked it."""
        with self._ledger.database.read() as connection:
            return self.read_within(connection, collection, ids)

    def read_within(self, connection: sqlite3.Connection, collection: str, ids: Sequence[str]) -> dict[str, Marks]:
        """`read`, as part of a transaction."""
        every = self.every_within(connection, collection)
        return {record_id: every.get(record_id, NO_MARKS) for record_id in ids}

    def every(self, collection: str) -> dict[str, Marks]:
        """The marks of every record of a collection that has any."""
        with self._ledger.database.read() as connection:
            return self.every_within(connection, collection)

    def every_within(self, connection: sqlite3.Connection, collection: str) -> dict[str, Marks]:
        """`every`, as part of a transaction."""
        # Pending rows are read first: what is settled after that is in the file already.
        pending = _pending(connection, collection)
        every = self._file(collection).all() | {
            record_id: decode_pending(text)
            for record_id, text in pending.items()
            if _is_readable(collection, record_id, text)
        }
        return {record_id: marks for record_id, marks in every.items() if marks != NO_MARKS}

    def column(self, collection: str, key: str, ids: Iterable[str]) -> dict[str, Any]:
        """One mark, such as `marks.tags`, of those of the records that have it."""
        name = key.removeprefix("marks.")
        if name not in MARK_NAMES:
            raise InvalidInput(f"unknown column {key!r}; known: {', '.join(f'marks.{known}' for known in MARK_NAMES)}")
        every = self.every(collection)
        values = {record_id: getattr(every[record_id], name) for record_id in ids if record_id in every}
        return {record_id: value for record_id, value in values.items() if value}

    def write(self, collection: str, marks: Mapping[str, Marks], operation: OperationDraft) -> None:
        """Set records' marks.

        Raises:
            NotFound: One of the records is not there.
            InvalidInput: A tag or note that JSON cannot hold.
        """
        check_marks(marks)
        with self._ledger.database.write() as connection:
            writer = LedgerWriter(connection, operation, self._ledger.clock.now())
            self.write_within(connection, writer, collection, marks)
            writer.close()
        self.settle()

    def write_within(
        self, connection: sqlite3.Connection, writer: LedgerWriter, collection: str, marks: Mapping[str, Marks]
    ) -> None:
        """`write`, as part of a transaction; `settle` when it has committed."""
        _put(writer, collection, self.read_within(connection, collection, list(marks)), marks)

    def change(
        self, collection: str, ids: Sequence[str], change: Callable[[Marks], Marks], operation: OperationDraft
    ) -> int:
        """Set each record's marks to what a function makes of them; how many that changed.

        Raises:
            NotFound: One of the records is not there; no marks were changed.
            InvalidInput: A tag or note that JSON cannot hold.
        """
        with self._ledger.database.write() as connection:
            writer = LedgerWriter(connection, operation, self._ledger.clock.now())
            held = self.read_within(connection, collection, ids)
            wanted = {record_id: change(marks) for record_id, marks in held.items()}
            check_marks(wanted)
            check_there(writer, collection, wanted)
            changed = {record_id: marks for record_id, marks in wanted.items() if marks != held[record_id]}
            _put(writer, collection, held, changed)
            writer.close()
        self.settle()
        return len(changed)

    def forget_within(self, connection: sqlite3.Connection, collection: str, record_id: str) -> None:
        """Take a record's marks away for good, as part of a transaction; `settle` when it has committed.

        What is pending of them is overwritten by nothing, which takes them out of the file. The history keeps what it
        had of them: see `history.empty_images`.
        """
        connection.execute("INSERT OR REPLACE INTO pending_marks VALUES (?, ?, '{}')", (collection, record_id))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep every process from changing the marks files inside the block; changes wait in the ledger meanwhile."""
        with self._lock.held():
            yield

    def files(self) -> dict[str, dict[str, object]]:
        """What each marks file holds, by collection and record, without what is still pending."""
        found: dict[str, dict[str, object]] = {}
        for name in self._ledger.collections():
            every = self._file(name).all()
            found[name] = {record_id: dict(encode_marks(marks)) for record_id, marks in every.items()}
        return found

    def settle(self) -> None:
        """Bring the JSON files up to what the ledger has committed."""
        if self._ledger.database.read_only:
            return
        with self._ledger.database.read() as connection:
            pending = connection.execute("SELECT 1 FROM pending_marks LIMIT 1").fetchone()
        if pending:
            try:
                with self.held():
                    self._settle()
            except OSError as error:  # a full disk, say: the ledger has the marks, and readers find them there
                logger.warning("the marks cannot be written to their files yet: %s", error)

    def _settle(self) -> None:
        with self._ledger.database.read() as connection:
            rows = connection.execute("SELECT collection, record_id, marks FROM pending_marks").fetchall()
        pending = [row for row in rows if _is_readable(*row)]
        for collection in {row[0] for row in pending}:
            self._file(collection).replace({row[1]: decode_pending(row[2]) for row in pending if row[0] == collection})
        with self._ledger.database.write() as connection:
            # A newer value that another process has committed meanwhile stays pending.
            connection.executemany(
                "DELETE FROM pending_marks WHERE collection = ? AND record_id = ? AND marks = ?", pending
            )

    def _fill(self, connection: sqlite3.Connection, collection: str) -> None:
        """Let a connection filter on `marks.…`: fill its temporary table, if marks have changed since that was done."""
        _create_table(connection)
        pending = _pending(connection, collection)
        version = f"{self._file(collection).version()} {sorted(pending.items())}"
        row = connection.execute(
            "SELECT version FROM temp.marks_version WHERE collection = ?", (collection,)
        ).fetchone()
        if row and row[0] == version:
            return
        connection.execute("DELETE FROM temp.marks WHERE collection = ?", (collection,))
        connection.executemany(
            "INSERT INTO temp.marks VALUES (?, ?, ?, ?)",
            _filter_rows(collection, self.every_within(connection, collection)),
        )
        connection.execute("INSERT OR REPLACE INTO temp.marks_version VALUES (?, ?)", (collection, version))

    def _file(self, collection: str) -> TinyMetadataStore:
        if collection not in self._files:
            self._files[collection] = TinyMetadataStore(self._directory / marks_file(collection))
        return self._files[collection]


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
        writer.mark(collection, record_id, _encode(held[record_id]), _encode(value))


def _pending(connection: sqlite3.Connection, collection: str) -> dict[str, str]:
    return dict(
        connection.execute("SELECT record_id, marks FROM pending_marks WHERE collection = ?", (collection,)).fetchall()
    )


def _create_table(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TEMP TABLE IF NOT EXISTS marks (collection TEXT, name TEXT, value, record_id TEXT, "
        "PRIMARY KEY (collection, name, value, record_id)) WITHOUT ROWID"
    )
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS marks_version (collection TEXT PRIMARY KEY, version TEXT)")


def _filter_rows(collection: str, every: Mapping[str, Marks]) -> Iterable[tuple[str, str, object, str]]:
    for record_id, marks in every.items():
        for tag in dict.fromkeys(marks.tags):
            yield collection, "tags", tag, record_id
        yield collection, "pinned", marks.pinned, record_id
        yield collection, "buried", marks.buried, record_id
        if marks.note:
            yield collection, "note", marks.note, record_id


def _encode(marks: Marks) -> str:
    return json.dumps(encode_marks(marks), sort_keys=True, ensure_ascii=False)


def decode_pending(text: object) -> Marks:
    """The marks of a pending row.

    Raises:
        InvalidInput: They are not what `MarksBook` writes.
    """
    try:
        parsed: Any = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"pending marks should be JSON, but are not: {error}") from error
    if not is_marks(parsed):
        raise InvalidInput("pending marks should be a JSON object of tags, pinned and note, but are not")
    check_json(parsed, "pending marks")
    return decode_marks(parsed)


def _is_readable(collection: str, record_id: str, text: object) -> bool:
    try:
        marks_file(collection)
        decode_pending(text)
    except InvalidInput as error:  # left where they are: one bad row keeps no other mark, and no store, from working
        logger.warning("the pending marks of %r in %r are skipped: %s", record_id, collection, error)
        return False
    return True
