"""The ledger's `meta` table: id, model, position, purges, and small texts, keyed by name.

A restored copy of the file has the id of its original, and may later reach any revision with other records. So a
follower remembers the newest change that it has seen, by the random id of its operation: a ledger with that change also
has all changes before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.core.types import new_id
from atlas.storage.damage import UnreadableRow
from atlas.storage.records import NO_CHANGE, ChangeId, Moment, Position
from atlas.storage.sql.connection import Connection, Database, TextArray

_UPSERT_SQL = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


def read_notes(connection: Connection, prefix: str) -> dict[str, str]:
    """Return the notes whose names begin with a prefix, keyed by the rest of the name, sorted."""
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)  # a range query uses the primary key
    rows = connection.execute(
        "SELECT name, value FROM meta WHERE name >= ? AND name < ? ORDER BY name", (prefix, end)
    ).fetchall()
    return {name.removeprefix(prefix): str(value) for name, value in rows}


def write_notes(connection: Connection, prefix: str, texts: Mapping[str, str]) -> None:
    """Write notes named by the prefix and the keys of `texts`, replacing existing ones."""
    connection.executemany(_UPSERT_SQL, [(prefix + name, text) for name, text in texts.items()])


def read_ledger_id(connection: Connection) -> str:
    """Return the random id of a ledger, which changes with a restore or a purge."""
    return str(connection.execute("SELECT value FROM meta WHERE name = 'ledger_id'").fetchone()[0])


def renew_ledger_id(connection: Connection) -> None:
    """Give the ledger a new id, which makes vectors, maps and plans of its earlier state invalid."""
    connection.execute("UPDATE meta SET value = ? WHERE name = 'ledger_id'", (new_id(),))


def initialize(connection: Connection) -> None:
    """Fill the table `meta` of a new ledger."""
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [("revision", "0"), ("ledger_id", new_id())])


def write_revision(connection: Connection, revision: int) -> None:
    """Store the newest revision of the store."""
    connection.execute("UPDATE meta SET value = ? WHERE name = 'revision'", (str(revision),))


def bind_model(connection: Connection, name: str, dimension: int, prompts: str) -> None:
    """Bind the store to an embedding model."""
    write_notes(connection, "embedding_", {"model": name, "dimension": str(dimension), "prompts": prompts})


def read_embedding_prompts(connection: Connection) -> str:
    """Return the stored prompts, or ''."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'embedding_prompts'").fetchone()
    return str(row[0]) if row else ""


def read_model(connection: Connection) -> tuple[str, int] | None:
    """Return the name and dimension of the store's embedding model, or None before it is bound."""
    texts = read_notes(connection, "embedding_")
    try:
        return (texts["model"], int(texts["dimension"])) if texts else None
    except (KeyError, ValueError) as error:
        raise UnreadableRow("the store's record of its embedding model has no valid name and dimension") from error


def read_revision(connection: Connection) -> int:
    """Return the newest revision of the store."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
    try:
        return int(row[0])
    except (TypeError, ValueError) as error:
        raise UnreadableRow(f"the stored revision is damaged: {error}") from error


_CHANGE_NAME_SQL = "operation || ' ' || record_id"
_NEWEST_CHANGE_SQL = (
    f"(SELECT max(seq) FROM changes), (SELECT {_CHANGE_NAME_SQL} FROM changes ORDER BY seq DESC LIMIT 1)"
)
_POSITION_SQL = f"""
    SELECT
        (SELECT value FROM meta WHERE name = 'ledger_id'),
        (SELECT max(revision) FROM records WHERE collection = ?),
        (SELECT value FROM meta WHERE name = 'embedding_model'),
        (SELECT value FROM meta WHERE name = 'embedding_dimension'),
        {_NEWEST_CHANGE_SQL}
"""
"""Query for a `Position`. A single statement, because every search runs it."""


def read_position(connection: Connection, collection: str) -> Position:
    """Return the latest revision of a collection, with the ledger's id, model and newest change."""
    ledger_id, revision, model, dimension, *newest_change = connection.execute(_POSITION_SQL, (collection,)).fetchone()
    return Position(
        ledger_id, revision or 0, (model, int(dimension)) if model else None, _make_change_id(*newest_change)
    )


def read_moment(connection: Connection) -> Moment:
    """Return the current point in the history."""
    row = connection.execute(
        "SELECT (SELECT value FROM meta WHERE name = 'ledger_id'), (SELECT coalesce(max(seq), 0) FROM changes)"
    ).fetchone()
    return Moment(row[0], int(row[1]))


def read_newest_change(connection: Connection) -> ChangeId:
    """Return the newest change in any collection of a ledger."""
    return _make_change_id(*connection.execute(f"SELECT {_NEWEST_CHANGE_SQL}").fetchone())


def _make_change_id(number: int | None, name: str | None) -> ChangeId:
    """Return the id of a change from its columns, which are NULL if there is none."""
    return ChangeId(number, name) if number and name else NO_CHANGE


def has_change(connection: Connection, change: ChangeId) -> bool:
    """Return whether a ledger's history contains a change. If so, it also contains all earlier changes."""
    row = connection.execute(f"SELECT {_CHANGE_NAME_SQL} FROM changes WHERE seq = ?", (change.number,)).fetchone()
    return row is not None and row[0] == change.name


def contradicts_position(connection: Connection, collection: str, position: Position) -> bool:
    """Return whether the history proves that a collection never was at a position.

    This is so if a change after the position has the same revision or an earlier one, because revisions only grow.
    """
    row = connection.execute(
        "SELECT 1 FROM changes c JOIN records r ON r.collection = c.collection AND r.id = c.record_id "
        "WHERE c.seq > ? AND c.collection = ? AND c.aspect = 'record' AND r.revision <= ? LIMIT 1",
        (position.newest_change.number, collection, position.revision),
    ).fetchone()
    return row is not None


# Ids of purged records, so that such a record cannot be stored again. No hash of the content is kept, because a short
# secret could be guessed from it. So the same text under another id is another record.

PURGED_PREFIX = "purged:"
"""Prefix of the key of each purged record: `purged:{collection}:{id}`."""

IS_PURGED = f"EXISTS (SELECT 1 FROM meta WHERE name = '{PURGED_PREFIX}' || r.collection || ':' || r.id)"
"""A condition on `records AS r`."""

PURGED_IMAGE = "null"
"""The before-image of a change of a purged record: JSON null, where NULL means that there was no record."""


def note_purged(connection: Connection, collection: str, record_id: str, operation_id: str) -> None:
    """Store the fact that an operation purged a record."""
    connection.execute("INSERT INTO meta VALUES (?, ?)", (f"{PURGED_PREFIX}{collection}:{record_id}", operation_id))


def read_purge_id(connection: Connection, collection: str, record_id: str) -> str | None:
    """Return the id of the operation that purged a record, or None."""
    row = connection.execute(
        "SELECT value FROM meta WHERE name = ?", (f"{PURGED_PREFIX}{collection}:{record_id}",)
    ).fetchone()
    return row[0] if row else None


def read_purged_ids(connection: Connection, collection: str, ids: Sequence[str]) -> set[str]:
    """Return the given ids that belonged to purged records."""
    names = {f"{PURGED_PREFIX}{collection}:{record_id}": record_id for record_id in ids}
    rows = connection.execute(
        "SELECT name FROM meta WHERE name IN (SELECT value FROM json_each(?))", (TextArray(names),)
    )
    return {names[row[0]] for row in rows.fetchall()}


def check_not_purged(connection: Connection, collection: str, record_id: str) -> None:
    """Raise `InvalidInput` if a record with this id was purged."""
    if read_purge_id(connection, collection, record_id):
        raise InvalidInput(
            f"the record {record_id!r} of {collection!r} was purged, and its id cannot be reused; give another id"
        )


class SqlNotes:
    """Named texts in the ledger, shared by all processes and part of backups."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, prefix: str) -> dict[str, str]:
        """Return the notes whose names begin with a prefix, keyed by the rest of the name, sorted."""
        with self._database.read() as connection:
            return read_notes(connection, prefix)

    def write(
        self,
        texts: Mapping[str, str | None],
        *,
        expected: Mapping[str, str | None] | None = None,
        records: Sequence[tuple[str, str]] = (),
        increases_revision: bool = False,
    ) -> dict[str, str | None]:
        """Write notes and return their earlier texts. A text of None deletes a note.

        Args:
            expected: The expected current texts, keyed by name. None to write whatever the current texts are.
            records: Collection and id of each record that the notes are about. The call is refused if one was purged.
            increases_revision: Whether the store's revision increases, which invalidates cached results of searches.

        Raises:
            PlanOutdated: A current value differs from the expected one; the store was not changed.
            InvalidInput: One of the records was purged; the store was not changed.
        """
        with self._database.write() as connection:
            for collection, record_id in records:
                check_not_purged(connection, collection, record_id)
            earlier_texts = {name: _read_note(connection, name) for name in texts}
            if expected is not None and earlier_texts != expected:
                raise PlanOutdated("a note has changed since it was read; nothing was done. Read it again")
            deleted_names = [(name,) for name, text in texts.items() if text is None]
            connection.executemany("DELETE FROM meta WHERE name = ?", deleted_names)
            connection.executemany(_UPSERT_SQL, [(name, text) for name, text in texts.items() if text is not None])
            if increases_revision:
                write_revision(connection, read_revision(connection) + 1)
        return earlier_texts


def _read_note(connection: Connection, name: str) -> str | None:
    """Return the text of one note, or None."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else row[0]
