"""The ledger: every record, its text, its vectors and its history, in one database.

A write is acknowledged when its transaction has committed. Revisions increase with every written row, so a reader can
follow changes after the last revision it has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

from atlas.core.errors import InvalidInput, StoreError
from atlas.core.operations import NO_MARKS, Usage
from atlas.core.types import new_id
from atlas.infra.actor import Role, changes_own_only, check_kind, check_store, has_role, is_under_review
from atlas.protocols.infra import Clock
from atlas.storage.damage import UnreadableRow, parse_row
from atlas.storage.engine import Copies, Progress, SharedState
from atlas.storage.following_index import FollowingIndex
from atlas.storage.records import (
    ChangeId,
    Check,
    Moment,
    OperationDraft,
    Position,
    Record,
    RecordDescription,
    RestoredHistory,
    Seqs,
    VectorChange,
)
from atlas.storage.sql import meta
from atlas.storage.sql.checks import ForeignObjects, build_checks, foreign_problem
from atlas.storage.sql.columns import SqlColumns, check_unique
from atlas.storage.sql.connection import Connection, Database, IntegerArray, Sql, TextArray, clamp_rows
from atlas.storage.sql.copying import begin_copy, copy_ledger, finish_or_clear_copy
from atlas.storage.sql.filters import KEY, read_matching_seqs, where_sql
from atlas.storage.sql.history.history import SqlHistory
from atlas.storage.sql.history.operations import check_records_unchanged, check_unchanged
from atlas.storage.sql.history.purging import SqlPurges
from atlas.storage.sql.marks import SqlMarks, check_may_change, replace_marks
from atlas.storage.sql.meta import IS_PURGED, SqlNotes
from atlas.storage.sql.ordering import read_sorted_seqs, sorted_sql
from atlas.storage.sql.records import (
    COLUMNS_WITHOUT_CONTENT,
    RECORD_COLUMNS,
    LedgerWriter,
    open_writer,
    order_by_seq,
    read_collections,
    read_ids_by_hash,
    read_record,
)
from atlas.storage.sql.review import mark_pending
from atlas.storage.sql.token_vectors import SqlTokenVectors
from atlas.storage.sql.usage import SqlUsage, restore_usage, restore_uses
from atlas.storage.sql.vectors import SqlVectors
from atlas.storage.sql.words.keyword_search import SqlWords


class SqlLedger:
    """The ledger of a store. All methods are synchronous and may be called from any thread and process."""

    def __init__(
        self,
        database: Database,
        copies: Copies,
        make_index: Callable[[str, int], FollowingIndex],
        *,
        clock: Clock,
        find_foreign: ForeignObjects,
        shared: SharedState | None = None,
    ) -> None:
        self.database = database
        self._find_foreign = find_foreign
        self.clock = clock
        self.copies = copies
        self.shared = shared
        self._make_index = make_index
        self.words = SqlWords(database)
        self.columns = SqlColumns(database)
        self.vectors = SqlVectors(database)
        self.token_vectors = SqlTokenVectors(database)
        self.marks = SqlMarks(database, clock)
        self.usage = SqlUsage(database, clock)
        self.history = SqlHistory(database, clock)
        self.purges = SqlPurges(database, clock)
        self.notes = SqlNotes(database)

    def close(self) -> None:
        """Close the connections. The next use opens new ones."""
        self.database.close()

    def after_write(self, listener: Callable[[], None]) -> None:
        """Register a function to call after every write of this process."""
        self.database.on_commit = listener

    @property
    def read_only(self) -> bool:
        """True if the store was opened for reading only, or the current actor is a viewer."""
        return self.database.read_only or not has_role(Role.WRITER)

    @property
    def is_file(self) -> bool:
        """True if the ledger is a file in the store's directory."""
        return self.database.is_file

    def reading(self) -> AbstractContextManager[object]:
        """Return a context manager in which this thread reads one snapshot of the ledger."""
        return self.database.read()

    def identity(self) -> str:
        """Return an identifier of the ledger's files or tables. A copy has another identifier."""
        return self.database.identity()

    def index(self, collection: str, dimension: int) -> FollowingIndex:
        """Return the ledger's own vector index of a collection. The index may lag behind the ledger."""
        return self._make_index(collection, dimension)

    def n_bytes_on_server(self) -> int:
        """Return the ledger's size in bytes on a server's disk. 0 if the ledger is a file."""
        return self.database.n_bytes_on_server()

    def copy_into(self, target: SqlLedger, on_progress: Progress | None = None) -> int:
        """Copy the ledger into an empty one, and return the number of rows.

        An interrupted copy of the same state is resumed.

        Raises:
            InvalidInput: The target is not empty, or a schema has foreign objects.
            StoreError: The copy differs from the original, and was discarded.
        """
        with self.database.read() as source:
            self._refuse_foreign(source)
            with target.database.write() as connection:
                target._refuse_foreign(connection)
                begin_copy(source, connection)
            n_rows = copy_ledger(source, target.database.write, on_progress)
            with target.database.write() as connection:
                differing_table = finish_or_clear_copy(source, connection)
        if differing_table:
            raise StoreError(
                f"the table {differing_table} of the copy differs from the source; the copy was removed. Try again. "
                "If it fails again, run: atlas doctor"
            )
        return n_rows

    def _refuse_foreign(self, connection: Connection) -> None:
        """Raise `InvalidInput` if the schema of a ledger contains objects that ATLAS did not create."""
        if foreign := self._find_foreign(connection):
            raise InvalidInput(f"{foreign_problem(foreign)}. Nothing was copied")

    def checks(self) -> tuple[Check, ...]:
        """Return the checks of the ledger's own tables, in the order in which they run."""
        return build_checks(self.database, self._find_foreign)

    # Reading

    def get(self, collection: str, ids: Sequence[str], *, with_content: bool = True) -> dict[str, Record]:
        """Return the live records among `ids`, keyed by id, with vectors and content only if `with_content`."""
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT r.seq, {RECORD_COLUMNS if with_content else COLUMNS_WITHOUT_CONTENT} FROM records r "
                "WHERE r.collection = ? AND r.deleted = 0 "
                "AND r.id IN (SELECT value FROM json_each(?))",
                (collection, TextArray(ids)),
            ).fetchall()
            vectors = self.vectors.read_windows([row[0] for row in rows]) if with_content else {}
            return {row[1]: read_record(row, vectors.get(row[0])) for row in rows}

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
        """Return live records sorted by a metadata key, or by insertion. Records without the key come last.

        The records have no vectors and no content, so that a large store can be listed.
        """
        if order_by and limit and not where:
            page = self._read_sorted_page(collection, order_by, descending=descending, limit=limit, offset=offset)
            if len(page) == limit:  # else the records without the key come next
                return page
        with self.database.read() as connection:
            query = sorted_sql(
                connection.dialect, collection, where, order_by, descending=descending, limit=limit, offset=offset
            )
            rows = connection.execute(query.text, query.parameters).fetchall()
            return [read_record(row) for row in rows]

    def _read_sorted_page(
        self, collection: str, key: str, *, descending: bool, limit: int, offset: int
    ) -> list[Record]:
        """Return a page of the live records that have a metadata key, sorted by its value."""
        with self.database.read() as connection:
            seqs = read_sorted_seqs(connection, collection, key, descending=descending, limit=limit, offset=offset)
            return order_by_seq(self.read_by_seq(seqs), seqs)

    def count(self, collection: str, where: Mapping[str, Any] | None = None) -> int:
        """Return the number of live records that pass a filter."""
        with self.database.read() as connection:
            condition = where_sql(connection.dialect, collection, where)
            rows = connection.execute(f"SELECT count(*) FROM records r WHERE {condition.text}", condition.parameters)
            return int(rows.fetchone()[0])

    def ids_with_prefix(self, collection: str, prefix: str, *, deleted: bool = False) -> list[str]:
        """Return at most two ids of live records that begin with a prefix, or of deleted records if `deleted`."""
        with self.database.read() as connection:
            condition = f"collection = ? AND deleted = ? AND substr(id, 1, ?) = ? AND NOT {IS_PURGED}"
            parameters = (collection, int(deleted), len(prefix), prefix)
            rows = connection.execute(f"SELECT id FROM records r WHERE {condition} LIMIT 2", parameters).fetchall()
        return [row[0] for row in rows]

    def count_by(self, collection: str, key: str, where: Mapping[str, Any] | None = None) -> dict[Any, int]:
        """Return the number of live records, keyed by the value of a metadata key, most frequent first."""
        join = "JOIN records r ON r.seq = a.seq" if where else ""
        with self.database.read() as connection:
            dialect = connection.dialect
            # Without a filter any attribute counts: only live records have any.
            condition = where_sql(dialect, collection, where) if where else Sql("TRUE", ())
            values = f"SELECT a.* FROM attributes a {join} WHERE a.key = {KEY} AND {condition.text}"
            rows = connection.execute(
                f"SELECT {dialect.value_sql('a')}, count(*) FROM ({values}) a GROUP BY {dialect.group_key_sql('a')} "
                f"ORDER BY count(*) DESC, {dialect.order_sql('a', 'ASC')}",
                (collection, key, *condition.parameters),
            ).fetchall()
        return dict(rows)

    def matching_seqs(self, collection: str, where: Mapping[str, Any] | None = None) -> Seqs:
        """Return the numbers of the live records that pass a filter."""
        with self.database.read() as connection:
            return read_matching_seqs(connection, collection, where)

    def ids_by_hash(self, collection: str, hashes: Sequence[str]) -> dict[str, str]:
        """Return record ids, keyed by content hash. A merged record's hash leads to its replacement."""
        with self.database.read() as connection:
            return read_ids_by_hash(connection, collection, hashes)

    def read_by_seq(self, seqs: Sequence[int]) -> dict[int, Record]:
        """Return the live records with these numbers, keyed by record number, without vectors and content."""
        with self.database.read() as connection:
            rows = connection.execute(
                f"SELECT r.seq, {COLUMNS_WITHOUT_CONTENT} FROM records r WHERE r.deleted = 0 "
                "AND r.seq IN (SELECT value FROM json_each(?))",
                (IntegerArray(seqs),),
            ).fetchall()
            return {row[0]: read_record(row) for row in rows}

    def read_descriptions(self, seqs: Sequence[int]) -> dict[int, RecordDescription]:
        """Return the id and metadata of the live records with these numbers, keyed by record number."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT seq, id, metadata FROM records WHERE deleted = 0 AND seq IN (SELECT value FROM json_each(?))",
                (IntegerArray(seqs),),
            ).fetchall()
            # Parsing all at once takes half the time.
            metadatas = parse_row(f'{{"rows":[{",".join(str(metadata) for *_, metadata in rows)}]}}')["rows"]
            if len(metadatas) != len(rows) or not all(isinstance(metadata, dict) for metadata in metadatas):
                raise UnreadableRow("a row contains no JSON object")
            return {
                seq: RecordDescription(record_id, metadata)
                for (seq, record_id, _), metadata in zip(rows, metadatas, strict=True)
            }

    def revision(self) -> int:
        """Return the latest revision of the store. Each change of a record or its marks increases the revision."""
        with self.database.read() as connection:
            return meta.read_revision(connection)

    def collections(self) -> list[str]:
        """Return the collections that have or had records."""
        with self.database.read() as connection:
            return read_collections(connection)

    def moment(self) -> Moment:
        """Return the current point in the history."""
        with self.database.read() as connection:
            return meta.read_moment(connection)

    def position(self, collection: str) -> Position:
        """Return the latest revision of a collection, with the ledger's id and model. Cheap enough for every query."""
        with self.database.read() as connection:
            return meta.read_position(connection, collection)

    def has_more_than(self, collection: str, n_records: int) -> bool:
        """Return whether a collection has more than `n_records` live records."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT 1 FROM records WHERE collection = ? AND deleted = 0 LIMIT 1 OFFSET ?", (collection, n_records)
            )
            return bool(rows.fetchall())

    def vector_changes(self, collection: str, since: int, limit: int = -1) -> list[VectorChange]:
        """Return the vector changes of a collection after a revision, oldest first. A deletion has no vectors."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT seq, id, revision, n_windows FROM records WHERE collection = ? AND revision > ? "
                "ORDER BY revision LIMIT ?",
                (collection, since, clamp_rows(limit)),
            ).fetchall()
            vectors = self.vectors.read_windows([row[0] for row in rows])
        return [
            VectorChange(seq=seq, id=record_id, revision=revision, n_windows=n_windows, vectors=vectors[seq])
            for seq, record_id, revision, n_windows in rows
        ]

    def changed_ids(self, collection: str, since: int, *, limit: int = -1) -> list[str]:
        """Return the ids of the records that were added, changed or deleted after a revision, oldest change first."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT id FROM records WHERE collection = ? AND revision > ? ORDER BY revision LIMIT ?",
                (collection, since, clamp_rows(limit)),
            ).fetchall()
        return [row[0] for row in rows]

    def n_changed(self, collection: str, since: int) -> int:
        """Return the number of live records added or changed after a revision."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT count(*) FROM records WHERE collection = ? AND revision > ? AND deleted = 0",
                (collection, since),
            ).fetchone()
        return int(row[0])

    def has_change(self, change: ChangeId) -> bool:
        """Return whether the history contains a change. If so, it also contains all earlier changes."""
        with self.database.read() as connection:
            return meta.has_change(connection, change)

    def is_in_history(self, collection: str, position: Position) -> bool:
        """Return whether a collection may once have been at this position, according to the history."""
        with self.database.read() as connection:
            current = meta.read_position(connection, collection)
            is_later = position.revision > current.revision
            return not is_later and not meta.contradicts_position(connection, collection, position)

    # The embedding model of the vectors

    def model(self) -> tuple[str, int] | None:
        """Return the name and dimension of the store's embedding model, or None before it is bound."""
        with self.database.read() as connection:
            return meta.read_model(connection)

    def prompts(self) -> str:
        """Return the embedding model's prompts as text, or an empty string if there are no prompts."""
        with self.database.read() as connection:
            return meta.read_embedding_prompts(connection)

    def bind_model(self, name: str, dimension: int, prompts: str = "") -> None:
        """Bind the store to an embedding model, unless it is bound to one."""
        texts = {"embedding_model": name, "embedding_dimension": dimension, "embedding_prompts": prompts}
        with self.database.write() as connection:
            for key, value in texts.items():
                if value == "":
                    continue
                connection.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING", (key, str(value)))

    # Writing

    def new_operation(self, kind: str, *, actor: str, reason: str = "", undoes: str | None = None) -> OperationDraft:
        """Return a new operation. Its first write adds it to the history."""
        check_kind(kind)
        check_store(self.database.directory)
        return OperationDraft(
            id=new_id(),
            kind=kind,
            actor=actor,
            reason=reason,
            undoes=undoes,
            is_reviewed=is_under_review(),
            changes_own_only=changes_own_only(kind),
        )

    def add(
        self,
        collection: str,
        records: Sequence[Record],
        operation: OperationDraft,
        *,
        model: str,
        skip_known: bool = False,
        restored: Mapping[str, RestoredHistory] = MappingProxyType({}),
        unique_key: str = "",
    ) -> list[str]:
        """Write new records, and return their ids.

        Args:
            model: The model that made the vectors.
            skip_known: Leave out records whose id is live, or whose content hash belongs to a record of another
                operation, or to a record merged into it.
            restored: Marks and usage to write with the records, keyed by id. Existing usage is kept.
            unique_key: A metadata key whose values must be unique among the new and all other records.

        Raises:
            InvalidInput: An id exists or is repeated, and `skip_known` is False.
            EmbeddingModelMismatch: The store has vectors of another model.
            PlanOutdated: Another record has the same value of `unique_key`; the store was not changed.
        """
        with open_writer(self.database, self.clock, operation) as writer:
            writer.check_vectors(records, model)
            writer.load_rows(collection, [record.id for record in records])
            duplicate_ids = writer.duplicate_ids(collection, records) if skip_known else set()
            added_ids = []
            for record in records:
                if record.id in duplicate_ids or (skip_known and writer.exists(collection, record.id)):
                    continue
                if writer.exists(collection, record.id):
                    raise InvalidInput(
                        f"the record {record.id!r} is in {collection!r} already; use update to change it"
                    )
                writer.put("added", collection, record)
                added_ids.append(record.id)
            if unique_key:
                check_unique(writer.connection, collection, unique_key, added_ids)
            if restored:
                added_history = {record_id: restored[record_id] for record_id in added_ids if record_id in restored}
                _restore_marks_and_usage(writer, collection, added_history)
            mark_pending(writer, collection, added_ids)
        return added_ids

    def update(
        self,
        collection: str,
        records: Sequence[Record],
        operation: OperationDraft,
        *,
        model: str,
        unchanged_since: Moment | None = None,
        deleted_ids: Sequence[str] = (),
    ) -> None:
        """Replace live records.

        Args:
            unchanged_since: The call is refused if one of these records has changed since this moment.
            deleted_ids: Further records to delete, if they exist.

        Raises:
            NotFound: A record does not exist.
            PlanOutdated: A record has changed.
            EmbeddingModelMismatch: The store has vectors of another model.
        """
        ids = [*(record.id for record in records), *deleted_ids]
        with open_writer(self.database, self.clock, operation) as writer:
            writer.check_vectors(records, model)
            if unchanged_since is not None:  # before `check_exists`: one deleted since then has changed
                check_records_unchanged(writer.connection, collection, ids, unchanged_since)
            writer.check_exists(collection, [record.id for record in records])
            edited_ids = ids if operation.is_reviewed else [*writer.edited_ids(collection, records), *deleted_ids]
            check_may_change(writer.connection, operation, collection, edited_ids)
            writer.check_not_changed(collection, ids)
            for record in records:
                writer.put("changed", collection, record)
            for record_id in deleted_ids:
                if writer.exists(collection, record_id):
                    writer.remove("removed", collection, record_id)

    def remove(
        self,
        collection: str,
        ids: Sequence[str],
        operation: OperationDraft,
        *,
        unchanged_since: Moment | None = None,
        usage: Mapping[str, Usage] = MappingProxyType({}),
    ) -> int:
        """Delete records, keeping them in the history, and return the number of deleted ones.

        Args:
            unchanged_since: The call is refused if a record that existed at this moment has changed since.
            usage: Expected usage, keyed by record id. The call is refused if a record's usage differs.

        Raises:
            PlanOutdated: A record has changed or was used; the store was not changed.
        """
        with open_writer(self.database, self.clock, operation) as writer:
            if unchanged_since is not None:
                check_unchanged(writer.connection, collection, unchanged_since)
            self.usage.check_unused(collection, usage)
            live_ids = [record_id for record_id in dict.fromkeys(ids) if writer.exists(collection, record_id)]
            check_may_change(writer.connection, operation, collection, live_ids)
            writer.check_not_changed(collection, live_ids)
            for record_id in live_ids:
                writer.remove("removed", collection, record_id)
        return len(live_ids)


def _restore_marks_and_usage(writer: LedgerWriter, collection: str, restored: Mapping[str, RestoredHistory]) -> None:
    """Write the imported marks, usage counts and uses of new records, keyed by id."""
    marks = {record_id: history.marks for record_id, history in restored.items() if history.marks != NO_MARKS}
    replace_marks(writer, collection, marks)
    restore_usage(writer.connection, collection, {record_id: history.usage for record_id, history in restored.items()})
    restore_uses(writer.connection, collection, {record_id: history.uses for record_id, history in restored.items()})
