"""Earlier versions of a record, from the history's before-images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atlas.storage.damage import instant, parse_row
from atlas.storage.records import Version
from atlas.storage.sql.connection import Connection, Database
from atlas.storage.sql.meta import purged_by
from atlas.storage.sql.records import RECORD

WHOLE = ("merge", "refine", "undo")
"""Kinds of operations that can only be undone as a whole."""


def read_versions(database: Database, collection: str, record_id: str) -> list[Version]:
    """Return the replaced states of a record, latest first. A deletion is not a version.

    Neither are the changes of a merge, a refinement or an undo, which are undone as a whole in the history. Neither is
    an undone edit, whose version is the current one.
    """
    with database.read() as connection:
        if purged_by(connection, collection, record_id):
            return []
        rows = connection.execute(
            "SELECT c.before, c.seq, o.undone_by IS NULL AND o.kind NOT IN (?, ?, ?), o.created_at, o.actor, o.id "
            "FROM changes c JOIN operations o ON o.id = c.operation "
            "WHERE c.collection = ? AND c.record_id = ? AND c.aspect = ? ORDER BY c.seq DESC",
            (*WHOLE, collection, record_id, RECORD),
        ).fetchall()
        now = _content(connection, collection, record_id)
        return _versions(rows, now)


def _versions(rows: Sequence[tuple[Any, ...]], now: str | None) -> list[Version]:
    images = [parse_row(before, "content")["content"] if before else None for before, *_ in rows]
    after = [now, *images]
    versions = []
    for (_, number, counts, at, actor, operation_id), before, later in zip(rows, images, after, strict=False):
        if counts and before is not None and later is not None and before != later:
            version = Version(
                number=number,
                content=parse_row(before),
                replaced_at=instant(at),
                actor=actor,
                operation_id=operation_id,
            )
            versions.append(version)
    return versions


def _content(connection: Connection, collection: str, record_id: str) -> str | None:
    """Return the present content of a record, or None if it does not exist."""
    row = connection.execute(
        "SELECT content FROM records WHERE collection = ? AND id = ? AND deleted = 0", (collection, record_id)
    ).fetchone()
    return row[0] if row else None
