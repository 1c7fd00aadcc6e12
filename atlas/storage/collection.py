"""The interface of a memory's collection of records: in a ledger, or in the user's own vector store.

The required methods are abstract. The others have defaults for a store without history, marks and usage: restoring and
marking are refused, and all moments are equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.hits import Candidates, QueryResult, Selector
from atlas.core.operations import NO_USAGE, Marks, TrashedRecord, Usage, Use
from atlas.core.types import Vector, Vectors
from atlas.embedding.late_interaction import Projection
from atlas.protocols.infra import VectorStore, Where
from atlas.protocols.strategies import SuccessRateUpdater
from atlas.storage.records import NO_MOMENT, Context, Merge, Moment, RestoredHistory, Version


class Collection(ABC):
    """The records of one memory."""

    has_token_vectors: bool = False
    """True if token vectors are stored in addition to vectors of whole texts."""

    scrubs_secrets: bool = True
    """True if secrets are replaced before writing."""

    keeps_uses: bool = False
    """True if each use of a record is stored. Else `record_use` only counts uses, given an updater."""

    @property
    def directory(self) -> Path | None:
        """The directory of the store, or None if the records are in a vector store of the user."""
        return None

    @property
    def problem(self) -> str:
        """Description of a failure that slows searches down, such as an unreachable index. Empty without a failure."""
        return ""

    @property
    def operation_id(self) -> str | None:
        """Id of the operation from `as_operation`. The history lists the operation after its first write."""
        return None

    @property
    @abstractmethod
    def vector_store(self) -> VectorStore:
        """The same records behind the async protocol `VectorStore`."""

    @abstractmethod
    def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Write new records, which are durable and visible to every process when this returns.

        Args:
            embeddings: One for each record: shape (dim,), or (n_windows, dim) for a long text.
        """

    @abstractmethod
    def add_missing(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
        restored: Mapping[str, RestoredHistory] = MappingProxyType({}),
        *,
        unique_key: str = "",
    ) -> list[str]:
        """Add the records whose id and content hash are both new, and return the ids of the added records.

        Args:
            restored: Marks and usage to write in the same transaction, keyed by id. Existing usage is kept.
            unique_key: A metadata key of which no two records of the collection may have the same value.

        Raises:
            PlanOutdated: Another record has the same value of `unique_key`. Nothing was written.
        """

    @abstractmethod
    def update(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
        *,
        unchanged_since: Moment | None = None,
        deleted_ids: Sequence[str] = (),
    ) -> None:
        """Replace records.

        Args:
            deleted_ids: Further records to delete in the same transaction, if they exist.

        Raises:
            NotFound: A record does not exist.
            PlanOutdated: One of these records has changed since the moment `unchanged_since`.
        """

    @abstractmethod
    def delete(self, ids: list[str]) -> int:
        """Delete records, and return their number. A store with a history can restore them."""

    @abstractmethod
    def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the records that exist, in the order of `ids`."""

    @abstractmethod
    def query(
        self, embedding: npt.ArrayLike, k: int, where: Where | None = None, *, with_buried: bool = True
    ) -> QueryResult:
        """Return the k nearest records that pass a filter, without content.

        Args:
            with_buried: Whether buried records, and other actors' records that wait for review, are found too.
        """

    @abstractmethod
    def search_text(
        self, text: str, k: int, where: Where | None = None, *, with_buried: bool = True, as_typed: bool = False
    ) -> QueryResult:
        """Return the k best records by BM25, best first.

        Args:
            with_buried: Whether buried records, and other actors' records that wait for review, are found too.
            as_typed: Whether the last word is a prefix, and quoted phrases must match exactly.
        """

    @abstractmethod
    def candidates(
        self,
        embedding: npt.ArrayLike | None,
        text: str | None,
        n: int,
        where: Where | None = None,
        *,
        with_buried: bool = True,
        context: Context | None = None,
        returned: Selector | None = None,
        compared: Selector | None = None,
    ) -> Candidates:
        """Return the n nearest records that pass a filter, and the n best by keywords.

        Each candidate has both scores, the cosine and BM25.

        Args:
            embedding: None for a keyword search.
            text: None for a vector search.
            with_buried: Whether buried records, and other actors' records that wait for review, are found too.
            context: Names the key that groups records into logs. Records are then also found by words of their
                successors. Ignored by a store without an order.
            returned: Selects the candidates to return. A store may return others too. None for all.
            compared: Selects the candidates whose tokens are compared with the query's. Ignored by a store
                without token vectors. None to compare no tokens.
        """

    @abstractmethod
    def scan(
        self,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return records sorted by a metadata key or by insertion, without vectors and content."""

    @abstractmethod
    def notes(self) -> dict[str, str]:
        """Return the collection's notes, which are small stored texts, keyed by name."""

    @abstractmethod
    def write_note(self, name: str, text: str) -> None:
        """Write a note durably. The write is not an operation in the history."""

    @abstractmethod
    def record_use(
        self,
        record_id: str,
        success: bool,
        task_id: str = "",
        trajectory_id: str = "",
        *,
        updater: SuccessRateUpdater | None = None,
    ) -> None:
        """Record a use of a record and its outcome.

        Args:
            trajectory_id: Id of the attempt, which counts once if uses are stored.
            updater: The estimator of the success rate, if uses are not stored.

        Raises:
            NotFound: The record does not exist.
            InvalidInput: Uses are not stored, and there is no updater.
        """

    def as_operation(
        self,
        kind: str,
        reason: str = "",
        operation_id: str | None = None,
        *,
        unchanged_since: Mapping[str, Moment] | None = None,
    ) -> Collection:
        """Return a view of this collection whose writes belong to one operation, new or existing.

        Args:
            unchanged_since: Moments, keyed by record id. A write is refused if others have changed its record since.
        """
        return self

    def ensure_operation(self, kind: str, reason: str = "") -> Collection:
        """Return this collection if its writes belong to an operation, or else a view whose writes form a new one."""
        return self if self.operation_id else self.as_operation(kind, reason)

    def exclude(self, ids: Sequence[str]) -> Collection:
        """Return a view of this collection whose searches skip the records with these ids."""
        raise _no_history_error("search without some records")

    def reading(self) -> AbstractContextManager[object]:
        """Return a context manager in which this thread reads one snapshot of the store."""
        return nullcontext()

    # Listing

    def n_records(self) -> int:
        """Return the number of records, or raise `InvalidInput` if the store cannot count."""
        return self.count()

    def count(self, where: Where | None = None) -> int:
        """Return the number of records that pass a filter."""
        return len(self.scan(where))

    def n_upper_bound(self) -> int:
        """Return a cheap upper bound on the number of records."""
        return self.count()

    def is_empty(self) -> bool:
        """Return whether the collection has no records."""
        return not self.scan(limit=1)

    def ids(self, where: Where | None = None) -> list[str]:
        """Return the ids of the records that pass a filter, in the order of insertion."""
        return [row["id"] for row in self.scan(where)]

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """Return at most two ids that begin with a prefix, enough to tell whether the prefix is unique."""
        return [record_id for record_id in self.ids() if record_id.startswith(prefix)][:2]

    def changed_ids(self, since: int, *, limit: int = -1) -> list[str]:
        """Return the ids of records added, changed or deleted after a revision, oldest change first."""
        raise _no_history_error("list changes")

    def existing_ids(self, ids: Sequence[str]) -> set[str]:
        """Return the subset of `ids` that exist."""
        return {row["id"] for row in self.get(list(ids))}

    def get_without_content(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the records that exist, like `get`, but without vectors and content if the store can omit them."""
        return self.get(list(ids))

    def count_by(self, key: str, where: Where | None = None) -> dict[Any, int]:
        """Return the number of records, keyed by the value of a metadata key, most frequent first."""
        values = Counter(row["metadata"].get(key) for row in self.scan(where))
        return {value: count for value, count in values.most_common() if value is not None}

    def keys(self) -> set[str]:
        """Return the metadata keys in use."""
        return {key for row in self.scan() for key in row["metadata"]}

    def column(self, key: str, where: Where | None = None) -> dict[str, Any]:
        """Return the values of a metadata key, keyed by record id, without missing values.

        A collection in a ledger also accepts the keys `marks.*` and `usage.*`.
        """
        values = {row["id"]: row["metadata"].get(key) for row in self.scan(where)}
        return {record_id: value for record_id, value in values.items() if value is not None}

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the titles of the records that exist, keyed by id."""
        return {row["id"]: row["metadata"].get("title", "") for row in self.get(list(ids))}

    def counts_by_day(self, where: Where | None = None) -> dict[str, dict[str, int]]:
        """Return the number of records by UTC day and outcome, such as `{"2026-05-01": {"succeeded": 3}}`."""
        days: dict[str, Counter[str]] = {}
        for row in self.scan(where):
            if created_at := row["metadata"].get("created_at"):
                days.setdefault(created_at[:10], Counter())[row["metadata"].get("outcome", "unknown")] += 1
        return {day: dict(days[day]) for day in sorted(days)}

    def ids_by_hash(self, hashes: Sequence[str]) -> dict[str, str]:
        """Return record ids, keyed by content hash. A merged record's hash leads to its replacement."""
        ids_by_hash = {row["metadata"].get("content_hash"): row["id"] for row in self.scan()}
        return {content_hash: ids_by_hash[content_hash] for content_hash in hashes if content_hash in ids_by_hash}

    # Vectors

    def vectors(self) -> dict[str, Vectors]:
        """Return the vectors of every record, keyed by id, each of shape (n_windows, dim)."""
        rows = self.get(self.ids())
        return {row["id"]: np.atleast_2d(np.asarray(row["embedding"], np.float32)) for row in rows}

    def first_vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        """Return each record's vector for its whole text, of unit length and shape (dim,), keyed by id."""
        rows = self.get(list(ids))
        vectors = {row["id"]: np.atleast_2d(np.asarray(row["embedding"], np.float32))[0] for row in rows}
        return {record_id: vector / np.linalg.norm(vector) for record_id, vector in vectors.items()}

    def vectors_of(self, documents: Sequence[str]) -> dict[str, Vectors]:
        """Return the stored vectors of texts, keyed by text, each of shape (n_windows, dim)."""
        return {}

    def projection(self) -> Projection | None:
        """Return the projection that packs token vectors of new texts, or None if the store keeps no token vectors."""
        return None

    def similarities(self, n: int) -> tuple[Vector, Vector]:
        """Return the cosines of all pairs among n sampled records, and of each of them with its nearest neighbour.

        Neighbours with the same text do not count. An empty result means that the model's defaults apply.
        """
        return np.zeros(0, np.float32), np.zeros(0, np.float32)

    def sample_texts(self, n: int) -> dict[str, str]:
        """Return up to n texts, keyed by id, of the records that `similarities` samples."""
        return {}

    # Usage

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return each record's counts of retrievals and uses, keyed by id. The last half minute may be missing."""
        return dict.fromkeys(ids, NO_USAGE)

    def uses(self, ids: Sequence[str]) -> dict[str, list[Use]]:
        """Return the uses of each record and of the records merged into it, oldest first, keyed by id."""
        return {record_id: [] for record_id in ids}

    def count_retrievals(self, ids: Sequence[str]) -> None:  # noqa: B027 - a store that keeps none does nothing
        """Count the hits of a search as retrieved. Counts are written in batches."""

    def write_retrievals(self) -> None:  # noqa: B027 - a store that keeps none does nothing
        """Write the counts of `count_retrievals` in this process, so that `usage` includes them."""

    # Marks

    def marks(self, ids: Sequence[str]) -> dict[str, Marks]:
        """Return the tags, note, pin and other marks of each record, keyed by id."""
        return {record_id: Marks() for record_id in ids}

    def mark(self, marks: Mapping[str, Marks]) -> None:
        """Replace the marks of records, or raise `NotFound` if a record does not exist."""
        if marks:
            raise InvalidInput("this vector store keeps no marks; use a memory from atlas.open_memory")

    def change_marks(self, ids: Sequence[str], change: Callable[[Marks], Marks]) -> int:
        """Apply a function to the marks of records, and return the number of changed records."""
        self.mark({record_id: change(Marks()) for record_id in ids if change(Marks()) != Marks()})
        return 0

    def release(self, ids: Sequence[str], unchanged_since: Moment | None = None) -> int:
        """Accept records that wait for review, and return their number."""
        return 0

    def quarantine(self, reasons: Mapping[str, str]) -> int:
        """Set each record's quarantine reason ('' ends the quarantine), and return the number of changed records."""
        if reasons:
            raise InvalidInput("this vector store keeps no marks; use a memory from atlas.open_memory")
        return 0

    # History

    def moment(self) -> Moment:
        """Return the current point in the history, for a later `delete_unchanged`, `update` or `merge`."""
        return NO_MOMENT

    def read_measurement(self) -> str | None:
        """Return the stored measurement of the collection's relevance level, as text, or None."""
        return None

    def write_measurement(self, text: str) -> None:  # noqa: B027 - a store that keeps nothing beside its records does nothing
        """Store a measurement of the collection's relevance level, replacing an earlier one."""

    def strictness(self) -> float:
        """Return the factor that multiplies the measured relevance threshold. 1 unless a person changed it."""
        return 1.0

    def check_unchanged(self, ids: Sequence[str], moment: Moment) -> None:  # noqa: B027 - a store that keeps none does nothing
        """Raise `PlanOutdated` if one of these records or its marks have changed since `moment`."""

    def delete_unchanged(
        self, ids: Sequence[str], moment: Moment, usage: Mapping[str, Usage] = MappingProxyType({})
    ) -> int:
        """Delete records and return their number, unless the collection has changed since `moment`.

        Args:
            usage: Expected usage, keyed by record id. The call is refused if a record's usage differs.

        Raises:
            PlanOutdated: A record of the collection has changed, or one was used. Nothing was deleted.
        """
        return self.delete(list(ids))

    def merge(self, merges: Sequence[Merge], moment: Moment, deleted_ids: Sequence[str] = ()) -> None:
        """Merge groups of records, or raise `PlanOutdated` if one of them has changed since `moment`.

        Args:
            deleted_ids: Further records to delete in the same transaction.
        """
        raise _no_history_error("merge records")

    def check_may_change(self, ids: Sequence[str]) -> None:
        """Raise `NotFound` if a record does not exist, and `NotAllowed` if the current actor may not change it."""
        raise _no_history_error("check who stored a record")

    def versions(self, record_id: str) -> list[Version]:
        """Return the earlier versions of a record, latest first."""
        return []

    def purged(self, ids: Sequence[str]) -> set[str]:
        """Return the subset of `ids` whose records were purged. A purged id cannot be reused."""
        return set()

    def trash(self, limit: int, offset: int) -> list[TrashedRecord]:
        """Return deleted records, most recently deleted first."""
        raise _no_history_error("list deleted records")

    def count_trash(self) -> int:
        """Return the number of deleted records."""
        return 0

    def restore(self, ids: Sequence[str]) -> int:
        """Restore deleted records, and return the number of restored ones."""
        raise _no_history_error("restore records")


def _no_history_error(action: str) -> InvalidInput:
    return InvalidInput(
        f"this vector store keeps no history, so it cannot {action}; use a memory from atlas.open_memory"
    )
