"""One collection of records, as a memory reads and writes it: of a ledger, or behind a vector store of the user's own.

What a collection must do itself is abstract. Everything else has a default that is built on it, for a store without
history, marks and usage: restoring and marking are refused, and every moment is the same.
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
from atlas.core.hits import Candidates, QueryResult, Worth
from atlas.core.operations import NO_USAGE, Marks, TrashedRecord, Usage, Use
from atlas.core.types import Vector, Vectors
from atlas.embedding.late_interaction import Projection
from atlas.protocols.infra import VectorStore, Where
from atlas.protocols.strategies import SuccessRateUpdater
from atlas.storage.records import NO_MOMENT, Context, Merge, Moment, RestoredHistory, Version


class Collection(ABC):
    """The records of one memory."""

    keeps_tokens: bool = False
    """True where vectors of word pieces are kept beside those of whole texts."""

    scrubs_secrets: bool = True
    """True where secrets are replaced in what is written."""

    keeps_uses: bool = False
    """True where each use of a record is kept. Else `record_use` counts them, where an updater is given."""

    @property
    def directory(self) -> Path | None:
        """The directory of the store, beside whose ledger a map may be kept. None if there is no directory."""
        return None

    @property
    def problem(self) -> str:
        """A failure that costs no answer, such as an index out of reach, as a sentence. Empty if there is none."""
        return ""

    @property
    def operation_id(self) -> str | None:
        """The operation that `within` began. It is in the history once something was written."""
        return None

    @property
    @abstractmethod
    def vector_store(self) -> VectorStore:
        """The same records as the specification's vector store."""

    @abstractmethod
    def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Write new records. They are durable, and found by every process, when this returns."""

    @abstractmethod
    def add_unknown(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
        restored: Mapping[str, RestoredHistory] = MappingProxyType({}),
        *,
        alone_in: str = "",
    ) -> list[str]:
        """Add the records whose id and content hash no other operation has written, and return their ids.

        Args:
            restored: Marks and usage to write in the same transaction, by id. Usage that the store has already is kept.
            alone_in: A metadata key of which no other record may have the value that one of these has.

        Raises:
            PlanOutdated: Another record has the same value of `alone_in`. Nothing was written.
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
        dropped: Sequence[str] = (),
    ) -> None:
        """Replace records.

        Args:
            dropped: Further records to delete in the same transaction, if they exist.

        Raises:
            NotFound: One of them does not exist.
            PlanOutdated: One of them has changed since the moment.
        """

    @abstractmethod
    def delete(self, ids: list[str]) -> int:
        """Remove records, and return how many there were. A history keeps them."""

    @abstractmethod
    def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the records found, in the order of `ids`."""

    @abstractmethod
    def query(
        self, embedding: npt.ArrayLike, k: int, where: Where | None = None, *, with_buried: bool = True
    ) -> QueryResult:
        """Return the k nearest records that pass a filter, without content."""

    @abstractmethod
    def search_text(
        self, text: str, k: int, where: Where | None = None, *, with_buried: bool = True, as_typed: bool = False
    ) -> QueryResult:
        """Return the k records that share the most distinctive words with a text, best first.

        Args:
            as_typed: Whether the last word may be the beginning of one, and records have to hold what is quoted.
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
        worth: Worth | None = None,
        compared: Worth | None = None,
    ) -> Candidates:
        """Return the n nearest records that pass a filter and the n that hold the most distinctive words.

        Each has both values.

        Args:
            embedding: None to search by words alone.
            text: None to search by vector alone.
            context: Whose words count for the records before them. Those are found too. A store without an order
                leaves it out.
            worth: Says which of them are wanted. Others may come as well. None for all.
            compared: Says whose word pieces are compared with the query's as well. A store that keeps no vectors of
                word pieces leaves it out. None to compare no pieces.
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
        """Return records in order, without vectors and content."""

    @abstractmethod
    def notes(self) -> dict[str, str]:
        """Return the texts that are kept beside the records, by name."""

    @abstractmethod
    def write_note(self, name: str, text: str) -> None:
        """Keep a text beside the records, outside the history."""

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
        """Add one use of a record and how it went.

        Args:
            trajectory_id: The attempt, which counts once where each use is kept.
            updater: The estimator of the success rate, if the store has no uses.

        Raises:
            NotFound: The record does not exist.
            InvalidInput: No uses are kept here, and there is no updater.
        """

    def within(
        self,
        kind: str,
        reason: str = "",
        operation_id: str | None = None,
        *,
        unchanged_since: Mapping[str, Moment] | None = None,
    ) -> Collection:
        """Return this collection with all its writes in one operation: a new one, or one that was begun.

        Args:
            unchanged_since: Moments by the ids of records. A write of one is refused if others have changed it since.
        """
        return self

    def reading(self) -> AbstractContextManager[object]:
        """Return a block in which everything that this thread reads is of one state of the store."""
        return nullcontext()

    # Looking over the records

    def n_records(self) -> int:
        """Return how many records there are, or raise `InvalidInput` where the store cannot count."""
        return self.count()

    def count(self, where: Where | None = None) -> int:
        """Return how many records pass a filter."""
        return len(self.scan(where))

    def n_at_most(self) -> int:
        """Return a number of records that there are at most, at the least cost."""
        return self.count()

    def is_empty(self) -> bool:
        """Return whether there is no record."""
        return not self.scan(limit=1)

    def ids(self, where: Where | None = None) -> list[str]:
        """Return the ids of the records that pass a filter, as they were added."""
        return [row["id"] for row in self.scan(where)]

    def present(self, ids: Sequence[str]) -> set[str]:
        """Return the ids that some record has."""
        return {row["id"] for row in self.get(list(ids))}

    def peek(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the records found, as `get` gives them, but where possible without vectors and content."""
        return self.get(list(ids))

    def count_by(self, key: str, where: Where | None = None) -> dict[Any, int]:
        """Return how many records hold each value of a metadata key, most frequent first."""
        values = Counter(row["metadata"].get(key) for row in self.scan(where))
        return {value: count for value, count in values.most_common() if value is not None}

    def keys(self) -> set[str]:
        """Return the metadata keys that some record has."""
        return {key for row in self.scan() for key in row["metadata"]}

    def column(self, key: str, where: Where | None = None) -> dict[str, Any]:
        """Return the value of a metadata key, of `marks.…` or of `usage.…`, by id, of the records that have it."""
        values = {row["id"]: row["metadata"].get(key) for row in self.scan(where)}
        return {record_id: value for record_id, value in values.items() if value is not None}

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the titles of the records that exist, by id."""
        return {row["id"]: row["metadata"].get("title", "") for row in self.get(list(ids))}

    def counts_by_day(self, where: Where | None = None) -> dict[str, dict[str, int]]:
        """Return how many records each day has, by outcome."""
        days: dict[str, Counter[str]] = {}
        for row in self.scan(where):
            if created_at := row["metadata"].get("created_at"):
                days.setdefault(created_at[:10], Counter())[row["metadata"].get("outcome", "unknown")] += 1
        return {day: dict(days[day]) for day in sorted(days)}

    def known_hashes(self, hashes: Sequence[str]) -> dict[str, str]:
        """Return the content hashes of records and of those merged into them, each with the id of such a record."""
        ids_by_hash = {row["metadata"].get("content_hash"): row["id"] for row in self.scan()}
        return {content_hash: ids_by_hash[content_hash] for content_hash in hashes if content_hash in ids_by_hash}

    # Their vectors

    def vectors(self) -> dict[str, Vectors]:
        """Return the vectors of every record, by id, each of shape (n_windows, dim)."""
        rows = self.get(self.ids())
        return {row["id"]: np.atleast_2d(np.asarray(row["embedding"], np.float32)) for row in rows}

    def first_vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vector of each record as a whole, by id, of unit length."""
        rows = self.get(list(ids))
        vectors = {row["id"]: np.atleast_2d(np.asarray(row["embedding"], np.float32))[0] for row in rows}
        return {record_id: vector / np.linalg.norm(vector) for record_id, vector in vectors.items()}

    def vectors_of(self, documents: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of the texts that the store has embedded already."""
        return {}

    def projection(self) -> Projection | None:
        """Return the projection that packs token vectors of new texts, or None if the store keeps no token vectors."""
        return None

    def similarities(self, n: int) -> tuple[Vector, Vector]:
        """Return cosines of pairs of some n records, and of each with the nearest record of other content.

        Empty if they are not measured: the values that are usual with the model serve then.
        """
        return np.zeros(0, np.float32), np.zeros(0, np.float32)

    def sampled_texts(self, n: int) -> dict[str, str]:
        """Return up to n texts, by id, of the records that `similarities` samples, spread evenly by insertion order."""
        return {}

    # Usage

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return counts of retrievals and uses. Searches of the last half minute may be missing."""
        return dict.fromkeys(ids, NO_USAGE)

    def uses(self, ids: Sequence[str]) -> dict[str, list[Use]]:
        """Return each use of each record, and of those that were merged into it, oldest first."""
        return {record_id: [] for record_id in ids}

    def note_retrievals(self, ids: Sequence[str]) -> None:  # noqa: B027 - a store that keeps none does nothing
        """Count the records that a search returned. They are written in batches, one of which may be due now."""

    def write_retrievals(self) -> None:  # noqa: B027 - a store that keeps none does nothing
        """Write the counts of `note_retrievals` in this process, so that `usage` includes them."""

    # Marks

    def marks(self, ids: Sequence[str]) -> dict[str, Marks]:
        """Return people's marks on each record."""
        return {record_id: Marks() for record_id in ids}

    def mark(self, marks: Mapping[str, Marks]) -> None:
        """Set the marks of records in place of those that they have, or raise `NotFound` where one does not exist."""
        if marks:
            raise InvalidInput("this vector store keeps no marks; use the memory that atlas.open_memory gives")

    def change_marks(self, ids: Sequence[str], change: Callable[[Marks], Marks]) -> int:
        """Set records' marks to the result of a function of them, and return how many that changed."""
        self.mark({record_id: change(Marks()) for record_id in ids if change(Marks()) != Marks()})
        return 0

    def release(self, ids: Sequence[str], unchanged_since: Moment | None = None) -> int:
        """Accept records that wait for review, and return how many there were."""
        return 0

    # History

    def moment(self) -> Moment:
        """Return the present point in the history, to give to `delete_unchanged`, `update` or `merge`."""
        return NO_MOMENT

    def derived(self) -> str | None:
        """Return the measurements of the collection, or None. They can be repeated at any time."""
        return None

    def keep_derived(self, text: str) -> None:  # noqa: B027 - a store that keeps nothing beside its records does nothing
        """Keep measurements of the collection, in place of earlier ones."""

    def strictness(self) -> float:
        """Return how many times its measured level the best hit of a search needs. 1 unless a person changed it."""
        return 1.0

    def check_unchanged(self, ids: Sequence[str], moment: Moment) -> None:  # noqa: B027 - a store that keeps none does nothing
        """Raise `PlanOutdated` if one of these records, or its marks, has changed since a moment."""

    def delete_unchanged(
        self, ids: Sequence[str], moment: Moment, used: Mapping[str, Usage] = MappingProxyType({})
    ) -> int:
        """Remove records and return how many there were, unless one that was there at the moment has changed since.

        Args:
            used: Usage of records. The call is refused if that of one is another by now.

        Raises:
            PlanOutdated: One has changed or was used. Nothing was removed.
        """
        return self.delete(list(ids))

    def merge(self, merges: Sequence[Merge], moment: Moment, dropped: Sequence[str] = ()) -> None:
        """Make one record of several, as often as is asked, or raise `PlanOutdated` where one has changed since.

        Args:
            dropped: Further records to delete in the same transaction.
        """
        raise _no_history("merge records")

    def versions(self, record_id: str) -> list[Version]:
        """Return a record as it was before each edit, the last first."""
        return []

    def purged(self, ids: Sequence[str]) -> set[str]:
        """Return the ids whose records were purged: no record may have them again."""
        return set()

    def trash(self, limit: int, offset: int) -> list[TrashedRecord]:
        """Return deleted records, the last deleted first."""
        raise _no_history("list what was deleted")

    def count_trash(self) -> int:
        """Return how many deleted records there are."""
        return 0

    def restore(self, ids: Sequence[str]) -> int:
        """Bring deleted records back as they were, and return how many did not exist."""
        raise _no_history("bring records back")


def _no_history(what: str) -> InvalidInput:
    return InvalidInput(f"this vector store keeps no history, so it cannot {what}; use the memory of atlas.open_memory")
