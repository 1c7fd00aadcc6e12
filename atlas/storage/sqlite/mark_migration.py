"""Migration of marks from stores before schema 6, which had editable files of marks.

Before schema 4, the marks were in the files, and only pending marks in the ledger. In schemas 4 and 5, all marks were
in the ledger, with a note on how far each file was synchronised.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.json_values import check_json
from atlas.core.operations import NO_MARKS, Marks
from atlas.core.types import new_id
from atlas.storage.marks.codec import decode_marks, is_marks
from atlas.storage.marks.files import has_file, marks_file
from atlas.storage.marks.reading import read_marks_file
from atlas.storage.records import OperationDraft
from atlas.storage.sql.connection import Connection
from atlas.storage.sql.marks import change_marks, clear_lost_marks, read_marks, write_marks_without_history
from atlas.storage.sql.meta import read_purged_ids
from atlas.storage.sql.records import MARKS, LedgerWriter, read_collections

logger = logging.getLogger(__name__)

FILE_TABLES = """
CREATE TABLE pending_marks (
    collection TEXT    NOT NULL,
    record_id  TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    PRIMARY KEY (collection, record_id)
) WITHOUT ROWID;
CREATE TABLE marks_files (
    collection TEXT PRIMARY KEY,
    version    TEXT NOT NULL
) WITHOUT ROWID;
"""
"""Tables of schemas 4 and 5: records with marks that are not in the files yet, and versions of the files."""

FILE_EDITOR = "by hand"
"""Name of the actor of changes that people made in a file."""

OldFiles = Callable[[str], Mapping[str, Marks] | None]
"""Function that returns the marks in a collection's file, or None if the file is missing or unreadable."""

OldRow = tuple[str, str, object]
"""A row of the old `pending_marks`: collection, record, marks as JSON."""


def marks_file_reader(ledger: Path) -> OldFiles:
    """Return a function that reads the marks files beside a ledger, and renames unreadable ones."""

    def read(collection: str) -> Mapping[str, Marks] | None:
        path = ledger.with_name(marks_file(collection))
        try:
            return read_marks_file(path) if path.exists() else None
        except (InvalidInput, OSError) as error:
            renamed = _rename_unreadable(path)
            logger.warning("%s. The file was renamed to %s; the ledger's marks are used", error, renamed.name)
            return None

    return read


def _rename_unreadable(path: Path) -> Path:
    """Rename an unreadable file to an unused name, and return its new path."""
    names = (path.with_name(f"{path.stem}.unreadable-{number}{path.suffix}") for number in count(1))
    return path.rename(next(name for name in names if not name.exists()))


def import_files(connection: Connection, read_file: OldFiles) -> None:
    """Import the changes that people made to the files, as one operation for each file, and drop the old tables.

    Marks that the ledger had not yet written to a file are kept.
    """
    for collection in filter(has_file, read_collections(connection)):
        if (marks := read_file(collection)) is not None:
            _import_file(connection, collection, marks)
    for table in ("pending_marks", "marks_files"):
        connection.execute(f"DROP TABLE {table}")


def _import_file(connection: Connection, collection: str, file_marks: Mapping[str, Marks]) -> None:
    """Set the marks of a collection to those of its file, as one operation by `FILE_EDITOR`."""
    rows = connection.execute("SELECT record_id FROM pending_marks WHERE collection = ?", (collection,)).fetchall()
    ledger_marks = read_marks(connection, collection)
    pending_ids = {record_id for (record_id,) in rows}  # the ledger's marks are newer than those of the file
    skipped_ids = pending_ids | read_purged_ids(connection, collection, list(file_marks))
    reason = f"{marks_file(collection)} was changed"
    operation = OperationDraft(id=new_id(), kind="mark", actor=FILE_EDITOR, reason=reason)
    writer = LedgerWriter(connection, operation, datetime.now(UTC))
    for record_id in sorted({*file_marks, *ledger_marks} - skipped_ids):
        before, after = ledger_marks.get(record_id, NO_MARKS), file_marks.get(record_id, NO_MARKS)
        if before != after:
            change_marks(writer, collection, record_id, before, after)
    writer.close()


def fill_tables(connection: Connection, pending: Iterable[OldRow], read_file: OldFiles) -> None:
    """Fill the new tables of marks from the files and the pending marks of older schemas."""
    names = connection.execute(
        "SELECT collection FROM word_tables UNION SELECT collection FROM changes WHERE aspect = ?", (MARKS,)
    ).fetchall()
    for (collection,) in names:
        if has_file(collection):
            _fill_collection(connection, collection, read_file(collection))
    for collection, record_id, text in pending:
        marks = _decode_marks(text)
        if marks is None or not has_file(collection):
            logger.warning("the pending marks of %r in %r are skipped: they are not marks", record_id, collection)
            continue
        write_marks_without_history(connection, collection, {record_id: marks})
        connection.execute("INSERT INTO pending_marks VALUES (?, ?, 0)", (collection, record_id))
        clear_lost_marks(connection, collection, [record_id])


def _fill_collection(connection: Connection, collection: str, marks: Mapping[str, Marks] | None) -> None:
    """Write the marks of a collection. Without marks from a file, use the last known ones of the history."""
    if marks is None:
        marks, lost_ids = _restore_from_history(connection, collection)
        connection.executemany(
            "INSERT INTO lost_marks VALUES (?, ?)", [(collection, record_id) for record_id in lost_ids]
        )
    write_marks_without_history(connection, collection, marks)


def _restore_from_history(connection: Connection, collection: str) -> tuple[dict[str, Marks], list[str]]:
    """Return the last known marks of each record, and the ids of records whose latest marks are lost.

    Marks are read from before-images. An undo restores an earlier state, which is in the before-image of the first
    change that replaced it.
    """
    rows = connection.execute(
        "SELECT record_id, state_before, coalesce(state_after, seq), before FROM changes "
        "WHERE collection = ? AND aspect = ? ORDER BY seq",
        (collection, MARKS),
    ).fetchall()
    images = {(record_id, state_before): before for record_id, state_before, _, before in rows}
    last_changes = {record_id: (state_after, before) for record_id, _, state_after, before in rows}
    marks = {record_id: images.get((record_id, state), before) for record_id, (state, before) in last_changes.items()}
    lost_ids = [record_id for record_id, (state, _) in last_changes.items() if (record_id, state) not in images]
    return {record_id: _decode_marks(text) or NO_MARKS for record_id, text in marks.items()}, lost_ids


def _decode_marks(text: object) -> Marks | None:
    """Return the marks in a JSON text, or None if the text is malformed."""
    try:
        value: Any = json.loads(text) if isinstance(text, str) else None
        check_json(value, "marks")
    except (ValueError, RecursionError):
        return None
    return decode_marks(value) if is_marks(value) else None
