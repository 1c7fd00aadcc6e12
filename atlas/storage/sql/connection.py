"""Protocols of the ledger's database: connections, transactions and SQL dialects.

Every statement is written once, in the common syntax of SQLite and PostgreSQL: `?` for a parameter, a list as the
parameter of `json_each(?)`, `ON CONFLICT` rather than `INSERT OR …`. A `Dialect` provides the differences: storage and
comparison of values that may be strings or numbers, and the keyword index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from atlas.core.filters import Comparison
from atlas.storage.records import Scope, Seqs
from atlas.storage.text.analyzer import Term
from atlas.storage.text.bm25 import Numbers as Lengths
from atlas.storage.text.bm25 import Postings


@dataclass(frozen=True, slots=True)
class Sql:
    """Part of an SQL statement, and its parameters."""

    text: str
    parameters: tuple[Any, ...]


class TextArray(list[str]):
    """A list of texts as one parameter. SQLite gets it as JSON, PostgreSQL as an array."""


class IntegerArray(list[int]):
    """A list of whole numbers as one parameter. SQLite gets it as JSON, PostgreSQL as an array."""


class Rows(Protocol):
    """The rows of a result."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""

    def fetchall(self) -> list[Any]:
        """Return the remaining rows."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the remaining rows."""


class Stream(Protocol):
    """A cursor over a result that may be too large for memory."""

    def fetchmany(self, size: int, /) -> list[Any]:
        """Return the next rows, at most `size`."""

    def close(self) -> None:
        """Close the cursor."""


class Connection(Protocol):
    """A connection to the ledger's database."""

    @property
    def dialect(self) -> Dialect:
        """The SQL dialect of the engine."""

    def execute(self, statement: str, parameters: Sequence[Any] = ..., /) -> Rows:
        """Run a statement."""

    def stream(self, statement: str, /) -> Stream:
        """Run a statement with a cursor that fetches rows in batches."""

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Run a statement for each set of parameters."""


class Database(Protocol):
    """A ledger's database. Safe for many threads and many processes."""

    on_commit: Callable[[], None]
    """A function that is called after every write transaction."""

    @property
    def read_only(self) -> bool:
        """True if the database was opened for reading only."""

    @property
    def is_file(self) -> bool:
        """True if the database is a file in the store's directory, with derived files next to it."""

    @property
    def directory(self) -> Path:
        """The directory of the store."""

    def read(self) -> AbstractContextManager[Connection]:
        """Return a context manager that yields a connection whose statements read one snapshot."""

    def session(self) -> AbstractContextManager[Connection]:
        """Return a context manager that yields this thread's connection in autocommit mode."""

    def write(self) -> AbstractContextManager[Connection]:
        """Return a context manager that yields a connection in a write transaction, rolled back on any error."""

    def close(self) -> None:
        """Close every connection. The next use opens new ones."""

    def rewrite(self) -> None:
        """Rewrite the database without free pages."""

    def truncate_wal(self) -> bool:
        """Truncate the WAL and return True, or return False while a reader needs it. Always True on a server."""

    def n_bytes_on_server(self) -> int:
        """Return the database's size in bytes on a server's disk. 0 if the database is a file."""

    def identity(self) -> str:
        """Return an identifier of the ledger's files or tables. A copy has another identifier."""

    def check(self) -> str:
        """Return the damage found by the database's own integrity check, or an empty string."""


@dataclass(frozen=True, slots=True)
class CollectionStatistics:
    """Number of records in a keyword table, and their mean length."""

    n_records: int
    mean_length: float
    """Mean number of tokens in both fields of a record. 0 without records."""


class KeywordTables(Protocol):
    """The keyword tables of a ledger: one for each collection, with document frequencies of its own."""

    def word_table(self, connection: Connection, collection: str, /) -> str | None:
        """Return the name of a collection's keyword table, or None before its first write."""

    def make_word_table(self, connection: Connection, collection: str, /) -> None:
        """Create and fill the keyword table of a collection, unless it exists."""

    def rebuild_word_table(self, connection: Connection, collection: str, /) -> None:
        """Replace a collection's keyword table with a new one, built from its records."""

    def put_words(self, connection: Connection, collection: str, seq: int, document: str, search_text: str, /) -> None:
        """Add the words of a record, which must not be in the keyword table yet."""

    def drop_words(self, connection: Connection, seq: int, /) -> None:
        """Remove the words of a record, whose row must still contain the indexed texts."""

    def is_fragmented(self, connection: Connection, collection: str, /) -> bool:
        """Return whether a collection's keyword table has too many parts for fast searches."""

    def merge_parts(self, connection: Connection, collection: str, after_word: str, /) -> str | None:
        """Merge parts of the words after `after_word`. Return the last merged word, or None if no words remain."""

    def check_word_table(self, connection: Connection, collection: str, /) -> str:
        """Return how a collection's keyword table differs from its records, or an empty string."""

    def is_token(self, word: str, /) -> bool:
        """Return whether the tokenizer returns a word as one unchanged token."""

    def read_statistics(self, connection: Connection, table: str, /) -> CollectionStatistics:
        """Return the number of records in a keyword table, and their mean length."""

    def read_postings(self, connection: Connection, table: str, words: Sequence[str], /) -> dict[str, Postings]:
        """Return the postings of each word. Words that occur too often are left out."""

    def read_lengths(self, connection: Connection, table: str, seqs: Seqs, /) -> Lengths:
        """Return the number of tokens of each record, in the order of `seqs`."""

    def read_bm25(
        self, connection: Connection, table: str, terms: Sequence[Term], scope: Scope, /
    ) -> list[tuple[int, float]]:
        """Return the number and BM25 score of each record in a scope that contains any of the terms."""

    def count_records_with(
        self, connection: Connection, table: str, terms: Sequence[Term], limit: int, /
    ) -> dict[Term, int]:
        """Return the number of records that contain each term, counting up to `limit`."""

    def read_records_with(self, connection: Connection, table: str, phrases: Sequence[Term], /) -> Seqs:
        """Return the numbers of the records that contain all phrases."""


class Dialect(Protocol):
    """The SQL dialect of an engine. The arguments `a` and `b` are aliases of the table `attributes`."""

    @property
    def words(self) -> KeywordTables:
        """The engine's keyword tables."""

    def advance_sequences(self, connection: Connection) -> None:
        """Advance the sequences of ids past the copied rows."""

    def value_sql(self, a: str) -> str:
        """Return the SQL expression of a value. Rows contain it as a string, an integer or a float."""

    def text_sql(self, a: str) -> str:
        """Return the SQL expression of a string value."""

    def group_key_sql(self, a: str) -> str:
        """Return the SQL expression to group values by."""

    def order_sql(self, a: str, direction: str) -> str:
        """Return the SQL expression to order by, `ASC` or `DESC`. Numbers come before texts."""

    def less_sql(self, a: str, b: str) -> str:
        """Return the SQL condition that one value sorts before another."""

    def equals_sql(self, a: str, b: str) -> str:
        """Return the SQL condition that two values are equal."""

    def comparison_sql(self, comparison: Comparison) -> Sql:
        """Return the SQL condition that a value passes a comparison. Values of other types do not pass."""

    def put_attributes(self, connection: Connection, rows: Iterable[tuple[int, Any, int]]) -> None:
        """Insert attributes, given as (key, value, record number). Existing attributes stay."""

    def delete_results(self, connection: Connection) -> None:
        """Delete the published results of jobs, which may contain purged texts."""

    def read_values(self, connection: Connection, condition: Sql) -> list[tuple[int, Any]]:
        """Return (record number, value) pairs of the rows of `attributes AS a` that match a condition."""


def clamp_rows(n_rows: int | None) -> int:
    """Return a number of rows within the range of the database's integers. None or a negative number means all rows."""
    return 2**63 - 1 if n_rows is None or n_rows < 0 else min(n_rows, 2**63 - 1)
