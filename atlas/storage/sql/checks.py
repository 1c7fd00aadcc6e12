"""Checks of a ledger's tables, and repair of derived data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from atlas.storage.damage import UnreadableRow, parse_row
from atlas.storage.records import Check
from atlas.storage.sql.connection import Connection, Database
from atlas.storage.sql.filters import KEY
from atlas.storage.sql.meta import PURGED_IMAGE, read_model
from atlas.storage.sql.records import attribute_values, read_collections

_ORPHAN_VECTORS_SQL = "SELECT seq FROM vectors WHERE seq NOT IN (SELECT seq FROM records WHERE deleted = 0)"
_MISSING_VECTORS_SQL = "SELECT id FROM records WHERE deleted = 0 AND seq NOT IN (SELECT seq FROM vectors)"
_JSON_SQL = (
    "SELECT CAST(id AS BLOB), CAST(metadata AS BLOB) FROM records",
    "SELECT CAST(id AS BLOB), CAST(content AS BLOB) FROM records "
    "WHERE content <> '' AND substr(collection, 1, 6) = 'atlas_'",
    f"SELECT CAST(record_id AS BLOB), CAST(before AS BLOB) FROM changes WHERE before <> '{PURGED_IMAGE}'",
)
"""The ids and JSON of the rows, as bytes because damaged rows may not be valid text. `content` is only checked in
collections of ATLAS, because other collections may store any text there."""

_DAMAGE_ADVICE = (
    "Nothing else was checked or repaired. Restore a backup into a new directory (atlas --store NEW restore "
    "FILE), or see: sqlite3 … .recover"
)
MAX_NAMED = 5
"""Maximum number of foreign objects in a message."""

_WRONG_DIMENSION_SQL = "SELECT count(*) FROM vectors WHERE length(vector) <> 4 * ?"


ForeignObjects = Callable[[Connection], list[str]]
"""Function that returns foreign objects in a ledger's schema."""


def build_checks(database: Database, find_foreign: ForeignObjects) -> tuple[Check, ...]:
    """Return the checks of a ledger's tables, in the order in which they run."""
    return (
        Check("ledger file", partial(_check_file, database), stops_on_failure=True),
        Check("schema", partial(_check_schema, database, find_foreign), stops_on_failure=True),
        Check("rows", partial(_check_rows, database), stops_on_failure=True),
        Check("vectors", partial(_check_vectors, database), partial(_fix_vectors, database)),
        Check("keyword search", partial(_check_words, database), partial(_fix_words, database)),
        Check("filters", partial(_check_filters, database), partial(_fix_filters, database)),
    )


def _check_file(database: Database) -> str:
    problem = database.check()
    return f"{problem}. {_DAMAGE_ADVICE}" if problem else ""


def _check_schema(database: Database, find_foreign: ForeignObjects) -> str:
    with database.read() as connection:
        foreign = find_foreign(connection)
    return foreign_problem(foreign) if foreign else ""


def foreign_problem(foreign: list[str]) -> str:
    """Return the message for a schema with objects that ATLAS did not create."""
    more = f" and {len(foreign) - MAX_NAMED} more" if len(foreign) > MAX_NAMED else ""
    return (
        "the ledger's schema contains objects that ATLAS did not create: "
        f"{', '.join(foreign[:MAX_NAMED])}{more}. A write could trigger them. If you created them, drop them. "
        "Otherwise restore an earlier backup into an empty store"
    )


def _check_rows(database: Database) -> str:
    with database.read() as connection:
        problems = [problem for query in _JSON_SQL for problem in _find_unreadable(connection, query)]
    return f"{len(problems)} texts cannot be read, such as {problems[0]}. {_DAMAGE_ADVICE}" if problems else ""


def _find_unreadable(connection: Connection, query: str) -> Iterator[str]:
    """Yield a description of each JSON text that cannot be read. The query returns ids and texts, as bytes."""
    for owner, text in connection.execute(query):
        try:
            parse_row((text or b"").decode())
        except (UnreadableRow, UnicodeDecodeError) as error:
            yield f"the text of {(owner or b'').decode(errors='replace')!r} ({error})"


def _check_vectors(database: Database) -> str:
    with database.read() as connection:
        n_orphans = len(connection.execute(_ORPHAN_VECTORS_SQL).fetchall())
        ids_without_vectors = [row[0] for row in connection.execute(_MISSING_VECTORS_SQL).fetchall()]
        model = read_model(connection)
        n_wrong = connection.execute(_WRONG_DIMENSION_SQL, (model[1],)).fetchone()[0] if model else 0
    problems = [f"{n_orphans} vectors without a record"] if n_orphans else []
    if ids_without_vectors:
        n_without, example = len(ids_without_vectors), ids_without_vectors[0]
        problems.append(f"{n_without} records without a vector, such as {example}; run: atlas reembed")
    if n_wrong:
        problems.append(f"{n_wrong} vectors of another dimension; run: atlas reembed")
    return "; ".join(problems)


def _fix_vectors(database: Database) -> None:
    with database.write() as connection:
        connection.execute(f"DELETE FROM vectors WHERE seq IN ({_ORPHAN_VECTORS_SQL})")


def _check_words(database: Database) -> str:
    if database.read_only:
        return ""  # the check writes
    with database.session() as connection:
        problems = {
            name: connection.dialect.words.check_word_table(connection, name) for name in read_collections(connection)
        }
    failures = [f"of {name} ({problem})" for name, problem in problems.items() if problem]
    return f"keyword search {', '.join(failures)} does not match the records" if failures else ""


def _fix_words(database: Database) -> None:
    with database.write() as connection:
        for name in read_collections(connection):
            connection.dialect.words.rebuild_word_table(connection, name)


def _check_filters(database: Database) -> str:
    with database.read() as connection:
        n_wrong = sum(1 for _ in _wrong_attributes(connection))
    return f"the filters of {n_wrong} records do not match their metadata" if n_wrong else ""


def _fix_filters(database: Database) -> None:
    """Write the filter attributes of records again where they differ from the metadata."""
    with database.write() as connection:
        for seq, collection, expected in list(_wrong_attributes(connection)):
            connection.execute("DELETE FROM attributes WHERE seq = ?", (seq,))
            for name, value in expected:
                connection.execute(
                    "INSERT INTO attribute_keys (collection, name) VALUES (?, ?) ON CONFLICT DO NOTHING",
                    (collection, name),
                )
                row = connection.execute(f"SELECT {KEY}", (collection, name)).fetchone()
                connection.dialect.put_attributes(connection, [(row[0], value, seq)])


def _wrong_attributes(connection: Connection) -> Iterator[tuple[int, str, set[tuple[str, object]]]]:
    """Yield records whose attributes differ from their metadata, with the expected attributes."""
    for seq, collection, metadata in connection.execute("SELECT seq, collection, metadata FROM records"):
        stored = connection.execute(
            f"SELECT k.name, {connection.dialect.value_sql('a')} FROM attributes a "
            "JOIN attribute_keys k ON k.key = a.key WHERE a.seq = ?",
            (seq,),
        ).fetchall()
        expected = set(attribute_values(parse_row(metadata)))
        if set(stored) != expected:
            yield seq, collection, expected
