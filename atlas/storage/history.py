"""The protocol of a ledger's history: operations and purges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from atlas.core.operations import ANY_OPERATION, Operation, Operations, RecordChange, TrashedRecord, UndoneMany
from atlas.embedding.chunking import EncodedText
from atlas.storage.records import Merge, Moment, OperationDraft, Record, Version

Image = dict[str, Any]
"""A record, or its marks, as it is or was."""

Reword = Callable[[str, Sequence[Image], Iterable[tuple[str, str]]], Mapping[str, tuple[str, EncodedText]]]
"""Rewords texts that contain a part of a purged record.

From a collection, what was purged of it, and each text that finds a record with that record's content: the texts to
replace, each with the one that takes its place, and its vectors, those of word pieces too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A record that would go."""

    collection: str
    id: str
    title: str
    is_live: bool
    """True if it is in its memory. Else it was deleted."""

    n_earlier: int
    """States of it, and of its marks, that the history holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Another record that repeats a passage of a record, or names it."""

    collection: str
    record_id: str
    title: str
    where: str
    """`in the trash`, `in an earlier version`, `in its marks`. Empty for its present text."""

    n_shared: int
    """Lines, sentences and words with digits that it shares. 0 if it only names the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The rest of a purge that is not done yet, besides cutting the -wal file off."""

    collections: Sequence[str] = ()
    """Collections whose index and table of words have to go."""

    has_copies: bool = True
    """True while older copies of the ledger, or other files, may have to be removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeTraces:
    """The traces in a ledger of records that would be purged."""

    records: tuple[Removal, ...]
    quotes: tuple[Quote, ...]
    """Other records that repeat a passage of these, or name one."""

    n_reasons: int
    """Operations whose reason quotes one of them."""

    n_judged: int
    """Judgements of them, or whose query quotes one of them."""

    moment: Moment


class History(Protocol):
    """The operations on records, and the ways to take them back."""

    def check_unchanged(self, collection: str, ids: Sequence[str], moment: Moment) -> None:
        """Raise `PlanOutdated` if one of these records, or its marks, has changed since a moment."""

    def operations(self, limit: int = 50, offset: int = 0, wanted: Operations = ANY_OPERATION) -> list[Operation]:
        """Return operations, newest first."""

    def operation(self, operation_id: str) -> Operation:
        """Return one operation, by its id or by a beginning of it that no other shares, or raise `NotFound`."""

    def count(self, wanted: Operations = ANY_OPERATION) -> int:
        """Return how many operations there are."""

    def actors(self) -> list[str]:
        """Return all actors of operations, the latest first."""

    def changes(self, operation_id: str, limit: int, offset: int) -> list[RecordChange]:
        """Return the change of each record in an operation, in its order."""

    def collections_of(self, operation_id: str) -> set[str]:
        """Return the collections whose records an operation touched, or raise `NotFound`."""

    def undo(self, operation_id: str, *, actor: str, reason: str = "") -> Operation:
        """Undo an operation as one new operation. Undoing that one does it again."""

    def undo_many(
        self, wanted: Operations, *, actor: str, reason: str, expected: UndoneMany | None = None
    ) -> UndoneMany:
        """Undo all operations that are wanted as one, or preview that if `expected` is None."""

    def merge(
        self,
        collection: str,
        merges: Sequence[Merge],
        records: Sequence[Record],
        operation: OperationDraft,
        *,
        model: str,
        unchanged_since: Moment,
        dropped: Sequence[str] = (),
    ) -> None:
        """Make one record of several, as often as is asked, or raise `PlanOutdated` where one has changed since."""

    def accept(
        self, collection: str, ids: Sequence[str], operation: OperationDraft, unchanged_since: Moment | None = None
    ) -> int:
        """Accept records that wait for review, and count their uses. Return how many there were."""

    def versions(self, collection: str, record_id: str) -> list[Version]:
        """Return a record as it was before each edit, the last first."""

    def purged(self, collection: str, ids: Sequence[str]) -> set[str]:
        """Return the ids whose records were purged."""

    def trash(self, collection: str, limit: int, offset: int) -> list[TrashedRecord]:
        """Return deleted records, the last deleted first."""

    def count_trash(self, collection: str) -> int:
        """Return how many deleted records there are."""

    def restore(self, collection: str, ids: Sequence[str], operation: OperationDraft) -> int:
        """Bring deleted records back as they were, and return how many."""


class Purges(Protocol):
    """The ledger's part of purges: finding, removing, and notes of unfinished ones."""

    def sight(self, ids: Sequence[str], collection: str) -> PurgeTraces:
        """Return the traces of records in the ledger."""

    def purge(
        self,
        keys: Sequence[tuple[str, str]],
        operation: OperationDraft,
        left: Left,
        *,
        unchanged_since: Moment,
        reword: Reword | None = None,
    ) -> None:
        """Purge records, by collection and id, as one operation, which cannot be undone."""

    def unfinished(self) -> dict[str, Left]:
        """Return the purges that are not done yet, by operation."""

    def note_unfinished(self, left: Mapping[str, Left]) -> None:
        """Note the unfinished parts of purges, by operation."""

    def note_finished(self, operation_ids: Iterable[str]) -> None:
        """Note that purges are finished."""

    def rewrite(self, collections: Iterable[str]) -> None:
        """Rebuild the tables of words, and write the file again, without free pages."""

    def empty_journal(self) -> bool:
        """Cut off the file of recent writes. Return False while a reader needs it."""
