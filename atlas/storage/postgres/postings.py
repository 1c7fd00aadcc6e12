"""Keyword tables in PostgreSQL: the postings of each word, in packed rows.

A write adds one row for each word of its records, with all of the records that contain it: five hundred texts add about
eight thousand rows, and a single text sixty. Rows of many small writes are merged now and then. PostgreSQL's own
full-text search has no BM25, and keeps no document frequencies.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain

import numpy as np

from atlas.core.ranking.tuned import K1, B
from atlas.storage.postgres.packing import (
    MAX_RECORDS,
    StoredPostings,
    find_phrase,
    from_bytes,
    group_by_term,
    merge,
    remove_record,
    split,
    to_bytes,
    to_postings,
    to_row,
)
from atlas.storage.records import Scope, Seqs
from atlas.storage.sql.connection import CollectionStatistics, Connection, IntegerArray, TextArray
from atlas.storage.sql.words.tokens import tokenize, tokenize_record
from atlas.storage.text.analyzer import Term
from atlas.storage.text.bm25 import Numbers as Lengths
from atlas.storage.text.bm25 import Postings

MAX_PARTS = 64
"""Number of writes to a table after which its small rows are merged."""

MIN_FULL_ROW = 512
"""Number of records in a row that is not merged any more."""

BUILD_BATCH = 4_000
"""Number of records in a batch when a table is built."""

MERGE_BATCH = 100_000
"""Maximum number of rows that one transaction merges. Other writers wait for it."""

_END = "\U0010ffff"

_IS_SMALL_SQL = "key = ?1 AND n < ?2 AND term > ?3 AND term <= ?4"

_OVERLAPPING_SQL = f"""
    SELECT DISTINCT term FROM (
        SELECT term, first_seq, max(last_seq) OVER (
            PARTITION BY term ORDER BY first_seq, segment ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before FROM word_postings WHERE {_IS_SMALL_SQL}
    ) AS ranges WHERE first_seq <= before
"""
"""Words with small rows whose ranges of records overlap, because a record was written again.

Parameters: number of the table, size of a full row, and the range of words."""

_MERGE_SQL = f"""
    WITH gone AS (
        DELETE FROM word_postings WHERE {_IS_SMALL_SQL} AND term IN (
            SELECT term FROM word_postings WHERE {_IS_SMALL_SQL} GROUP BY term HAVING count(*) > 1
        ) AND NOT term = ANY(?5) RETURNING *
    ), placed AS (
        SELECT *, (sum(n) OVER (PARTITION BY term ORDER BY first_seq) - n) / {MAX_RECORDS - MIN_FULL_ROW} AS part
        FROM gone
    )
    INSERT INTO word_postings (key, term, first_seq, last_seq, n, seqs, often, places)
    SELECT key, term, min(first_seq), max(last_seq), sum(n), string_agg(seqs, ''::bytea ORDER BY first_seq),
        string_agg(often, ''::bytea ORDER BY first_seq), string_agg(places, ''::bytea ORDER BY first_seq)
    FROM placed GROUP BY key, term, trunc(part)
"""
"""Merges the small rows of words whose ranges of records do not overlap, by joining their bytes.

Parameters: the same as for `_OVERLAPPING_SQL`, and words to leave out."""

_INSERT_SQL = (
    "INSERT INTO word_postings (key, term, first_seq, last_seq, n, seqs, often, places) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)

TABLES = """
CREATE TABLE word_tables (
    key        INTEGER PRIMARY KEY,
    collection TEXT    NOT NULL UNIQUE,
    n_records  INTEGER NOT NULL DEFAULT 0,
    n_tokens   INTEGER NOT NULL DEFAULT 0,
    n_parts    INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE word_lengths (
    key      INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    n_tokens INTEGER NOT NULL,
    PRIMARY KEY (key, seq)
);
CREATE TABLE word_postings (
    segment   INTEGER PRIMARY KEY,
    key       INTEGER NOT NULL,
    term      TEXT    NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    n         INTEGER NOT NULL,
    seqs      BLOB    NOT NULL,                  -- int64, in order
    often     BLOB    NOT NULL,                  -- uint32: number of places of each record
    places    BLOB    NOT NULL                   -- int32
);
CREATE INDEX word_postings_by_term ON word_postings (key, term, first_seq);
"""


@dataclass(slots=True)
class PendingWords:
    """The words of records that a transaction has written, until the words are written, too."""

    records: dict[int, list[tuple[int, list[str], list[str]]]] = field(default_factory=lambda: defaultdict(list))
    """Record number, words of the document and words of the search text, keyed by the number of the table."""

    keys: dict[str, int] = field(default_factory=dict)
    """The numbers of the tables, keyed by collection."""


def word_table(connection: Connection, collection: str) -> str | None:
    """Return the name of a collection's keyword table, or None before its first write."""
    row = connection.execute("SELECT key FROM word_tables WHERE collection = ?", (collection,)).fetchone()
    return f"words_{row[0]}" if row else None


def make_word_table(connection: Connection, collection: str) -> None:
    """Create and fill the keyword table of a collection, unless it exists."""
    keys = _pending_words(connection).keys
    if collection in keys:
        return
    if name := word_table(connection, collection):
        keys[collection] = _table_key(name)
    else:
        rebuild_word_table(connection, collection)


def rebuild_word_table(connection: Connection, collection: str) -> None:
    """Replace a collection's keyword table with a new one under another key, built from its records."""
    write_pending(connection)
    if name := word_table(connection, collection):
        for table in ("word_tables", "word_lengths", "word_postings"):
            connection.execute(f"DELETE FROM {table} WHERE key = ?", (_table_key(name),))
    row = connection.execute("INSERT INTO word_tables (collection) VALUES (?) RETURNING key", (collection,)).fetchone()
    _pending_words(connection).keys[collection] = row[0]
    last_seq = 0
    while rows := connection.execute(
        "SELECT seq, document, search_text FROM records WHERE collection = ? AND deleted = 0 AND seq > ? "
        "ORDER BY seq LIMIT ?",
        (collection, last_seq, BUILD_BATCH),
    ).fetchall():
        for seq, document, search_text in rows:
            put_words(connection, collection, seq, document, search_text)
        write_pending(connection)
        last_seq = rows[-1][0]


def put_words(connection: Connection, collection: str, seq: int, document: str, search_text: str) -> None:
    """Add the words of a record, which must not be in the keyword table yet. They are written with the transaction."""
    key = _pending_words(connection).keys[collection]
    _pending_words(connection).records[key].append((seq, tokenize_record(document), tokenize_record(search_text)))


def drop_words(connection: Connection, seq: int) -> None:
    """Remove the words of a record, whose row must still contain the indexed texts."""
    write_pending(connection)
    row = connection.execute(
        "SELECT t.key, r.document, r.search_text FROM records r JOIN word_tables t ON t.collection = r.collection "
        "WHERE r.seq = ? AND r.deleted = 0",
        (seq,),
    ).fetchone()
    if row is None:
        return
    key, *texts = row
    document, search_text = map(tokenize_record, texts)
    rows = connection.execute(
        "SELECT segment, seqs, often, places FROM word_postings "
        "WHERE key = ? AND term IN (SELECT value FROM json_each(?)) AND first_seq <= ? AND last_seq >= ?",
        (key, TextArray({*document, *search_text}), seq, seq),
    ).fetchall()
    remaining_parts = [(segment, remove_record(from_bytes(*packed), seq)) for segment, *packed in rows]
    connection.execute(
        "DELETE FROM word_postings WHERE segment IN (SELECT value FROM json_each(?))",
        (IntegerArray(segment for segment, part in remaining_parts if not len(part.seqs)),),
    )
    connection.executemany(
        "UPDATE word_postings SET n = ?, seqs = ?, often = ?, places = ? WHERE segment = ?",
        [(len(part.seqs), *to_bytes(part), segment) for segment, part in remaining_parts if len(part.seqs)],
    )
    n_tokens = len(document) + len(search_text)
    connection.execute("DELETE FROM word_lengths WHERE key = ? AND seq = ?", (key, seq))
    connection.execute(
        "UPDATE word_tables SET n_records = n_records - 1, n_tokens = n_tokens - ? WHERE key = ?", (n_tokens, key)
    )


def write_pending(connection: Connection) -> None:
    """Write the pending words of a transaction."""
    pending, rows = _pending_words(connection).records, []
    for key, records in pending.items():
        lengths = [(key, seq, len(document) + len(search_text)) for seq, document, search_text in records]
        connection.executemany("INSERT INTO word_lengths VALUES (?, ?, ?)", lengths)
        connection.executemany(_INSERT_SQL, [to_row(key, term, part) for term, part in group_by_term(records)])
        rows.append((len(lengths), sum(n for *_, n in lengths), key))
    connection.executemany(
        "UPDATE word_tables SET n_records = n_records + ?, n_tokens = n_tokens + ?, n_parts = n_parts + 1 "
        "WHERE key = ?",
        rows,
    )
    pending.clear()


def drop_pending(connection: Connection) -> None:
    """Drop the pending words of a transaction that was rolled back."""
    connection.pending_words = PendingWords()  # type: ignore[attr-defined]


def is_fragmented(connection: Connection, collection: str) -> bool:
    """Return whether a collection's keyword table has too many parts for fast searches."""
    rows = connection.execute("SELECT n_parts > ? FROM word_tables WHERE collection = ?", (MAX_PARTS, collection))
    flag = rows.fetchone()
    return bool(flag and flag[0])


def merge_parts(connection: Connection, collection: str, after_word: str) -> str | None:
    """Merge small rows of the next words. Return the last of these words, or None if no words remain.

    Args:
        after_word: The last word of the previous call, or an empty string to begin.
    """
    key = _table_key(word_table(connection, collection) or "words_0")
    next_row = connection.execute(
        "SELECT term FROM word_postings WHERE key = ? AND n < ? AND term > ? ORDER BY term LIMIT 1 OFFSET ?",
        (key, MIN_FULL_ROW, after_word, MERGE_BATCH),
    ).fetchone()
    last_word = next_row[0] if next_row else None
    parameters = (key, MIN_FULL_ROW, after_word, last_word or _END)
    overlapping = TextArray(row[0] for row in connection.execute(_OVERLAPPING_SQL, parameters).fetchall())
    connection.execute(_MERGE_SQL, (*parameters, overlapping))
    _merge_overlapping(connection, key, overlapping)
    if last_word is None:
        connection.execute("UPDATE word_tables SET n_parts = 0 WHERE key = ?", (key,))
    return last_word


def _merge_overlapping(connection: Connection, key: int, terms: Sequence[str]) -> None:
    """Merge the small rows of words whose ranges of records overlap."""
    rows = connection.execute(
        "SELECT term, segment, seqs, often, places FROM word_postings "
        "WHERE key = ? AND n < ? AND term IN (SELECT value FROM json_each(?))",
        (key, MIN_FULL_ROW, TextArray(terms)),
    ).fetchall()
    segments_by_term: dict[str, list[tuple[int, StoredPostings]]] = defaultdict(list)
    for term, segment, *packed in rows:
        segments_by_term[term].append((segment, from_bytes(*packed)))
    all_segments = chain.from_iterable(segments_by_term.values())
    merged_segments = IntegerArray(segment for segment, _ in all_segments)
    connection.execute(
        "DELETE FROM word_postings WHERE segment IN (SELECT value FROM json_each(?))", (merged_segments,)
    )
    merged = {term: merge([part for _, part in segments]) for term, segments in segments_by_term.items()}
    for term, postings in merged.items():
        connection.executemany(_INSERT_SQL, [to_row(key, term, part) for part in split(postings)])


def check_word_table(connection: Connection, collection: str) -> str:
    """Return how a collection's keyword table differs from its records, or an empty string."""
    table = word_table(connection, collection)
    if table is None:
        return "the table of words is missing"
    rows = connection.execute(
        "SELECT seq, document, search_text FROM records WHERE collection = ? AND deleted = 0", (collection,)
    ).fetchall()
    records = [(seq, *map(tokenize_record, texts)) for seq, *texts in rows]
    n_records, n_tokens = len(records), sum(len(document) + len(search_text) for _, document, search_text in records)
    expected = Counter(_iterate_occurrences(group_by_term(records)) if records else ())
    totals = connection.execute(
        "SELECT n_records, n_tokens FROM word_tables WHERE key = ?", (_table_key(table),)
    ).fetchone()
    if totals != (n_records, n_tokens):
        return "the totals are wrong"
    rows = connection.execute(
        "SELECT term, seqs, often, places FROM word_postings WHERE key = ?", (_table_key(table),)
    ).fetchall()
    stored = Counter(_iterate_occurrences((term, from_bytes(*packed)) for term, *packed in rows))
    return "" if stored == expected else "the words differ from the records' words"


def _iterate_occurrences(postings: Iterable[tuple[str, StoredPostings]]) -> Iterator[tuple[str, int, int]]:
    """Yield the word, record number and position of each occurrence."""
    for term, part in postings:
        for seq, position in zip(np.repeat(part.seqs, part.n_positions).tolist(), part.positions.tolist(), strict=True):
            yield term, seq, position


def is_token(word: str) -> bool:
    """Return whether a word is a single token."""
    return tokenize(word) == [word]


def read_statistics(connection: Connection, table: str) -> CollectionStatistics:
    """Return the number of records in a keyword table, and their mean length."""
    n_records, n_tokens = connection.execute(
        "SELECT n_records, n_tokens FROM word_tables WHERE key = ?", (_table_key(table),)
    ).fetchone() or (0, 0)
    return CollectionStatistics(n_records, n_tokens / n_records if n_records else 0.0)


def read_postings(connection: Connection, table: str, words: Sequence[str]) -> dict[str, Postings]:
    """Return the postings of each word."""
    parts = _read_words(connection, table, words)
    return {word: to_postings(parts[word]) for word in words}


def read_lengths(connection: Connection, table: str, seqs: Seqs) -> Lengths:
    """Return the number of tokens of each record, in the order of `seqs`."""
    rows = connection.execute(
        "SELECT seq, n_tokens FROM word_lengths WHERE key = ? AND seq IN (SELECT value FROM json_each(?))",
        (_table_key(table), IntegerArray(seqs.tolist())),
    )
    lengths = dict(rows.fetchall())
    return np.array([lengths[seq] for seq in seqs.tolist()], np.float64)


def read_bm25(connection: Connection, table: str, terms: Sequence[Term], scope: Scope) -> list[tuple[int, float]]:
    """Return the number and BM25 score of each record in a scope that contains any of the terms, as FTS5 does."""
    statistics = read_statistics(connection, table)
    scores: dict[int, float] = defaultdict(float)
    term_postings = [to_postings(part) for part in _find_terms(connection, table, terms)]
    seqs = np.unique(np.concatenate([np.zeros(0, np.int64), *(postings.seqs for postings in term_postings)]))
    seqs = np.setdiff1d(seqs, scope.hidden) if scope.passing is None else np.intersect1d(seqs, scope.passing)
    lengths = dict(zip(seqs.tolist(), read_lengths(connection, table, seqs).tolist(), strict=True))
    for postings in term_postings:
        weight = _inverse_document_frequency(len(postings.seqs), statistics.n_records)
        for seq, frequency in zip(postings.seqs.tolist(), postings.frequencies.tolist(), strict=True):
            if seq in lengths:
                length = lengths[seq] / statistics.mean_length
                scores[seq] += weight * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length))
    return list(scores.items())


def count_records_with(connection: Connection, table: str, terms: Sequence[Term], limit: int) -> dict[Term, int]:
    """Return the number of records that contain each term, counting up to `limit`."""
    single_words = [term for term in terms if not term.is_prefix and is_token(term.text)]
    rows = connection.execute(
        "SELECT term, sum(n) FROM word_postings WHERE key = ? AND term IN (SELECT value FROM json_each(?)) "
        "GROUP BY term",
        (_table_key(table), TextArray({term.text for term in single_words})),
    )
    counts = {word: int(n) for word, n in rows.fetchall()}
    n_by_term = {term: counts.get(term.text, 0) for term in single_words}
    other_terms = [term for term in terms if term not in n_by_term]
    postings = _find_terms(connection, table, other_terms)
    n_by_term |= {term: len(part.seqs) for term, part in zip(other_terms, postings, strict=True)}
    return {term: min(limit, n_by_term[term]) for term in terms}


def read_records_with(connection: Connection, table: str, phrases: Sequence[Term]) -> Seqs:
    """Return the numbers of the records that contain all phrases."""
    seqs_by_phrase = [part.seqs for part in _find_terms(connection, table, phrases)]
    return reduce(np.intersect1d, seqs_by_phrase) if seqs_by_phrase else np.zeros(0, np.int64)


def _find_terms(connection: Connection, table: str, terms: Sequence[Term]) -> list[StoredPostings]:
    """Return the postings of each term: a word, consecutive words, or all words with a prefix."""
    words = {term: tokenize(term.text) for term in terms}
    whole_words = {term: words[term][:-1] if term.is_prefix else words[term] for term in terms}
    needed_words = set(chain.from_iterable(whole_words.values()))
    word_postings = _read_words(connection, table, sorted(needed_words))
    postings = []
    for term in terms:
        parts = [word_postings[word] for word in whole_words[term]]
        if term.is_prefix and words[term]:
            parts.append(merge(list(_read_prefix(connection, table, words[term][-1]))))
        postings.append(find_phrase(parts))
    return postings


def _read_words(connection: Connection, table: str, words: Sequence[str]) -> dict[str, StoredPostings]:
    """Return the postings of each word, keyed by word. Unknown words have empty postings."""
    rows = connection.execute(
        "SELECT term, seqs, often, places FROM word_postings "
        "WHERE key = ? AND term IN (SELECT value FROM json_each(?))",
        (_table_key(table), TextArray(dict.fromkeys(words))),
    )
    parts: dict[str, list[StoredPostings]] = defaultdict(list)
    for term, *packed in rows.fetchall():
        parts[term].append(from_bytes(*packed))
    return {word: merge(parts[word]) for word in words}


def _read_prefix(connection: Connection, table: str, prefix: str) -> Iterator[StoredPostings]:
    """Yield the postings of each row whose word has a prefix."""
    rows = connection.execute(
        "SELECT seqs, often, places FROM word_postings WHERE key = ? AND term >= ? AND term < ?",
        (_table_key(table), prefix, prefix + _END),
    )
    for packed in rows.fetchall():
        yield from_bytes(*packed)


def _inverse_document_frequency(document_frequency: int, n_records: int) -> float:
    """Return the inverse document frequency of a word, as FTS5 computes it."""
    weight = math.log((n_records - document_frequency + 0.5) / (document_frequency + 0.5))
    return weight if weight > 0 else 1e-6


def _pending_words(connection: Connection) -> PendingWords:
    """Return the words that the transaction of a connection has still to write."""
    pending: PendingWords = connection.pending_words  # type: ignore[attr-defined]
    return pending


def _table_key(table: str) -> int:
    """Return the number in the name of a keyword table."""
    return int(table.removeprefix("words_"))
