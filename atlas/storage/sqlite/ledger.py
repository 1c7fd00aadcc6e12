"""The ledger: every record, its text, its vectors and its history, in one SQLite file.

A write is acknowledged when its transaction has committed. Revisions count up with every written row, so whoever
remembers the last one it has seen can ask for what came after.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from atlas.core.errors import InvalidInput, NotFound, ReadOnlyStore
from atlas.core.operations import Operation
from atlas.core.types import Vectors, new_id
from atlas.protocols.infra import Clock
from atlas.storage.records import Entry, Moment, OperationDraft, Position, Record, Seqs
from atlas.storage.sqlite.database import Database
from atlas.storage.sqlite.filters import Sql, matching_sql, where_sql
from atlas.storage.sqlite.history import following
from atlas.storage.sqlite.history import operations as history
from atlas.storage.sqlite.history.tombstones import IS_PURGED
from atlas.storage.sqlite.ordering import ordered_page, sorted_sql
from atlas.storage.sqlite.records import (
    LIGHT_COLUMNS,
    RECORD_COLUMNS,
    LedgerWriter,
    join_vectors,
    numbered,
    read_known_hashes,
    read_model,
    read_record,
    read_revision,
    read_vectors,
    text_hash,
)
from atlas.storage.sqlite.schema import prepare_schema
from atlas.storage.sqlite.words.keyword_search import Words

Also = Callable[[sqlite3.Connection, LedgerWriter, list[str]], None]
"""Writes more of the records with these ids, in the transaction that adds them."""

Check = Callable[[sqlite3.Connection], None]


class SqliteLedger:
    """The truth of a store. All methods are synchronous and may be called from any thread and process."""

    def __init__(
        self, path: Path, *, clock: Clock, read_only: bool = False, busy_timeout_seconds: float = 60.0
    ) -> None:
        if read_only and not path.exists():
            raise ReadOnlyStore(f"there is no ledger at {path}, and a store opened for reading only cannot create one")
        self.database = Database(path, read_only=read_only, busy_timeout_seconds=busy_timeout_seconds)
        self.clock = clock
        self.words = Words(self.database)
        try:
            prepare_schema(self.database)
        except BaseException:
            self.database.close()
            raise

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self.database.close()

    # Reading

    def get(self, collection: str, ids: Sequence[str], *, light: bool = False) -> dict[str, Record]:
        """The live records among `ids`, by id; light ones come without vectors and content."""
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT r.seq, {LIGHT_COLUMNS if light else RECORD_COLUMNS} FROM records r "
                "WHERE r.collection = ? AND r.deleted = 0 "
                "AND r.id IN (SELECT value FROM json_each(?))",
                (collection, json.dumps(list(ids))),
            ).fetchall()
            return {row[1]: read_record(connection, row, with_vectors=not light) for row in rows}

    def scan(
        self,
        collection: str,
        where: Mapping[str, Any] | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Record]:
        """Live records sorted by a metadata key, or as they were added; those without the key come last.

        They come without vectors and content, so that a large store can be looked through.
        """
        if order_by and limit and not where:
            page = self._ordered(collection, order_by, descending=descending, limit=limit, offset=offset)
            if len(page) == limit:  # else the records without the key come next
                return page
        query = sorted_sql(collection, where, order_by, descending=descending, limit=limit, offset=offset)
        with self.database.read() as connection:
            rows = connection.execute(query.text, query.parameters).fetchall()
            return [read_record(connection, row, with_vectors=False) for row in rows]

    def _ordered(self, collection: str, key: str, *, descending: bool, limit: int, offset: int) -> list[Record]:
        with self.database.read() as connection:
            seqs = ordered_page(connection, collection, key, descending=descending, limit=limit, offset=offset)
            return numbered(self.at(seqs), seqs)

    def count(self, collection: str, where: Mapping[str, Any] | None = None) -> int:
        """How many live records pass a filter."""
        condition = where_sql(collection, where)
        with self.database.read() as connection:
            row = connection.execute(f"SELECT count(*) FROM records r WHERE {condition.text}", condition.parameters)
            return int(row.fetchone()[0])

    def ids_beginning(self, collection: str, beginning: str, *, deleted: bool = False) -> list[str]:
        """At most two ids of live records, or of deleted ones that can be brought back, that begin so."""
        with self.database.read() as connection:
            condition = f"collection = ? AND deleted = ? AND substr(id, 1, ?) = ? AND NOT {IS_PURGED}"
            given = (collection, deleted, len(beginning), beginning)
            rows = connection.execute(f"SELECT id FROM records r WHERE {condition} LIMIT 2", given).fetchall()
        return [row[0] for row in rows]

    def count_by(self, collection: str, key: str, where: Mapping[str, Any] | None = None) -> dict[Any, int]:
        """How many live records hold each value of a metadata key, most frequent first."""
        condition = where_sql(collection, where) if where else Sql("1", ())  # only live records have attributes
        join = "JOIN records r ON r.seq = a.seq" if where else ""
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT a.value, count(*) FROM attributes a {join} WHERE a.key = "
                f"(SELECT key FROM attribute_keys WHERE collection = ? AND name = ?) AND {condition.text} "
                "GROUP BY a.value ORDER BY count(*) DESC, a.value",
                (collection, key, *condition.parameters),
            ).fetchall()
        return dict(rows)

    def matching(self, collection: str, where: Mapping[str, Any] | None = None) -> Seqs:
        """The live records that pass a filter, by number."""
        query = matching_sql(collection, where)
        with self.database.read() as connection:
            # One text instead of a row for each: thousands of rows take longer to fetch than to find.
            row = connection.execute(f"SELECT group_concat(seq) FROM ({query.text})", query.parameters).fetchone()
        return np.fromstring(row[0] or "", np.int64, sep=",")

    def known_hashes(self, collection: str, hashes: Sequence[str]) -> dict[str, str]:
        """Those of the content hashes that a live record has, or stands for, each with the id of one."""
        with self.database.read() as connection:
            return read_known_hashes(connection, collection, hashes)

    def at(self, seqs: Sequence[int]) -> dict[int, Record]:
        """The live records of these numbers, by number, without vectors and content."""
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT r.seq, {LIGHT_COLUMNS} FROM records r WHERE r.deleted = 0 "
                "AND r.seq IN (SELECT value FROM json_each(?))",
                (json.dumps(list(seqs)),),
            ).fetchall()
            return {row[0]: read_record(connection, row, with_vectors=False) for row in rows}

    def vectors_at(self, seqs: Seqs) -> tuple[Seqs, Vectors]:
        """The vectors of these records: a row for each window, by record, and the record that each row belongs to."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT seq, vector FROM vectors WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq, window",
                (json.dumps(seqs.tolist()),),
            ).fetchall()
            return np.array([row[0] for row in rows], np.int64), join_vectors([row[1] for row in rows])

    def vectors_of(self, documents: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of those of the texts that some live record holds, each of shape (n_windows, dim)."""
        found: dict[str, Vectors] = {}
        with self.database.read() as connection:
            for document in dict.fromkeys(documents):
                row = connection.execute(
                    "SELECT seq FROM records WHERE text_hash = ? AND deleted = 0 LIMIT 1", (text_hash(document),)
                ).fetchone()
                if row:
                    found[document] = read_vectors(connection, row[0])
        return found

    def revision(self) -> int:
        """The newest revision of the whole store, marks included."""
        with self.database.read() as connection:
            return read_revision(connection)

    def collections(self) -> list[str]:
        """The collections that hold, or held, any record."""
        with self.database.read() as connection:
            rows = connection.execute("SELECT DISTINCT collection FROM records ORDER BY collection").fetchall()
        return [row[0] for row in rows]

    def count_vectors(self, collection: str) -> int:
        """How many vectors the records of a collection have."""
        with self.database.read() as connection:
            return following.count_vectors(connection, collection)

    def position(self, collection: str) -> Position:
        """Where a collection is now: cheap enough to ask before every query."""
        with self.database.read() as connection:
            return following.read_position(connection, collection)

    def holds_more_than(self, collection: str, n_records: int) -> bool:
        """Whether a collection has more live records than this; it counts no further."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT 1 FROM records WHERE collection = ? AND deleted = 0 LIMIT 1 OFFSET ?", (collection, n_records)
            )
            return bool(rows.fetchall())

    def holds_more_vectors_than(self, collection: str, n_vectors: int) -> bool:
        """Whether the live records of a collection have more vectors than this; it counts no further."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT 1 FROM records r JOIN vectors v ON v.seq = r.seq WHERE r.collection = ? AND r.deleted = 0 "
                "LIMIT 1 OFFSET ?",
                (collection, n_vectors),
            )
            return bool(rows.fetchall())

    def follow(self, collection: str, since: int, limit: int = -1) -> list[Entry]:
        """What changed in a collection after a revision, oldest change first; deletions come without vectors."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT seq, id, revision, n_windows FROM records WHERE collection = ? AND revision > ? "
                "ORDER BY revision LIMIT ?",
                (collection, since, limit),
            ).fetchall()
            seqs = np.array([row[0] for row in rows], np.int64)
            owners, vectors = self.vectors_at(seqs)
        starts, ends = np.searchsorted(owners, seqs, "left"), np.searchsorted(owners, seqs, "right")
        return [
            Entry(seq=seq, id=record_id, revision=revision, n_windows=n_windows, vectors=vectors[start:end])
            for (seq, record_id, revision, n_windows), start, end in zip(rows, starts, ends, strict=True)
        ]

    def changed_ids(self, collection: str, since: int, *, limit: int = -1) -> list[str]:
        """The ids of the records that were added, changed or deleted after a revision, oldest change first."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT id FROM records WHERE collection = ? AND revision > ? ORDER BY revision LIMIT ?",
                (collection, since, limit),
            ).fetchall()
        return [row[0] for row in rows]

    def moment(self) -> Moment:
        """This point in the history; give it to `update` as `unchanged_since`."""
        with self.database.read() as connection:
            return history.read_moment(connection)

    def operations(self, limit: int = 50, offset: int = 0) -> list[Operation]:
        """The history, newest first."""
        with self.database.read() as connection:
            return history.read_operations(connection, limit, offset)

    def operation(self, operation_id: str) -> Operation:
        """One operation, by its id or an unambiguous beginning of it; `NotFound` where there is none."""
        with self.database.read() as connection:
            return history.read_operation(connection, operation_id)

    # The embedding model that the vectors were made with

    def model(self) -> tuple[str, int] | None:
        """Name and dimension of the embedding model that the store is bound to; None before it is bound."""
        with self.database.read() as connection:
            return read_model(connection)

    def bind_model(self, name: str, dimension: int) -> None:
        """Bind a store that has no model yet; one that has is left as it is."""
        with self.database.write() as connection:
            for key, value in (("embedding_model", name), ("embedding_dimension", dimension)):
                connection.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING", (key, str(value)))

    # Writing

    def draft(self, kind: str, *, actor: str, reason: str = "", undoes: str | None = None) -> OperationDraft:
        """A new operation; it reaches the history with its first write."""
        return OperationDraft(id=new_id(), kind=kind, actor=actor, reason=reason, undoes=undoes)

    def add(
        self,
        collection: str,
        records: Sequence[Record],
        operation: OperationDraft,
        *,
        model: str,
        skip_known: bool = False,
        also: Also | None = None,
    ) -> list[str]:
        """Write new records; the ids of those that were written.

        Args:
            model: The model that made the vectors.
            skip_known: Leave out records of which a live one has the id, or one that another operation wrote has, or
                stands for, the content hash.
            also: What else to write of them, in the same transaction.

        Raises:
            InvalidInput: A live record has one of the ids, or one id comes twice, and `skip_known` is not set.
            EmbeddingModelMismatch: The store's vectors are of another model.
        """
        with self.database.write() as connection:
            writer = LedgerWriter(connection, operation, self.clock.now())
            writer.check_vectors(records, model)
            added = []
            for record in records:
                if skip_known and writer.holds(collection, record):
                    continue
                if writer.exists(collection, record.id):
                    raise InvalidInput(
                        f"the record {record.id!r} is in {collection!r} already; use update to change it"
                    )
                writer.put("added", collection, record)
                added.append(record.id)
            if also is not None:
                also(connection, writer, added)
            writer.close()
        return added

    def update(
        self,
        collection: str,
        records: Sequence[Record],
        operation: OperationDraft,
        *,
        model: str,
        unchanged_since: Moment | None = None,
        dropped: Sequence[str] = (),
    ) -> None:
        """Replace live records.

        Args:
            unchanged_since: A `moment`; refuse if one of these records has changed since.
            dropped: Records that go besides, where they are there.

        Raises:
            NotFound: One of them is not there.
            PlanOutdated: One of them has changed.
            EmbeddingModelMismatch: The store's vectors are of another model.
        """
        with self.database.write() as connection:
            writer = LedgerWriter(connection, operation, self.clock.now())
            writer.check_vectors(records, model)
            if unchanged_since is not None:
                ids = [*(record.id for record in records), *dropped]
                history.check_records_unchanged(connection, collection, ids, unchanged_since)
            for record in records:
                if not writer.exists(collection, record.id):
                    raise NotFound(f"there is no record {record.id!r} in {collection!r}; it may have been deleted")
                writer.put("changed", collection, record)
            for record_id in dropped:
                if writer.exists(collection, record_id):
                    writer.remove("removed", collection, record_id)
            writer.close()

    def remove(
        self, collection: str, ids: Sequence[str], operation: OperationDraft, *, check: Check | None = None
    ) -> int:
        """Delete records, keeping them in the history; how many there were.

        Args:
            check: Refuses by raising, in the transaction that would delete them.
        """
        with self.database.write() as connection:
            if check is not None:
                check(connection)
            writer = LedgerWriter(connection, operation, self.clock.now())
            present = [record_id for record_id in dict.fromkeys(ids) if writer.exists(collection, record_id)]
            for record_id in present:
                writer.remove("removed", collection, record_id)
            writer.close()
            return len(present)
