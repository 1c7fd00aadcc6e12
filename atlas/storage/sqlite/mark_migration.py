"""Marks as stores before schema 4 kept them: in their files, with what was on its way there in the ledger."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from atlas.core.json_values import check_json
from atlas.core.operations import NO_MARKS, Marks
from atlas.storage.marks.codec import decode_marks, is_marks
from atlas.storage.marks.tinydb import UNREADABLE, TinyMetadataStore, marks_file, may_have_marks_file
from atlas.storage.sql.connection import Connection
from atlas.storage.sql.marks import await_files, forget_lost, write_marks
from atlas.storage.sql.records import MARKS

logger = logging.getLogger(__name__)

OldFiles = Callable[[str], Mapping[str, Marks] | None]
"""The marks that a collection's file holds. None where it is gone, or cannot be read."""

OldRow = tuple[str, str, object]
"""A row of the old `pending_marks`: collection, record, marks as JSON."""


def files_beside(ledger: Path) -> OldFiles:
    """Return the reader of the files that stand beside a ledger."""

    def read(collection: str) -> Mapping[str, Marks] | None:
        path = ledger.with_name(marks_file(collection))
        try:
            return TinyMetadataStore(path).all() if path.exists() else None
        except UNREADABLE as error:
            logger.warning("the marks of %r are taken from the history, as far as it goes: %s", collection, error)
            return None

    return read


def keep_marks(connection: Connection, pending: Iterable[OldRow], read_file: OldFiles) -> None:
    """Fill the empty tables of marks."""
    names = connection.execute(
        "SELECT collection FROM word_tables UNION SELECT collection FROM changes WHERE aspect = ?", (MARKS,)
    ).fetchall()
    for (collection,) in names:
        if may_have_marks_file(collection):
            _keep_collection(connection, collection, read_file(collection))
    for collection, record_id, text in pending:
        marks = _decoded(text)
        if marks is None or not may_have_marks_file(collection):
            logger.warning("the pending marks of %r in %r are skipped: they are no marks", record_id, collection)
            continue
        write_marks(connection, collection, {record_id: marks})
        await_files(connection, collection, [record_id], revision=0)
        forget_lost(connection, collection, [record_id])


def _keep_collection(connection: Connection, collection: str, held: Mapping[str, Marks] | None) -> None:
    if held is None:
        held, lost = _remembered(connection, collection)
        connection.executemany("INSERT INTO lost_marks VALUES (?, ?)", [(collection, record_id) for record_id in lost])
    write_marks(connection, collection, held)
    if held:  # so that a file that is gone is missed
        connection.execute("INSERT INTO marks_files VALUES (?, '')", (collection,))


def _remembered(connection: Connection, collection: str) -> tuple[dict[str, Marks], list[str]]:
    """Return the marks that before-images give, and the records whose last mark none gives: those get the one before.

    An undo brings an earlier state back, which the change that ended it first holds.
    """
    rows = connection.execute(
        "SELECT record_id, state_before, coalesce(state_after, seq), before FROM changes "
        "WHERE collection = ? AND aspect = ? ORDER BY seq",
        (collection, MARKS),
    ).fetchall()
    images = {(record_id, state_before): before for record_id, state_before, _, before in rows}
    last = {record_id: (state_after, before) for record_id, _, state_after, before in rows}
    marks = {record_id: images.get((record_id, state), before) for record_id, (state, before) in last.items()}
    lost = [record_id for record_id, (state, _) in last.items() if (record_id, state) not in images]
    return {record_id: _decoded(text) or NO_MARKS for record_id, text in marks.items()}, lost


def _decoded(text: object) -> Marks | None:
    try:
        parsed: Any = json.loads(text) if isinstance(text, str) else None
        check_json(parsed, "marks")
    except (ValueError, RecursionError):
        return None
    return decode_marks(parsed) if is_marks(parsed) else None
