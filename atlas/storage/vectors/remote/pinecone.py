"""An index of Pinecone, with its namespaces.

Writes to Pinecone become visible after a delay. A write returns its position in the log, and the answer to a query
returns the position that it includes. The ledger's newest records supplement the answer.

The SDK (10.2) would retry unanswered requests for minutes, long after the caller has given up. So its retries are
disabled, and transient errors are retried here. Pinecone's `delete` returns no position, which is not needed: deleted
records are not hits, because the ledger has no vectors for them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from atlas.core.imports.distribution import extra
from atlas.core.index_address import IndexAddress
from atlas.core.types import Vector, Vectors
from atlas.storage.following_index import IndexUnreachable
from atlas.storage.vectors.remote.lazy_client import LazyClient
from atlas.storage.vectors.remote.service import MIN_SERVER_ERROR, NO_POSITION, Answer, NoAnswer
from atlas.storage.vectors.remote.wording import error_text

if TYPE_CHECKING:
    from pinecone import Index

T = TypeVar("T")

KEY = "PINECONE_API_KEY"
MAX_VECTORS, MAX_BYTES = 1_000, 2_000_000
"""Maximum number and size of the vectors in one upsert."""

TRANSIENT_STATUSES = (408, 429, 500, 502, 503, 504)
"""HTTP statuses after which a request may be repeated."""

FIRST_DELAY_SECONDS, RETRY_SECONDS = 0.25, 10.0
"""Delay before the second attempt, which doubles with each attempt, and the time after which no attempt is made.

The latter is shorter than the timeout of a write, so that the caller is still waiting.
"""

DIGITS = 7
"""Decimals of a vector's numbers. As precise as 32-bit floats, and the text is half as long as with all decimals."""

_BYTES_PER_NUMBER, _BYTES_PER_VECTOR = DIGITS + 5, 120
"""Maximum bytes of a number in JSON, and of the rest of a vector in JSON."""

_METRICS = (None, "cosine", "dotproduct")
"""Metrics that rank vectors of unit length by their cosine. None if Pinecone omits the metric."""


class PineconeService:
    """One index of Pinecone."""

    max_hits, max_removed = 10_000, 1_000
    sees_at_once = False

    def __init__(self, address: IndexAddress, *, seconds: float) -> None:
        """Use the index at an address.

        Args:
            seconds: Read timeout.
        """
        scheme = "https" if address.is_secure else "http"
        self._host = f"{scheme}://{str(address).removeprefix('pinecone://')}"
        self._seconds = seconds
        self._lazy_client: LazyClient[Index] = LazyClient(self._connect, lambda index: index.close())

    def max_written(self, dimension: int) -> int:
        """Return the maximum number of vectors of this dimension in one upsert."""
        return max(1, min(MAX_VECTORS, MAX_BYTES // (dimension * _BYTES_PER_NUMBER + _BYTES_PER_VECTOR)))

    @property
    def is_open(self) -> bool:
        """True while there are connections."""
        return self._lazy_client.is_open

    def make(self, namespace: str, dimension: int) -> None:
        """Check that the index accepts vectors of this dimension. The first upsert creates the namespace."""
        stats = self._call(lambda index: index.describe_index_stats())
        if stats.dimension not in (None, dimension):
            raise IndexUnreachable(
                f"expected {dimension} dimensions for the store's embedding model, got an index with "
                f"{stats.dimension}; create an index with {dimension} dimensions and the metric cosine"
            )
        if stats.metric not in _METRICS:
            raise IndexUnreachable(
                f"expected an index with the metric cosine, got {stats.metric!r}; create one with the metric cosine"
            )

    def upsert(self, namespace: str, keys: Sequence[str], vectors: Vectors) -> int:
        """Store the vectors under the keys, and return the position of the write."""
        rows = [{"id": key, "values": _round_vector(vector)} for key, vector in zip(keys, vectors, strict=True)]
        reply = self._call(lambda index: index.upsert(vectors=rows, namespace=namespace))
        if reply.upserted_count != len(rows):
            raise IndexUnreachable(f"the service stored {reply.upserted_count} of {len(rows)} vectors")
        if reply.response_info is None or reply.response_info.lsn_committed is None:
            raise IndexUnreachable("the reply lacks the position of the write, so its visibility is unknown")
        return reply.response_info.lsn_committed

    def remove(self, namespace: str, keys: Sequence[str]) -> None:
        """Remove vectors by key, ignoring unknown keys."""

        def delete(index: Index) -> None:
            index.delete(ids=list(keys), namespace=namespace)

        self._call_or_default(delete, None)

    def query(self, namespace: str, vector: Vector, k: int) -> Answer:
        """Return the keys of at most k nearest vectors. Approximate."""
        numbers = _round_vector(vector)
        result = self._call(lambda index: index.query(vector=numbers, top_k=k, namespace=namespace))
        hits = [(match.id, match.score) for match in result.matches]
        position = result.response_info.lsn_reconciled if result.response_info else None
        if hits and position is None:
            raise IndexUnreachable("the answer lacks the position of the last write, so the index is not used")
        return Answer(hits=hits, sees_up_to=NO_POSITION if position is None else position)

    def count(self, namespace: str) -> int:
        """Return the number of keys in a namespace, which Pinecone counts with a delay, or 0 without a namespace."""
        return self._call_or_default(lambda index: index.describe_namespace(name=namespace).record_count, 0)

    def drop(self, namespace: str) -> None:
        """Delete a namespace, if it exists."""
        self._call_or_default(lambda index: index.delete_namespace(name=namespace), None)

    def close(self) -> None:
        """Close the connections."""
        self._lazy_client.close()

    def _connect(self) -> Index:
        from pinecone import Pinecone, RetryConfig

        key = os.environ.get(KEY, "").strip()
        if not key:
            raise IndexUnreachable(f"the API key is missing; set {KEY}")
        index = Pinecone(api_key=key, timeout=self._seconds).index(host=self._host)
        # The option `retry_config` only affects the control plane.
        index._http._client._transport._config = RetryConfig(max_retries=0)  # type: ignore[attr-defined]
        return index

    def _call(self, call: Callable[[Index], T]) -> T:
        """Call the SDK, and convert its errors to `IndexUnreachable`, whose message contains no key."""
        with extra("pinecone", "an index in Pinecone", IndexUnreachable):
            from pinecone import ApiError, PineconeError
        try:
            return _retry(partial(call, self._lazy_client.get()))
        except PineconeError as error:
            is_refused = isinstance(error, ApiError) and error.status_code < MIN_SERVER_ERROR
            raise (IndexUnreachable if is_refused else NoAnswer)(error_text(error, KEY)) from None

    def _call_or_default(self, call: Callable[[Index], T], default: T) -> T:
        """Call the SDK like `_call`, and return its result, or a default if the namespace does not exist."""

        def call_or_default(index: Index) -> T:
            from pinecone import NotFoundError

            try:
                return call(index)
            except NotFoundError:
                return default

        return self._call(call_or_default)


def _retry(call: Callable[[], T]) -> T:
    """Return the result of a call, which is repeated after transient errors."""
    from pinecone import ApiError

    deadline, delay = time.monotonic() + RETRY_SECONDS, FIRST_DELAY_SECONDS
    while True:
        try:
            return call()
        except ApiError as error:
            delay = max(delay, getattr(error, "retry_after", None) or 0.0)
            if error.status_code not in TRANSIENT_STATUSES or time.monotonic() + delay > deadline:
                raise
        time.sleep(delay)
        delay *= 2


def _round_vector(vector: Vector) -> list[float]:
    rounded: list[float] = np.round(vector.astype(np.float64), DIGITS).tolist()
    return rounded
