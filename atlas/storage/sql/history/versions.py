"""Earlier versions of a record, from the history's before-images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atlas.storage.damage import parse_row, parse_time
from atlas.storage.records import Version
from atlas.storage.sql.connection import Connection, Database
from atlas.storage.sql.meta import read_purge_id
from atlas.storage.sql.records import RECORD

INDIVISIBLE_KINDS = ("merge", "refine", "undo")
"""Kinds of operations that can only be undone as a whole."""


def read_versions(database: Database, collection: str, record_id: str) -> list[Version]:
    """Return the replaced states of a record, latest first.

    Deletions, merges, refinements and undos make no versions. The history undoes each of them as a whole. An undone
    edit is left out as well, because its earlier version is the current one.
    """
    with database.read() as connection:
        if read_purge_id(connection, collection, record_id):
            return []
        rows = connection.execute(
            "SELECT c.before, c.seq, o.undone_by IS NULL AND o.kind NOT IN (?, ?, ?), o.created_at, o.actor, o.id "
            "FROM changes c JOIN operations o ON o.id = c.operation "
            "WHERE c.collection = ? AND c.record_id = ? AND c.aspect = ? ORDER BY c.seq DESC",
            (*INDIVISIBLE_KINDS, collection, record_id, RECORD),
        ).fetchall()
        current = _read_content(connection, collection, record_id)
        return _select_versions(rows, current)


def _select_versions(rows: Sequence[tuple[Any, ...]], current: str | None) -> list[Version]:
    """Return a version for each change that replaced the content of a record by another.

    Args:
        rows: The changes of the record, latest first.
        current: The current content, or None if the record was deleted.
    """
    contents_before = [parse_row(before, "content")["content"] if before else None for before, *_ in rows]
    contents_after = [current, *contents_before]  # the latest change comes first
    versions = []
    for row, before, after in zip(rows, contents_before, contents_after, strict=False):
        _, number, makes_version, replaced_at, actor, operation_id = row
        if makes_version and before is not None and after is not None and before != after:
            version = Version(
                number=number,
                content=parse_row(before),
                replaced_at=parse_time(replaced_at),
                actor=actor,
                operation_id=operation_id,
            )
            versions.append(version)
    return versions


def _read_content(connection: Connection, collection: str, record_id: str) -> str | None:
    """Return the current content of a record, or None if the record does not exist."""
    row = connection.execute(
        "SELECT content FROM records WHERE collection = ? AND id = ? AND deleted = 0", (collection, record_id)
    ).fetchone()
    return row[0] if row else None
