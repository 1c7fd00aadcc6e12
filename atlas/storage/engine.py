"""The protocol of a ledger engine, the source of truth of a store.

The protocol uses the values of `atlas.storage.records`, never a database's own types. `atlas/storage/sqlite/` and
`atlas/storage/postgres/` implement it. Every method may be called from any thread and process. Each write is one
transaction, and is durable when it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from atlas.core.operations import Marks, Usage, Use
from atlas.core.types import Vector, Vectors
from atlas.embedding.chunking import EncodedText
from atlas.protocols.infra import Clock, Where
from atlas.storage.following_index import FollowingIndex
from atlas.storage.history import History, Purges, Reword
from atlas.storage.records import (
    ChangeId,
    Check,
    CopyContents,
    Matches,
    Moment,
    OperationDraft,
    Position,
    Record,
    RecordDescription,
    RestoredHistory,
    Scope,
    Seqs,
    VectorChange,
)

Progress = Callable[[int, int], None]
"""Callback with the number of completed items and the total number."""


class KeywordSearch(Protocol):
    """Keyword search over the records of every collection."""

    def find(
        self,
        collection: str,
        text: str,
        scope: Scope,
        n: int,
        extra_seqs: Sequence[int] = (),
        *,
        as_typed: bool = False,
    ) -> Matches:
        """Return the keyword scores of the n best records, and of the records with the numbers `extra_seqs`."""

    def merge_parts(self, collections: Sequence[str]) -> None:
        """Merge the parts of keyword tables that small writes have added, to speed up searches."""


class Columns(Protocol):
    """Bulk reads of one value of each of many records, without reading whole records."""

    def ids(self, collection: str, where: Where | None = None) -> list[str]:
        """Return the ids of the live records that pass a filter, in the order of insertion."""

    def column(self, collection: str, key: str, where: Where | None = None) -> dict[str, Any]:
        """Return the values of a metadata key, `stored_at` or `usage.…`, keyed by record id, without missing values."""

    def keys(self, collection: str) -> set[str]:
        """Return the metadata keys of live records."""

    def predecessors(self, collection: str, seqs: Sequence[int], group_key: str, n_each: int) -> dict[int, list[int]]:
        """Return the records before each record that have the same value of a metadata key, nearest first.

        At most `n_each` are returned for a record, keyed by its number.
        """

    def titles(self, collection: str, ids: Sequence[str]) -> dict[str, str]:
        """Return the titles of live records, keyed by id."""

    def counts_by_day(self, collection: str, where: Where | None = None) -> dict[str, dict[str, int]]:
        """Return the number of records by UTC day and outcome, such as `{"2026-05-01": {"succeeded": 3}}`."""

    def beginnings(self, collection: str, seqs: Seqs, n_characters: int) -> list[tuple[str, str, str]]:
        """Return the id, the title and the first `n_characters` of the document of each live record in `seqs`."""


class MarkTables(Protocol):
    """The marks of records."""

    def read(self, collection: str, ids: Sequence[str] | None = None) -> dict[str, Marks]:
        """Return the marks of these records, or of all records, keyed by id. Unmarked records are absent."""

    def column(self, collection: str, name: str) -> dict[str, Any]:
        """Return one mark of every record that has it, keyed by id: a tuple of tags, a boolean or a string."""

    def hidden_seqs(self, collection: str, reader: str, *, only_quarantined: bool) -> Seqs:
        """Return the sorted numbers of the live records that a search leaves out.

        Args:
            reader: Name of the actor who searches. Its own pending records are not left out.
            only_quarantined: Whether to leave out only records in quarantine, and not buried or pending ones.
        """

    def write(self, collection: str, marks: Mapping[str, Marks], operation: OperationDraft) -> None:
        """Set the marks of records, or raise `NotFound` if a record does not exist."""

    def change(
        self,
        collection: str,
        ids: Sequence[str],
        change: Callable[[Marks], Marks],
        operation: OperationDraft,
    ) -> int:
        """Apply a function to the marks of records, and return the number of changed records."""

    def quarantine(self, collection: str, reasons: Mapping[str, str], operation: OperationDraft) -> int:
        """Set each record's quarantine reason ('' ends the quarantine), and return the number of changed records."""

    def orphaned_marks(self) -> list[tuple[str, str]]:
        """Return the collection and id of each record that has marks, but was never in the ledger."""

    def drop_orphaned_marks(self, operation: OperationDraft) -> None:
        """Remove the marks that `orphaned_marks` lists, as part of an operation."""

    def ids_with_lost_marks(self) -> list[str]:
        """Return the ids of live records whose marks were lost with a file, and have not been set since."""

    def change_token(self) -> str:
        """Return a string that changes with every change of records, marks or uses."""


class UsageTables(Protocol):
    """The uses of records, and how often searches returned them."""

    def read(self, collection: str, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of each used record, including that of records merged into it, keyed by id."""

    def uses(self, collection: str, ids: Sequence[str]) -> dict[str, list[Use]]:
        """Return the uses of each record and of the records merged into it, oldest first, keyed by id."""

    def records_by_attempt(self, attempt_ids: Sequence[str] | None = None) -> dict[str, list[tuple[str, str]]]:
        """Return the (collection, record id) pairs of the records that each attempt used, keyed by attempt id.

        Args:
            attempt_ids: Attempts to look for, or None for all.
        """

    def record(
        self,
        collection: str,
        record_id: str,
        success: bool,
        *,
        task_id: str,
        actor: str,
        trajectory_id: str = "",
        operation_id: str = "",
        is_waiting: bool = False,
    ) -> None:
        """Add one use and its outcome, durably. A second use by the same attempt is ignored."""

    def retrieved_since(self, collection: str, since: str) -> dict[str, str]:
        """Return the last retrieval time of each record that was retrieved after `since`, keyed by id.

        The query is cheap enough to poll. Merged records are not combined.

        Args:
            collection: Name of the collection of the records.
            since: UTC in ISO 8601, empty for all retrievals.
        """

    def record_retrievals(self, retrievals: Mapping[str, Mapping[str, int]]) -> None:
        """Increase the retrieval counts of records, given by collection and record id."""


class VectorTable(Protocol):
    """The vectors of the records of every collection."""

    def read_by_seq(self, seqs: Seqs) -> tuple[Seqs, Vectors]:
        """Return two arrays with one row for each window of these records: record numbers and vectors."""

    def read_by_text(self, documents: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of the texts that live records contain, keyed by text, each of shape (n_windows, dim)."""

    def first_vectors(self, collection: str, ids: Sequence[str]) -> dict[str, Vector]:
        """Return each record's vector for its whole text (window 0), keyed by id."""

    def count(self, collection: str) -> int:
        """Return the number of vectors in a collection."""

    def has_more_than(self, collection: str, n_vectors: int) -> bool:
        """Return whether the live records of a collection have more than `n_vectors` vectors."""

    def texts(self) -> list[str]:
        """Return the distinct embedded texts of all records and of their earlier versions."""

    def replace(
        self,
        vectors: Mapping[str, EncodedText],
        embed: Callable[[Sequence[str]], Mapping[str, EncodedText]],
        *,
        model: str,
        dimension: int,
        prompts: str = "",
        projection: str = "",
    ) -> int:
        """Replace all vectors with another model's, bind the store to that model, and return the number of texts."""


class TokenVectorTable(Protocol):
    """The packed token vectors of texts."""

    def read_by_seq(self, seqs: Sequence[int]) -> dict[int, bytes]:
        """Return the packed token vectors of the records that have any, keyed by record number."""

    def clear(self) -> None:
        """Delete all token vectors and the projection that packs them."""

    def count_missing(self) -> int:
        """Return the number of distinct texts of live records without token vectors."""


class Copies(Protocol):
    """Backup and restoration of a ledger."""

    def write(self, target: Path) -> int:
        """Write a consistent copy of the ledger, and return its number of records."""

    def leave_out_hidden(self, copy: Path, operation: OperationDraft, reword: Reword | None) -> int:
        """Remove deleted, pending and quarantined records from a copy, and return their number.

        Args:
            operation: The purge that the copy's history shows.
            reword: Rewrites the reasons of operations that quote a removed record.
        """

    def check(self, copy: Path, source: Path, marks: Mapping[str, Mapping[str, Marks]] | None) -> None:
        """Validate a copy of the ledger, and migrate it if its schema is older."""

    def contents(self, copy: Path) -> CopyContents:
        """Return the record counts and the embedding model of a copy."""

    def find_purged(self, copy: Path) -> tuple[str, ...]:
        """Return the ids of purged records that a copy still contains, live or in its history."""

    def restore(self, copy: Path) -> None:
        """Replace the ledger by a copy, in one transaction."""


DOMAIN_NAMES, DOMAIN_NAMES_STATE = "domain_names", "domains_named"
"""Notes of a database ledger: the names of domains, and a random string that each change of the names replaces.

A directory store has a file of names instead, so copying a store copies the names separately.
"""


class Notes(Protocol):
    """Small named texts in the ledger."""

    def read(self, prefix: str) -> dict[str, str]:
        """Return the notes whose names begin with a prefix, keyed by the rest of the name, sorted."""

    def write(
        self,
        texts: Mapping[str, str | None],
        *,
        expected: Mapping[str, str | None] | None = None,
        records: Sequence[tuple[str, str]] = (),
        increases_revision: bool = False,
    ) -> dict[str, str | None]:
        """Write notes and return their earlier texts. A text of None deletes a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A published result of a job, shared by all servers of a store."""

    version: int
    """Increasing version: the time of publication, in nanoseconds since 1970."""

    job: str
    """Id of the job that made the result, or empty without a job."""

    is_whole: bool
    """False if the content is too large to share. Only the server that made the content then has a copy."""


class SharedState(Protocol):
    """State shared by all servers of a store, besides the records."""

    def locked(self, name: str, on_wait: Callable[[], None] = ...) -> AbstractContextManager[bool]:
        """Return a context manager that locks a name on all machines, and yields whether the caller had to wait."""

    def ledger_id(self) -> str:
        """Return the current id of the ledger."""

    def publication(self, name: str) -> Publication | None:
        """Return the published result without its content, or None if there is none."""

    def content(self, name: str, version: int) -> bytes | None:
        """Return the content of a result, or None if this version was replaced or deleted."""

    def publish(self, name: str, content: bytes, *, job: str, ledger_id: str) -> int:
        """Publish a result, replacing the current one, and return its version."""


class LedgerEngine(Protocol):
    """The source of truth of a store."""

    @property
    def clock(self) -> Clock:
        """The clock for the times of writes."""

    @property
    def read_only(self) -> bool:
        """True if the store was opened for reading only, or the current actor is a viewer."""

    @property
    def is_file(self) -> bool:
        """True if the ledger is a file in the store's directory."""

    @property
    def words(self) -> KeywordSearch:
        """Keyword search over the records."""

    @property
    def columns(self) -> Columns:
        """Bulk reads of one value of each of many records, without reading whole records."""

    @property
    def token_vectors(self) -> TokenVectorTable:
        """The table of the texts' token vectors."""

    @property
    def vectors(self) -> VectorTable:
        """Vectors of records."""

    @property
    def marks(self) -> MarkTables:
        """Marks of records."""

    @property
    def usage(self) -> UsageTables:
        """Uses of records."""

    @property
    def history(self) -> History:
        """The history of operations and their changes."""

    @property
    def purges(self) -> Purges:
        """Purges of records."""

    @property
    def copies(self) -> Copies:
        """Backup and restore."""

    @property
    def notes(self) -> Notes:
        """Small named texts."""

    @property
    def shared(self) -> SharedState | None:
        """State shared across machines, or None if the ledger is a file."""

    def close(self) -> None:
        """Close the connections. The next use opens new ones."""

    def after_write(self, listener: Callable[[], None]) -> None:
        """Register a function to call after every write of this process. It must be fast and must not raise."""

    def reading(self) -> AbstractContextManager[object]:
        """Return a context manager in which this thread reads one snapshot of the ledger."""

    def identity(self) -> str:
        """Return an identifier of the ledger's files or tables. Unlike `ledger_id`, it is different for a copy."""

    def index(self, collection: str, dimension: int) -> FollowingIndex:
        """Return the ledger's own vector index of a collection. The index may lag behind the ledger."""

    def n_bytes_on_server(self) -> int:
        """Return the ledger's size in bytes on a server's disk. 0 if the ledger is a file."""

    def copy_into(self, target: Any, on_progress: Progress | None = None) -> int:
        """Copy the ledger into an empty one, in one transaction, and return the number of rows.

        Args:
            target: A ledger of any engine.

        Raises:
            InvalidInput: The target is not empty.
            StoreError: The copy differs from the original, and was discarded.
        """

    def checks(self) -> tuple[Check, ...]:
        """Return the checks of the ledger's own tables, in the order in which they run."""

    def get(self, collection: str, ids: Sequence[str], *, with_content: bool = True) -> dict[str, Record]:
        """Return the live records among `ids`, keyed by id, with vectors and content only if `with_content`."""

    def scan(
        self,
        collection: str,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Record]:
        """Return live records sorted by a metadata key, or by insertion. Records without the key come last."""

    def count(self, collection: str, where: Where | None = None) -> int:
        """Return the number of live records that pass a filter."""

    def ids_with_prefix(self, collection: str, prefix: str, *, deleted: bool = False) -> list[str]:
        """Return at most two ids of live records that begin with a prefix, or of deleted records if `deleted`."""

    def count_by(self, collection: str, key: str, where: Where | None = None) -> dict[Any, int]:
        """Return the number of live records, keyed by the value of a metadata key, most frequent first."""

    def matching_seqs(self, collection: str, where: Where | None = None) -> Seqs:
        """Return the numbers of the live records that pass a filter."""

    def ids_by_hash(self, collection: str, hashes: Sequence[str]) -> dict[str, str]:
        """Return record ids, keyed by content hash. A merged record's hash leads to its replacement."""

    def read_by_seq(self, seqs: Sequence[int]) -> dict[int, Record]:
        """Return the live records with these numbers, keyed by record number, without vectors and content."""

    def read_descriptions(self, seqs: Sequence[int]) -> dict[int, RecordDescription]:
        """Return the id and metadata of the live records with these numbers, keyed by record number."""

    def revision(self) -> int:
        """Return the latest revision of the store. Each change of a record or its marks increases the revision."""

    def collections(self) -> list[str]:
        """Return the collections that have or had records."""

    def moment(self) -> Moment:
        """Return the current point in the history."""

    def position(self, collection: str) -> Position:
        """Return the latest revision of a collection, with the ledger's id and model. Cheap enough for every query."""

    def has_more_than(self, collection: str, n_records: int) -> bool:
        """Return whether a collection has more than `n_records` live records."""

    def vector_changes(self, collection: str, since: int, limit: int = -1) -> list[VectorChange]:
        """Return the vector changes of a collection after a revision, oldest first. A deletion has no vectors."""

    def changed_ids(self, collection: str, since: int, *, limit: int = -1) -> list[str]:
        """Return the ids of the records that were added, changed or deleted after a revision, oldest change first."""

    def n_changed(self, collection: str, since: int) -> int:
        """Return the number of live records added or changed after a revision."""

    def has_change(self, change: ChangeId) -> bool:
        """Return whether the history contains a change. If so, it also contains all earlier changes."""

    def is_in_history(self, collection: str, position: Position) -> bool:
        """Return whether a collection may once have been at this position, according to the history."""

    def model(self) -> tuple[str, int] | None:
        """Return the name and dimension of the store's embedding model, or None before it is bound."""

    def prompts(self) -> str:
        """Return the embedding model's prompts as text, or an empty string if there are no prompts."""

    def bind_model(self, name: str, dimension: int, prompts: str = "") -> None:
        """Bind the store to an embedding model, unless it is bound to one."""

    def new_operation(self, kind: str, *, actor: str, reason: str = "", undoes: str | None = None) -> OperationDraft:
        """Return a new operation. Its first write adds it to the history."""

    def add(
        self,
        collection: str,
        records: Sequence[Record],
        operation: OperationDraft,
        *,
        model: str,
        skip_known: bool = False,
        restored: Mapping[str, RestoredHistory] = ...,
        unique_key: str = "",
    ) -> list[str]:
        """Write new records, and return their ids."""

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
        """Replace live records."""

    def remove(
        self,
        collection: str,
        ids: Sequence[str],
        operation: OperationDraft,
        *,
        unchanged_since: Moment | None = None,
        usage: Mapping[str, Usage] = ...,
    ) -> int:
        """Delete records, keeping them in the history, and return the number of deleted ones."""
