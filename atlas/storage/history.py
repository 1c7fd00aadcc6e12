"""The protocol of a ledger's history: operations and purges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from atlas.core.operations import ANY_OPERATION, BulkUndo, Operation, Operations, RecordChange, TrashedRecord
from atlas.embedding.chunking import EncodedText
from atlas.storage.records import Merge, Moment, OperationDraft, Origin, Record, Version

Image = dict[str, Any]
"""A stored state of a record or of its marks, such as the one before a change."""

Reword = Callable[[str, Sequence[Image], Iterable[tuple[str, str]]], Mapping[str, tuple[str, EncodedText]]]
"""Function that removes parts of purged records from other texts.

Arguments: a collection, the purged contents, and the content of each record by its text. The result maps each text that
changes to the new text with its vectors, also of word pieces.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A record that would be purged."""

    collection: str
    id: str
    title: str
    is_live: bool
    """True if the record is live, False if it is deleted."""

    n_earlier: int
    """Number of states of the record and of its marks in the history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotingRecord:
    """Another record that quotes or names a purged record."""

    collection: str
    record_id: str
    title: str
    where: str
    """`in the trash`, `in an earlier version`, `in its marks`, or empty for the current text."""

    n_shared: int
    """Number of shared lines, sentences and words with digits. 0 if the other record only names the purged one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedPurge:
    """The unfinished steps of a purge, besides truncating the WAL."""

    collections: Sequence[str] = ()
    """Collections whose vector indexes and keyword tables must be rebuilt."""

    has_copies: bool = True
    """True while older copies of the ledger, or other files, may have to be removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeTraces:
    """The records to purge, and all other texts in the ledger that quote them."""

    records: tuple[Removal, ...]
    quotes: tuple[QuotingRecord, ...]
    """Other records that quote or name a purged record."""

    n_reasons: int
    """Number of operations whose reason quotes a purged record."""

    n_judged: int
    """Number of judgements on a purged record, or with a query that quotes a purged record."""

    moment: Moment


class History(Protocol):
    """The history of operations on records, and undo."""

    def check_unchanged(self, collection: str, ids: Sequence[str], moment: Moment) -> None:
        """Raise `PlanOutdated` if one of these records or its marks have changed since `moment`."""

    def operations(self, limit: int = 50, offset: int = 0, where: Operations = ANY_OPERATION) -> list[Operation]:
        """Return operations, newest first."""

    def operation(self, operation_id: str) -> Operation:
        """Return an operation by its id or a unique prefix, or raise `NotFound`."""

    def count(self, where: Operations = ANY_OPERATION) -> int:
        """Return the number of operations."""

    def actors(self) -> list[str]:
        """Return all actors, the most recent first."""

    def check_authors(self, actor: str, collection: str, ids: Sequence[str]) -> None:
        """Raise `NotAllowed` unless an actor stored all of these records."""

    def origins(self, collection: str, ids: Sequence[str] | None = None) -> dict[str, Origin]:
        """Return who stored, edited and accepted each record, keyed by record id. Deleted records are included."""

    def changes(self, operation_id: str, limit: int, offset: int) -> list[RecordChange]:
        """Return an operation's changes of records, oldest first."""

    def collections_of(self, operation_id: str) -> set[str]:
        """Return the collections whose records an operation touched, or raise `NotFound`."""

    def blocker(self, operation_id: str) -> Operation | None:
        """Return the later operation that has to be undone before this one, or None if there is none."""

    def undo(self, operation_id: str, *, actor: str, reason: str = "") -> Operation:
        """Undo an operation as a new operation, which can be undone too."""

    def undo_many(self, where: Operations, *, actor: str, reason: str, expected: BulkUndo | None = None) -> BulkUndo:
        """Undo the matching operations as one operation, or only preview the undo if `expected` is None."""

    def merge(
        self,
        collection: str,
        merges: Sequence[Merge],
        records: Sequence[Record],
        operation: OperationDraft,
        *,
        model: str,
        unchanged_since: Moment,
        deleted_ids: Sequence[str] = (),
    ) -> None:
        """Merge groups of records, or raise `PlanOutdated` if one of them has changed."""

    def accept(
        self, collection: str, ids: Sequence[str], operation: OperationDraft, unchanged_since: Moment | None = None
    ) -> int:
        """Accept records that wait for review, count their uses, and return their number."""

    def versions(self, collection: str, record_id: str) -> list[Version]:
        """Return the earlier versions of a record, latest first."""

    def purged(self, collection: str, ids: Sequence[str]) -> set[str]:
        """Return the subset of `ids` whose records were purged."""

    def trash(self, collection: str, limit: int, offset: int) -> list[TrashedRecord]:
        """Return deleted records, most recently deleted first."""

    def count_trash(self, collection: str) -> int:
        """Return the number of deleted records."""

    def restore(self, collection: str, ids: Sequence[str], operation: OperationDraft) -> int:
        """Restore deleted records, and return the number of restored ones."""


class Purges(Protocol):
    """Purges in the ledger: finding traces, removal, and the unfinished steps of purges."""

    def find_traces(self, ids: Sequence[str], collection: str) -> PurgeTraces:
        """Return the records to purge, and all other texts in the ledger that quote them."""

    def purge(
        self,
        keys: Sequence[tuple[str, str]],
        operation: OperationDraft,
        unfinished: UnfinishedPurge,
        *,
        unchanged_since: Moment,
        reword: Reword | None = None,
    ) -> None:
        """Purge records, given by collection and id, as one operation, which cannot be undone."""

    def unfinished(self) -> dict[str, UnfinishedPurge]:
        """Return the unfinished steps of each unfinished purge, keyed by operation id."""

    def note_unfinished(self, unfinished: Mapping[str, UnfinishedPurge]) -> None:
        """Store the unfinished steps of purges, keyed by operation id."""

    def note_finished(self, operation_ids: Iterable[str]) -> None:
        """Delete the stored unfinished steps of these purges, because they are finished."""

    def rewrite(self, collections: Iterable[str]) -> None:
        """Rebuild the keyword tables of these collections, and vacuum the database."""

    def truncate_wal(self) -> bool:
        """Truncate the WAL and return True, or return False while a reader needs it."""
