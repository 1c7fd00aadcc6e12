"""The records of a user's own vector store, whatever it offers beside the specification's four methods."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.hits import QueryResult
from atlas.infra.bridge import run
from atlas.infra.duck_typing import offered
from atlas.infra.locks import lock_of
from atlas.protocols.infra import BrowsableVectorStore, VectorStore, Where
from atlas.storage.plain.replacing import Row, replace_records

FIRST_ASKED = 1_000
"""Records that a store which cannot count is first asked for, to list all."""

BROWSING = ("count", "update", "search_text", "scan")
"""What a `BrowsableVectorStore` has beside the specification's methods."""

NOTHING = QueryResult(ids=[], distances=[], metadatas=[], documents=[])


class PlainRecords:
    """Records behind `add, query, delete` and `get`, read and written as a memory does.

    A record is replaced by the store's `update` where it has that. Else it is deleted and added, and a search in
    between misses it.
    """

    def __init__(self, vector_store: VectorStore, dimension: int) -> None:
        self.vector_store = vector_store
        self._store = cast(BrowsableVectorStore, vector_store)  # asked for no more than it offers
        self._dimension = dimension
        self._takes_windows = all(offered(vector_store, name) for name in BROWSING)
        self._lock = lock_of(vector_store)

    def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """The records found; a store is not asked for none, which chromadb refuses."""
        return run(self._store.get(ids)) if ids else []

    def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Hold new records, as plain lists of numbers; a store with the four methods alone gets one list a record."""
        run(self._store.add(ids, [self._held(one) for one in embeddings], metadatas, documents))

    def delete(self, ids: list[str]) -> int:
        """Remove records; how many there were just before."""
        distinct = list(dict.fromkeys(ids))
        with self._lock:  # not while one of them is being replaced, which would bring it back
            n_present = len(self.get(distinct))
            if n_present:
                run(self._store.delete(distinct))
        return n_present

    def n_records(self) -> int:
        """Return how many records there are.

        Raises:
            InvalidInput: The store cannot say it.
        """
        if not self._can_count:
            raise InvalidInput(
                f"the vector store {type(self._store).__name__!r} has no `count`, which len() needs; give it a "
                "coroutine `count()` that says how many records it holds"
            )
        return run(self._store.count())

    def is_empty(self) -> bool:
        """Whether there is no record."""
        return not (run(self._store.count()) if self._can_count else run(self._store.query(self._axis, 1)).ids)

    def query(
        self, embedding: npt.ArrayLike, k: int, where: Where | None = None, *, with_buried: bool = True
    ) -> QueryResult:
        """The k nearest records; it keeps no marks, so none is buried."""
        return run(self._store.query(plain(embedding), k, where))

    def _every(self) -> QueryResult:
        """Return all records: a store that cannot count is asked for more until it gives fewer than that."""
        if self._can_count:
            n_records = run(self._store.count())
            return run(self._store.query(self._axis, n_records)) if n_records else NOTHING
        n_asked = FIRST_ASKED
        while len((found := run(self._store.query(self._axis, n_asked))).ids) == n_asked:
            n_asked *= 4
        return found

    @property
    def _can_count(self) -> bool:
        return callable(offered(self._store, "count"))

    @property
    def _axis(self) -> list[float]:
        """Any vector, to ask for the nearest of."""
        return [1.0] + [0.0] * (self._dimension - 1)

    def _rows(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return records as their store's `add` would take them again; `NotFound` where one is not there."""
        found = {row["id"]: row for row in self.get(list(ids))}
        for record_id in ids:
            if record_id not in found:
                raise NotFound(f"there is no record {record_id!r}; it may have been deleted")
            if found[record_id].get("embedding") is None:
                raise InvalidInput(
                    f"the vector store {type(self._store).__name__!r} gives no embedding of record {record_id!r}, "
                    "which replacing it needs; have its `get` give dicts of `id`, `embedding`, `metadata`, `document`"
                )
        return [found[one] | {"embedding": self._held(found[one]["embedding"])} for one in ids]

    def _replace(
        self,
        before: Sequence[Row],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
        dropped: Sequence[str] = (),
    ) -> None:
        if before:
            self._replace_rows(before, embeddings, metadatas, documents)
        if dropped:
            run(self._store.delete(list(dropped)))

    def _replace_rows(
        self,
        before: Sequence[Row],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        ids, held = [row["id"] for row in before], [self._held(one) for one in embeddings]
        if may_be_awaited(self._store, "update"):
            run(self._store.update(ids, held, metadatas, documents))
            return
        columns = zip(ids, held, metadatas, documents, strict=True)
        after = [{"id": i, "embedding": e, "metadata": m, "document": d} for i, e, m, d in columns]
        run(replace_records(self._store, before, after))

    def _held(self, embedding: npt.ArrayLike) -> list[Any]:
        """Return an embedding as the store takes it: with its windows only where it knows of them."""
        return plain(np.atleast_2d(np.asarray(embedding))[: None if self._takes_windows else 1])


def may_be_awaited(store: object, name: str) -> bool:
    """Whether a store has a method that is a coroutine, or a decorated one, which may be.

    An ordinary function under its own name is taken for a sync one.
    """
    method = offered(store, name)
    if not callable(method):
        return False
    function = inspect.unwrap(method)
    return inspect.iscoroutinefunction(function) or getattr(function, "__name__", None) != name


def plain(embedding: npt.ArrayLike) -> list[Any]:
    """An embedding as the specification has it: a list of numbers, or several where there are several windows."""
    windows: list[Any] = np.atleast_2d(np.asarray(embedding, np.float32)).tolist()
    return windows[0] if len(windows) == 1 else windows
