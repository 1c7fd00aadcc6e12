"""The expected schema of each version of a ledger, and how a file's schema differs.

SQLite executes the triggers, views, checks and generated columns of any file it opens. So an untrusted file is compared
with a newly created empty ledger. Only additional objects count as foreign. Other checks find missing objects.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing

from atlas.storage.sql.connection import Connection
from atlas.storage.sqlite.mark_migration import FILE_TABLES
from atlas.storage.sqlite.schema import SCHEMA_VERSION, SCRIPT
from atlas.storage.sqlite.words.fts_tables import table_statements

SchemaObject = tuple[object, object, object, object]
"""A row of `sqlite_master`: type, name, table, and the statement without comments and blanks."""

_DOWNGRADES: Mapping[int, str] = {
    5: FILE_TABLES,
    4: "DROP TABLE token_vectors;",
    3: """
    DROP TABLE marks; DROP TABLE marks_files; DROP TABLE lost_marks; DROP TABLE pending_marks;
    CREATE TABLE pending_marks (
        collection TEXT NOT NULL, record_id TEXT NOT NULL, marks TEXT NOT NULL, PRIMARY KEY (collection, record_id)
    );
    """,
    2: """
    DROP INDEX events_by_operation; ALTER TABLE events DROP COLUMN operation; ALTER TABLE events DROP COLUMN undone;
    """,
    1: """
    DROP TABLE word_tables;
    CREATE VIRTUAL TABLE records_fts USING fts5 (
        document, search_text, content = 'records', content_rowid = 'seq',
        tokenize = "porter unicode61 remove_diacritics 2"
    );
    CREATE TRIGGER records_fts_insert AFTER INSERT ON records BEGIN
        INSERT INTO records_fts (rowid, document, search_text) VALUES (new.seq, new.document, new.search_text);
    END;
    CREATE TRIGGER records_fts_update AFTER UPDATE OF document, search_text ON records BEGIN
        INSERT INTO records_fts (records_fts, rowid, document, search_text)
            VALUES ('delete', old.seq, old.document, old.search_text);
        INSERT INTO records_fts (rowid, document, search_text) VALUES (new.seq, new.document, new.search_text);
    END;
    """,
}
"""Statements that turn an empty ledger of the next version into a ledger of each version."""

_TOKEN = re.compile(
    r"(?P<blank>[ \t\n\f\r]+|--[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|\w+|.",
    re.DOTALL,
)
"""A token of SQL as SQLite reads it. Other whitespace characters are parts of names in SQLite."""

_VIEW = re.compile(
    r"CREATE VIEW searchable_(?P<key>[1-9][0-9]{0,17}) .* collection = '(?P<collection>(?:[^']|'')*)' .*"
)

_STATISTICS = {
    ("table", name, name, f"CREATE TABLE {name} ( {' , '.join(columns)} )")
    for name, columns in (
        ("sqlite_stat1", ("tbl", "idx", "stat")),
        ("sqlite_stat4", ("tbl", "idx", "neq", "nlt", "ndlt", "sample")),
    )
}
"""The tables of ANALYZE, which only affect query plans."""


def foreign_objects(connection: Connection | sqlite3.Connection, version: int = SCHEMA_VERSION) -> list[str]:
    """Return the unexpected objects in a ledger's schema, such as `trigger 'evil'`, for a ledger of this version."""
    objects = _read_objects(connection)
    with closing(sqlite3.connect(":memory:")) as reference:
        versions = range(SCHEMA_VERSION - 1, version - 1, -1)
        reference.executescript(SCRIPT + "".join(_DOWNGRADES[number] for number in versions))
        for key, collection in _read_collections(connection, objects, _read_objects(reference)).items():
            for statement in table_statements(key, collection):
                reference.execute(statement)
        foreign = Counter(objects) - Counter(_read_objects(reference)) - Counter(_STATISTICS)
    return [f"{kind} {str(name)[:80]!r}" for kind, name, *_ in foreign]


def _read_collections(
    connection: Connection | sqlite3.Connection, objects: Sequence[SchemaObject], expected: Sequence[SchemaObject]
) -> dict[int, str]:
    """Return the collections with keyword tables, keyed by the table's key, including tables whose row was lost."""
    views = (_VIEW.fullmatch(str(statement)) for kind, _, _, statement in objects if kind == "view")
    collections = {int(view["key"]): view["collection"].replace("''", "'") for view in views if view}
    registry = {row for row in expected if row[1] == "word_tables"}
    if registry and registry <= {*objects}:  # otherwise it may be a view whose query never ends
        rows = connection.execute("SELECT key, collection FROM word_tables WHERE key > 0").fetchall()
        collections |= {int(key): str(collection) for key, collection in rows}
    return collections


def _read_objects(connection: Connection | sqlite3.Connection) -> list[SchemaObject]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    return [(kind, name, table, _strip_comments(statement)) for kind, name, table, statement in rows]


def _strip_comments(statement: object) -> object:
    """Return an SQL statement without comments and blanks. Other values are returned unchanged."""
    if not isinstance(statement, str):
        return statement
    return " ".join(token[0] for token in _TOKEN.finditer(statement) if not token["blank"])
