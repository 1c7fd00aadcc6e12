"""Which records hold a word, how often, and how long their texts are: read from FTS5's own tables.

FTS5 can say all this by `bm25`, at some 5 µs for each record that holds any word asked for, most of it spent on
records that nobody will see. Its vocabulary gives the occurrences of a word at 1 µs each; lengths are read of those
records alone that may be among the best.

Source:
    https://www.sqlite.org/fts5.html, on `fts5vocab` and, in the appendix, on the tables %_data and %_docsize.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atlas.storage.records import Seqs

FIELD_WEIGHTS = 1.0, 0.5
"""How often a word counts for each time that the document, and the search text, hold it."""

Numbers = npt.NDArray[np.float64]
"""Shape (n,)."""

MAX_OCCURRENCES = 100_000
"""Of one word, to be read one by one; `bm25` takes a tenth of a second for as many."""

_TOKEN = re.compile("[a-z0-9]+")
_AVERAGES = 1
"""The row of %_data that holds the number of records and the tokens of each column."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What a table of words holds in all."""

    n_records: int
    mean_length: float
    """Tokens of a record, of both fields, without weights; 0 where there are no records."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The records that hold a word: one entry each, in the order of their numbers."""

    seqs: Seqs
    often: Numbers
    """How often they hold it, each time by the weight of its field."""


def is_token(word: str) -> bool:
    """Whether SQLite's tokenizer takes it for one word, and leaves it as it is."""
    return _TOKEN.fullmatch(word) is not None


def read_totals(connection: sqlite3.Connection, table: str) -> Totals:
    """How many records a table of words knows, and how long they are."""
    row = connection.execute(f"SELECT block FROM {table}_data WHERE id = ?", (_AVERAGES,)).fetchone()
    n_records, *lengths = _varints(row[0]) if row and row[0] else [0]
    return Totals(n_records, sum(lengths) / n_records if n_records else 0.0)


def read_postings(connection: sqlite3.Connection, table: str, words: Sequence[str]) -> dict[str, Postings]:
    """Who holds each of some words, for which `is_token` must be true; without those that occur too often to be read.

    A word that a few records repeat without end would take as long as one that all of them hold.
    """
    occurrences = f"{table}_occurrences"
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{occurrences} USING fts5vocab(main, {table}, instance)"
    )
    found = {word: _postings(connection, occurrences, word) for word in words}
    return {word: postings for word, postings in found.items() if postings is not None}


def _postings(connection: sqlite3.Connection, occurrences: str, word: str) -> Postings | None:
    # One text instead of a row for each: see `SqliteLedger.matching`.
    row = connection.execute(
        "SELECT count(*), group_concat(place) FROM "
        f"(SELECT 2 * doc + (col = 'search_text') AS place FROM temp.{occurrences} WHERE term = ? LIMIT ?)",
        (word, MAX_OCCURRENCES + 1),
    ).fetchone()
    if row[0] > MAX_OCCURRENCES:
        return None
    found = np.fromstring(row[1] or "", np.int64, sep=",")
    seqs = found >> 1
    starts = np.flatnonzero(np.diff(seqs, prepend=-1))
    if not len(starts):
        return Postings(seqs, np.zeros(0))
    return Postings(seqs[starts], np.add.reduceat(np.array(FIELD_WEIGHTS)[found & 1], starts))


def read_lengths(connection: sqlite3.Connection, table: str, seqs: Seqs) -> Numbers:
    """How many tokens each of these records has, of both fields."""
    rows = connection.execute(
        f"SELECT sz FROM json_each(?) wanted CROSS JOIN {table}_docsize held ON held.id = wanted.value",
        (json.dumps(seqs.tolist()),),
    )
    lengths = np.array([sum(_varints(row[0] or b"")) for row in rows], np.float64)
    if len(lengths) != len(seqs) or not lengths.all():
        raise _damaged(f"{table} lacks the lengths of some texts")
    return lengths


def _damaged(what: str) -> sqlite3.DatabaseError:
    """What SQLite itself raises where a file says two things."""
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _varints(block: bytes) -> list[int]:
    """SQLite's variable-length integers: seven bits a byte, the highest first; no text has so many that nine matter."""
    numbers, number = [], 0
    for byte in block:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    return numbers
