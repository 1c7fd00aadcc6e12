"""Records of the ledger, one row per record, written with before-images.

Every writing transaction belongs to an operation. The first change creates the operation's row and later ones add to
it, so that an import of many batches is one operation, and batches committed before a crash can still be undone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import NotFound, RecordChanged
from atlas.core.json_values import to_text
from atlas.core.types import Vectors
from atlas.infra.actor import actor_name
from atlas.protocols.infra import Clock
from atlas.storage.damage import UnreadableRow, parse_row
from atlas.storage.records import OperationDraft, Record, model_mismatch
from atlas.storage.sql.connection import Connection, Database, TextArray
from atlas.storage.sql.filters import to_bindable
from atlas.storage.sql.meta import (
    check_not_purged,
    read_model,
    read_moment,
    read_purged_ids,
    read_revision,
    write_revision,
)
from atlas.storage.sql.token_vectors import text_hash, write_tokens

FLOAT = np.dtype("<f4")

COUNTS = ("added", "changed", "removed", "marked")
"""The totals of an operation."""

RECORD = "record"
MARKS = "marks"
"""The aspects of a record. Each change affects one aspect."""


@dataclass(frozen=True, slots=True)
class BeforeImage:
    """A record, or its marks, as it was before a change."""

    before: str | None
    """JSON, or None if the record did not exist."""

    vectors: bytes = b""
    """The record's vectors, one after another."""


class LedgerWriter:
    """Writer of records and of their before-images, in one transaction and for one operation."""

    def __init__(self, connection: Connection, operation: OperationDraft, written_at: datetime) -> None:
        self.connection = connection
        self.operation = operation
        self._written_at = written_at.isoformat()
        self._counts = dict.fromkeys(COUNTS, 0)
        self.revision = read_revision(connection)
        """The revision of the last write."""

        self._keys: dict[tuple[str, str], int] = {}
        self._rows: dict[tuple[str, str], _Row | None] = {}
        """Cached rows by collection and id. None for missing rows."""

        self._last_seq: int | None = None
        """Number of the newest record. Valid in a write transaction, which excludes other writers."""

    def check_vectors(self, records: Sequence[Record], model: str) -> None:
        """Raise `EmbeddingModelMismatch` for vectors of another model."""
        bound = read_model(self.connection)
        for record in records:
            if bound is not None and record.vectors is not None and (model, record.vectors.shape[1]) != bound:
                raise model_mismatch(bound, (model, record.vectors.shape[1]))

    def check_exists(self, collection: str, ids: Collection[str]) -> None:
        """Raise `NotFound` unless all records exist."""
        self.load_rows(collection, list(ids))
        for record_id in ids:
            if not self.exists(collection, record_id):
                raise NotFound(f"there is no record {record_id!r} in {collection!r}; it may have been deleted")

    def check_not_changed(self, collection: str, ids: Collection[str]) -> None:
        """Raise `RecordChanged` if a record or its marks changed since the moment that the operation expects.

        Earlier writes of the same operation do not count.
        """
        for record_id, moment in self.operation.unchanged_since.items():
            if record_id not in ids:
                continue
            row = self.connection.execute(
                "SELECT 1 FROM changes WHERE collection = ? AND record_id = ? AND seq > ? AND operation <> ? LIMIT 1",
                (collection, record_id, moment.change, self.operation.id),
            ).fetchone()
            if row or read_moment(self.connection).ledger_id != moment.ledger_id:
                raise RecordChanged(
                    f"the record {record_id!r} has changed since it was read; nothing was done. Read it again, and "
                    "repeat the edit"
                )

    def exists(self, collection: str, record_id: str) -> bool:
        """Return whether a live record has this id."""
        row = self._get_row(collection, record_id)
        return row is not None and not row.deleted

    def edited_ids(self, collection: str, records: Sequence[Record]) -> list[str]:
        """Return the ids of records whose metadata or content differs from that of the stored record.

        The indexed text is not compared, because that of a journal entry changes with the entries before it.
        """
        rows = self.connection.execute(
            "SELECT id, metadata, content FROM records WHERE collection = ? AND id IN (SELECT value FROM json_each(?))",
            (collection, TextArray([record.id for record in records])),
        )
        stored_texts = {record_id: texts for record_id, *texts in rows.fetchall()}
        new_texts = {record.id: [to_text(record.metadata), record.content] for record in records}
        return [record_id for record_id, texts in new_texts.items() if stored_texts.get(record_id) != texts]

    def duplicate_ids(self, collection: str, records: Sequence[Record]) -> set[str]:
        """Return the ids of records that were purged, or whose content another operation has stored.

        Attempts that were merged into a stored record count as stored. Pending records of other actors do not.
        """
        purged = read_purged_ids(self.connection, collection, [record.id for record in records])
        rows = self.connection.execute(
            f"SELECT s.content_hash FROM ({_HASHES_SQL}) s JOIN records r ON r.seq = s.seq WHERE NOT EXISTS "
            "(SELECT 1 FROM changes c WHERE c.collection = r.collection AND c.record_id = r.id AND c.operation = ?4)",
            (
                collection,
                TextArray({record.content_hash for record in records if record.content_hash}),
                actor_name(""),
                self.operation.id,
            ),
        )
        hashes = {row[0] for row in rows.fetchall()}
        return purged | {record.id for record in records if record.content_hash in hashes}

    def put(self, counter: str, collection: str, record: Record, *, state: int | None = None) -> None:
        """Write a record, replacing the row with its id, if any: a tombstone or an older version.

        Args:
            counter: The count of the operation to increase: `added` or `changed`.
            state: Number of the earlier state that an undo restores, or None for a new state.

        Raises:
            InvalidInput: A record with this id was purged.
        """
        assert record.vectors is not None
        row = self._get_row(collection, record.id)
        if row and row.deleted:
            check_not_purged(self.connection, collection, record.id)
        image = self._read_image(row.seq) if row and not row.deleted else BeforeImage(None)
        self.add_change(counter, RECORD, collection, record.id, image, is_new=row is None, state_after=state)
        seq = self._write_row(collection, row, record)
        write_vectors(self.connection, seq, record.vectors)
        if record.tokens is not None:
            write_tokens(self.connection, record.document, record.tokens)
        self.connection.dialect.put_attributes(
            self.connection,
            [(self._get_key(collection, name), value, seq) for name, value in attribute_values(record.metadata)],
        )

    def remove(
        self,
        counter: str,
        collection: str,
        record_id: str,
        *,
        state: int | None = None,
        image: BeforeImage | None = None,
    ) -> None:
        """Replace a record by a tombstone.

        Args:
            counter: The count of the operation to increase, such as `removed`.
            state: Number of the earlier state that an undo restores, or None for a new state.
            image: The state to keep in the history. By default the record as it was.
        """
        row = self._get_row(collection, record_id)
        assert row is not None
        self.add_change(counter, RECORD, collection, record_id, image or self._read_image(row.seq), state_after=state)
        self._make_tombstone(row.seq)
        self._rows.pop((collection, record_id))

    def add_change(
        self,
        counter: str,
        aspect: str,
        collection: str,
        record_id: str,
        image: BeforeImage,
        *,
        is_new: bool = False,
        state_after: int | None = None,
    ) -> None:
        """Add a before-image to the history, and count it.

        Args:
            counter: The count of the operation to increase, one of `COUNTS`.
            is_new: True if the record never existed, so that no earlier state is looked up.
            state_after: Number of the earlier state that an undo restores, or None for a new state.
        """
        if not any(self._counts.values()):
            self._create_operation()
        self._counts[counter] += 1
        state_before = 0 if is_new else current_state(self.connection, collection, record_id, aspect)
        self.connection.executemany(  # buffered with other rows in PostgreSQL
            "INSERT INTO changes "
            "(operation, aspect, collection, record_id, state_before, state_after, before, vectors) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    self.operation.id,
                    aspect,
                    collection,
                    record_id,
                    state_before,
                    state_after,
                    image.before,
                    image.vectors,
                )
            ],
        )

    def next_revision(self) -> int:
        """Increase the revision for the next write, and return it."""
        self.revision += 1
        return self.revision

    def close(self) -> None:
        """Write the operation's counts and the store's new revision."""
        totals = ", ".join(f"{count} = {count} + ?" for count in COUNTS)
        self.connection.execute(
            f"UPDATE operations SET {totals} WHERE id = ?", (*self._counts.values(), self.operation.id)
        )
        write_revision(self.connection, self.revision)

    def _create_operation(self) -> None:
        """Create the operation with its first change, so that an operation without changes leaves no trace."""
        operation = self.operation
        self.connection.execute(
            "INSERT INTO operations (id, kind, actor, created_at, reason, undoes) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO NOTHING",
            (operation.id, operation.kind, operation.actor, self._written_at, operation.reason, operation.undoes),
        )

    def load_rows(self, collection: str, ids: Sequence[str]) -> None:
        """Load the rows of records into the cache."""
        rows = self.connection.execute(
            "SELECT id, seq, deleted, n_windows, stored_at FROM records WHERE collection = ? "
            "AND id IN (SELECT value FROM json_each(?))",
            (collection, TextArray(ids)),
        )
        rows_by_id = {record_id: _Row(*row) for record_id, *row in rows.fetchall()}
        self._rows |= {(collection, record_id): rows_by_id.get(record_id) for record_id in ids}

    def _get_row(self, collection: str, record_id: str) -> _Row | None:
        if (collection, record_id) not in self._rows:
            self.load_rows(collection, [record_id])
        return self._rows[collection, record_id]

    def _next_seq(self) -> int:
        """Return the number for a new record."""
        if self._last_seq is None:
            self._last_seq = int(self.connection.execute("SELECT coalesce(max(seq), 0) FROM records").fetchone()[0])
        self._last_seq += 1
        return self._last_seq

    def _write_row(self, collection: str, row: _Row | None, record: Record) -> int:
        """Insert or replace the row and the words of a record, and return the record's number."""
        assert record.vectors is not None
        n_windows = max(row.n_windows if row else 0, len(record.vectors))
        stored_at = record.stored_at or (row.stored_at if row and not row.deleted else self._written_at)
        columns = (
            self.next_revision(),
            n_windows,
            record.content_hash,
            text_hash(record.document),
            stored_at,
            to_text(record.metadata),
            record.document,
            record.search_text,
            record.content,
        )
        words = self.connection.dialect.words
        words.make_word_table(self.connection, collection)
        if row:
            seq = row.seq
            self._delete_derived_rows(seq)
            self.connection.execute(
                "UPDATE records SET deleted = 0, revision = ?, n_windows = ?, content_hash = ?, text_hash = ?, "
                "stored_at = ?, metadata = ?, document = ?, search_text = ?, content = ? WHERE seq = ?",
                (*columns, seq),
            )
        else:
            seq = self._next_seq()
            self.connection.executemany(  # buffered with other rows in PostgreSQL
                "INSERT INTO records (seq, collection, id, revision, n_windows, content_hash, text_hash, stored_at, "
                "metadata, document, search_text, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(seq, collection, record.id, *columns)],
            )
        words.put_words(self.connection, collection, seq, record.document, record.search_text)
        self._rows[collection, record.id] = _Row(seq, 0, n_windows, stored_at)
        return seq

    def _make_tombstone(self, seq: int) -> None:
        """Delete the content of a record, and keep its row, so that followers see the deletion."""
        self._delete_derived_rows(seq)
        self.connection.execute(
            "UPDATE records SET revision = ?, deleted = 1, content_hash = '', text_hash = ?, metadata = '{}', "
            "document = '', search_text = '', content = '' WHERE seq = ?",
            (self.next_revision(), b"", seq),
        )

    def _delete_derived_rows(self, seq: int) -> None:
        """Delete the words, vectors and attributes of a record."""
        self.connection.dialect.words.drop_words(self.connection, seq)
        self.connection.execute("DELETE FROM vectors WHERE seq = ?", (seq,))
        self.connection.execute("DELETE FROM attributes WHERE seq = ?", (seq,))

    def _read_image(self, seq: int) -> BeforeImage:
        """Return a record as it is now, to keep in the history."""
        names = ("stored_at", "content_hash", "metadata", "document", "search_text", "content")
        row = self.connection.execute(f"SELECT {', '.join(names)} FROM records WHERE seq = ?", (seq,)).fetchone()
        vectors = read_vectors(self.connection, seq)
        fields = dict(zip(names, row, strict=True)) | {"n_vectors": len(vectors)}
        return BeforeImage(json.dumps(fields, ensure_ascii=False), vectors.tobytes())

    def _get_key(self, collection: str, name: str) -> int:
        """Return the number of a metadata key, which is inserted if it is new."""
        if (collection, name) not in self._keys:
            self.connection.execute(
                "INSERT INTO attribute_keys (collection, name) VALUES (?, ?) ON CONFLICT DO NOTHING", (collection, name)
            )
            row = self.connection.execute(
                "SELECT key FROM attribute_keys WHERE collection = ? AND name = ?", (collection, name)
            ).fetchone()
            self._keys[collection, name] = row[0]
        return self._keys[collection, name]


@contextmanager
def open_writer(database: Database, clock: Clock, operation: OperationDraft) -> Iterator[LedgerWriter]:
    """Yield a writer in a transaction, which is committed at the block's end, or rolled back on any error."""
    with database.write() as connection:
        writer = LedgerWriter(connection, operation, clock.now())
        yield writer
        writer.close()


@dataclass(frozen=True, slots=True)
class _Row:
    seq: int
    deleted: int
    n_windows: int
    stored_at: str


LAST_CHANGE_SQL = "FROM changes WHERE collection = ? AND record_id = ? AND aspect = ? ORDER BY seq DESC LIMIT 1"


def current_state(connection: Connection, collection: str, record_id: str, aspect: str) -> int:
    """Return the number of the change that led to a record's current state. 0 before the first change."""
    row = connection.execute(
        f"SELECT coalesce(state_after, seq) {LAST_CHANGE_SQL}",
        (collection, record_id, aspect),
    ).fetchone()
    return int(row[0]) if row else 0


def record_from_image(record_id: str, image: Mapping[str, Any], vectors: bytes) -> Record:
    """Return the record in a before-image."""
    try:
        return Record(
            id=record_id,
            metadata=parse_row(image["metadata"]),
            document=image["document"],
            search_text=image["search_text"],
            content=image["content"],
            content_hash=image["content_hash"],
            stored_at=image["stored_at"],
            vectors=np.frombuffer(vectors, FLOAT).reshape(image["n_vectors"], -1) if vectors else _no_vectors(),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableRow(f"a state of {record_id!r} in the history is incomplete: {error}") from error


COLUMNS_WITHOUT_CONTENT = "r.id, r.metadata, r.document, '', '', r.content_hash, r.stored_at"
RECORD_COLUMNS = "r.id, r.metadata, r.document, r.search_text, r.content, r.content_hash, r.stored_at"


def read_record(row: tuple[Any, ...], vectors: Vectors | None = None) -> Record:
    """Return the record in a row of `seq` and `RECORD_COLUMNS`, with its vectors if they were read."""
    _, record_id, metadata, document, search_text, content, content_hash, stored_at = row
    return Record(
        id=record_id,
        metadata=parse_row(metadata),
        document=document,
        search_text=search_text,
        content=content,
        content_hash=content_hash,
        stored_at=stored_at,
        vectors=vectors,
    )


def order_by_seq(records: Mapping[int, Record], seqs: Sequence[int]) -> list[Record]:
    """Return the records in the order of `seqs`, or raise `UnreadableRow` if one is missing."""
    if missing := set(seqs) - records.keys():
        raise UnreadableRow(f"an index refers to record number {min(missing)}, which does not exist")
    return [records[seq] for seq in seqs]


_HASHES_SQL = (
    "SELECT content_hash, seq FROM records r WHERE collection = ?1 AND deleted = 0 "
    "AND content_hash IN (SELECT value FROM json_each(?2)) "
    "AND NOT EXISTS (SELECT 1 FROM marks WHERE collection = ?1 AND record_id = r.id AND name = 'held_for' "
    "AND value <> ?3) "
    "UNION ALL SELECT value, seq FROM attributes WHERE key = "
    "(SELECT key FROM attribute_keys WHERE collection = ?1 AND name = 'merged_hashes') "
    "AND value IN (SELECT value FROM json_each(?2))"
)
"""Query for content hashes, each with the live record that has it, or that replaces a merged record with it.

Pending records of others are excluded. Parameters: collection, hashes as JSON, name of the actor.
"""


def read_ids_by_hash(connection: Connection, collection: str, hashes: Sequence[str]) -> dict[str, str]:
    """Return record ids, keyed by content hash. A merged record's hash leads to its replacement."""
    rows = connection.execute(
        f"SELECT hashes.content_hash, records.id FROM ({_HASHES_SQL}) AS hashes JOIN records USING (seq)",
        (collection, TextArray(hashes), actor_name("")),
    )
    return dict(rows.fetchall())


def read_authors(connection: Connection, collection: str, ids: Sequence[str]) -> dict[str, str]:
    """Return the actor who stored each record, keyed by record id. Restoring does not count as storing."""
    rows = connection.execute(
        "SELECT c.record_id, o.actor FROM changes c JOIN operations o ON o.id = c.operation "
        "WHERE c.collection = ? AND c.aspect = ? AND c.before IS NULL AND o.kind NOT IN ('restore', 'undo') "
        "AND c.record_id IN (SELECT value FROM json_each(?)) ORDER BY c.seq",
        (collection, RECORD, TextArray(ids)),
    )
    return dict(rows.fetchall())


def read_collections(connection: Connection) -> list[str]:
    """Return the collections that have or had records."""
    rows = connection.execute("SELECT DISTINCT collection FROM records ORDER BY collection").fetchall()
    return [row[0] for row in rows]


def read_vectors(connection: Connection, seq: int) -> Vectors:
    """Return a record's vectors, shape (n_windows, dim)."""
    rows = connection.execute("SELECT vector FROM vectors WHERE seq = ? ORDER BY window", (seq,)).fetchall()
    return join_vectors([row[0] for row in rows])


def write_vectors(connection: Connection, seq: int, vectors: Vectors) -> None:
    """Add a record's vectors to the table, one row for each window."""
    connection.executemany(
        "INSERT INTO vectors VALUES (?, ?, ?)",
        [(seq, window, vector.astype(FLOAT).tobytes()) for window, vector in enumerate(vectors)],
    )


def join_vectors(encoded: Sequence[bytes]) -> Vectors:
    """Return vectors from their stored bytes, as rows of one array."""
    if not encoded:
        return _no_vectors()
    try:
        stacked: npt.NDArray[np.float32] = np.frombuffer(b"".join(encoded), FLOAT).reshape(len(encoded), -1)
    except (TypeError, ValueError) as error:
        raise UnreadableRow(f"vectors differ in length: {error}") from error
    if not np.isfinite(np.einsum("ij,ij->i", stacked, stacked)).all():
        raise UnreadableRow("a vector is not finite")
    return stacked


def _no_vectors() -> Vectors:
    return np.zeros((0, 0), np.float32)


def attribute_values(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each attribute for filters and sorting. A list has several values."""
    for name, value in metadata.items():
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, str | int | float):
                yield name, to_bindable(item)
