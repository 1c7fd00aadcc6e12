"""Keyword tables in SQLite: an FTS5 table for each collection, with document frequencies of its own.

The tables are external-content tables over a view, so they can be checked against the records and rebuilt. Triggers
keep them in sync. View and triggers call `searchable`, which every connection of `Database` defines.

Postings and text lengths are read from FTS5's own tables. `bm25` computes the same scores, but takes about 5 µs for
each record that contains a query word, and most of these records are not shown. The vocabulary table takes 1 µs for
each occurrence of a word, and lengths are only read for records that may be among the best.

Source:
    https://www.sqlite.org/fts5.html, on `fts5vocab` and, in the appendix, on the tables %_data and %_docsize.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

import numpy as np

from atlas.core.ranking.tuned import FIELD_WEIGHTS
from atlas.storage.records import Scope, Seqs
from atlas.storage.sql.connection import CollectionStatistics, Connection, IntegerArray, TextArray
from atlas.storage.text.analyzer import Term
from atlas.storage.text.bm25 import SEARCH_TEXT, Postings
from atlas.storage.text.bm25 import Numbers as Lengths

MAX_PARTS = 4
"""Number of segments of a table's index above which they are merged, because a lookup reads each segment."""

MAX_MERGED_PAGES = 1_000
"""Maximum number of pages, of about 4 kB each, that one merge writes. More pages are merged in several turns."""

MAX_OCCURRENCES = 100_000
"""Maximum number of occurrences of a word to read. For more, `bm25` is fast enough: 0.1 seconds for as many."""

_TOKEN = re.compile("[a-z0-9]+")
_AVERAGES = 1
"""Id of the row of %_data with the number of records and the number of tokens in each column."""

REGISTRY = """
CREATE TABLE word_tables (
    key        INTEGER PRIMARY KEY,
    collection TEXT NOT NULL UNIQUE
);
"""

_TABLE_STATEMENTS = (
    """
    CREATE VIEW searchable_{key} AS
        SELECT seq, searchable(document) AS document, searchable(search_text) AS search_text
        FROM records WHERE collection = {collection} AND deleted = 0
    """,
    """
    CREATE VIRTUAL TABLE words_{key} USING fts5(
        document, search_text, content = 'searchable_{key}', content_rowid = 'seq',
        tokenize = "unicode61 remove_diacritics 2"
    )
    """,
    """
    CREATE TRIGGER words_{key}_insert AFTER INSERT ON records
    WHEN new.collection = {collection} AND new.deleted = 0 BEGIN
        INSERT INTO words_{key} (rowid, document, search_text)
            VALUES (new.seq, searchable(new.document), searchable(new.search_text));
    END
    """,
    """
    CREATE TRIGGER words_{key}_update AFTER UPDATE OF deleted, document, search_text ON records
    WHEN new.collection = {collection}
        AND (old.deleted, old.document, old.search_text) IS NOT (new.deleted, new.document, new.search_text) BEGIN
        INSERT INTO words_{key} (words_{key}, rowid, document, search_text)
            SELECT 'delete', old.seq, searchable(old.document), searchable(old.search_text) WHERE old.deleted = 0;
        INSERT INTO words_{key} (rowid, document, search_text)
            SELECT new.seq, searchable(new.document), searchable(new.search_text) WHERE new.deleted = 0;
    END
    """,
)


def table_statements(key: int, collection: str) -> list[str]:
    """Return the SQL statements that create a collection's keyword table, with a view and triggers."""
    quoted = "'" + collection.replace("'", "''") + "'"
    return [statement.format(key=key, collection=quoted) for statement in _TABLE_STATEMENTS]


def word_table(connection: Connection, collection: str) -> str | None:
    """Return the name of a collection's keyword table, or None before its first write."""
    row = connection.execute("SELECT key FROM word_tables WHERE collection = ?", (collection,)).fetchone()
    return f"words_{row[0]}" if row else None


def make_word_table(connection: Connection, collection: str) -> None:
    """Create and fill the keyword table of a collection, unless it exists."""
    if not word_table(connection, collection):
        rebuild_word_table(connection, collection)


def rebuild_word_table(connection: Connection, collection: str) -> None:
    """Replace a collection's keyword table with a new one, built from its records.

    The new table has another name, because other processes may have cached postings of the previous one.
    """
    key = connection.execute("SELECT 1 + coalesce(max(key), 0) FROM word_tables").fetchone()[0]
    if name := word_table(connection, collection):
        _drop_table(connection, name)
    connection.execute("INSERT OR REPLACE INTO word_tables VALUES (?, ?)", (key, collection))
    table = f"words_{key}"
    _drop_table(connection, table)
    for statement in table_statements(key, collection):
        connection.execute(statement)
    connection.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")


def is_fragmented(connection: Connection, collection: str) -> bool:
    """Return whether a collection's keyword table has too many parts for fast searches."""
    table = word_table(connection, collection)
    if table is None:
        return False
    return bool(connection.execute(f"SELECT count(DISTINCT segid) > ? FROM {table}_idx", (MAX_PARTS,)).fetchone()[0])


def merge_parts(connection: Connection, collection: str, after_word: str) -> None:
    """Merge the segments of many small writes, to speed up searches.

    FTS5 merges all words in one call, so no words remain.
    """
    del after_word
    table = word_table(connection, collection)
    connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (-MAX_MERGED_PAGES,))


def check_word_table(connection: Connection, collection: str) -> str:
    """Return how a collection's keyword table differs from its records, or an empty string.

    The check needs a write transaction.
    """
    table = word_table(connection, collection)
    if table is None:
        return "the table of words is missing"
    objects = {f"{kind.upper()} {name}" for kind, name in connection.execute("SELECT type, name FROM sqlite_master")}
    if missing := set(_table_objects(table)) - objects:
        return f"there is no {min(missing)}"
    try:
        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        return str(error)
    return ""


def is_token(word: str) -> bool:
    """Return whether SQLite's tokenizer returns a word as one unchanged token."""
    return _TOKEN.fullmatch(word) is not None


def read_statistics(connection: Connection, table: str) -> CollectionStatistics:
    """Return the number of records in a keyword table, and their mean length."""
    row = connection.execute(f"SELECT block FROM {table}_data WHERE id = ?", (_AVERAGES,)).fetchone()
    n_records, *lengths = _decode_varints(row[0]).tolist() if row and row[0] else [0]
    return CollectionStatistics(n_records, sum(lengths) / n_records if n_records else 0.0)


def read_postings(connection: Connection, table: str, words: Sequence[str]) -> dict[str, Postings]:
    """Return the postings of words that are single tokens. Words that occur too often are left out.

    A word that a few records repeat very often is as slow as one in all records.
    """
    occurrences = f"temp.{table}_occurrences"
    connection.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {occurrences} USING fts5vocab(main, {table}, instance)")
    # One text for each word instead of a row for each occurrence: see `read_matching_seqs`.
    rows = connection.execute(
        "SELECT words.value, (SELECT group_concat(occurrence) FROM "
        f"(SELECT (doc << 32) + (col = 'search_text') * {SEARCH_TEXT} + offset AS occurrence "
        f"FROM {occurrences} WHERE term = words.value LIMIT ?)) FROM json_each(?) words",
        (MAX_OCCURRENCES + 1, TextArray(words)),
    ).fetchall()
    numbers = {word: np.fromstring(text or "", np.int64, sep=",") for word, text in rows}
    return {word: Postings.from_occurrences(array) for word, array in numbers.items() if len(array) <= MAX_OCCURRENCES}


def read_lengths(connection: Connection, table: str, seqs: Seqs) -> Lengths:
    """Return the number of tokens of each record, in the order of `seqs`."""
    row = connection.execute(
        f"SELECT group_concat(hex(sz), '') FROM json_each(?) numbers "
        f"CROSS JOIN {table}_docsize sizes ON sizes.id = numbers.value",
        (IntegerArray(seqs.tolist()),),
    ).fetchone()
    field_lengths = _decode_varints(bytes.fromhex(row[0] or ""))
    if len(field_lengths) != len(FIELD_WEIGHTS) * len(seqs):
        raise _corruption_error(f"{table} lacks the lengths of some texts")
    lengths: Lengths = field_lengths.reshape(-1, len(FIELD_WEIGHTS)).sum(axis=1).astype(np.float64)
    return lengths


def put_words(connection: Connection, collection: str, seq: int, document: str, search_text: str) -> None:
    """Do nothing, because a trigger adds the words of a record."""


def drop_words(connection: Connection, seq: int) -> None:
    """Do nothing, because a trigger removes the words of a record."""


def read_bm25(connection: Connection, table: str, terms: Sequence[Term], scope: Scope) -> list[tuple[int, float]]:
    """Return the number and BM25 score of each record in a scope that contains any of the terms."""
    # `+` prevents SQLite from running one full-text query for each number.
    operator, seqs = ("NOT IN", scope.hidden) if scope.passing is None else ("IN", scope.passing)
    rows = connection.execute(
        f"SELECT rowid, -bm25({table}, {', '.join(map(str, FIELD_WEIGHTS))}) FROM {table} "
        f"WHERE {table} MATCH ? AND +rowid {operator} (SELECT value FROM json_each(?))",
        (_match_any(terms), IntegerArray(seqs.tolist())),
    )
    return rows.fetchall()


def count_records_with(connection: Connection, table: str, terms: Sequence[Term], limit: int) -> dict[Term, int]:
    """Return the number of records that contain each term, counting up to `limit`."""
    rows = connection.execute(
        f"SELECT (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH terms.value LIMIT ?)) "
        "FROM json_each(?) terms",
        (limit, TextArray(_match_any([term]) for term in terms)),
    )
    return {term: int(count) for term, (count,) in zip(terms, rows.fetchall(), strict=True)}


def read_records_with(connection: Connection, table: str, phrases: Sequence[Term]) -> Seqs:
    """Return the numbers of the records that contain all phrases."""
    match = " AND ".join(_match_any([phrase]) for phrase in phrases)
    rows = connection.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (match,))
    return np.array([seq for (seq,) in rows], np.int64)


def _match_any(terms: Sequence[Term]) -> str:
    """Return the FTS5 query for records with any of the terms."""
    return " OR ".join(f'"{term.text}"' + "*" * term.is_prefix for term in terms)


def _drop_table(connection: Connection, table: str) -> None:
    for schema_object in _table_objects(table):
        connection.execute(f"DROP {' IF EXISTS '.join(schema_object.split())}")


def _table_objects(table: str) -> tuple[str, ...]:
    """Return the type and name of each schema object of a keyword table, such as `TABLE words_1`."""
    view = table.replace("words", "searchable")
    return f"TABLE {table}", f"VIEW {view}", f"TRIGGER {table}_insert", f"TRIGGER {table}_update"


def _corruption_error(problem: str) -> sqlite3.DatabaseError:
    """Return SQLite's error for a corrupt file."""
    error = sqlite3.DatabaseError(problem)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _decode_varints(block: bytes) -> Seqs:
    """Decode SQLite's variable-length integers: seven bits in each byte, the highest first.

    Nine-byte integers are not supported, because no text is that long.
    """
    octets = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    positions = np.arange(ends[-1] + 1 if len(ends) else 0)
    digits = np.repeat(ends, np.diff(ends, prepend=-1)) - positions
    numbers = (octets[positions] & 0x7F).astype(np.int64) << 7 * digits
    return np.add.reduceat(numbers, np.r_[0, ends[:-1] + 1]) if len(ends) else numbers
