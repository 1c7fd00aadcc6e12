"""Protocols of external systems: embedding models, language models, stores of vectors and of marks, the clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from atlas.core.hits import QueryResult
from atlas.core.operations import Marks
from atlas.core.types import Vector, Vectors

Where = Mapping[str, Any]
"""A filter: `{"key": value}`, `{"key": {"$in": [...]}}`, `$gt $gte $lt $lte`, `{"$and": [...]}`, `{"$or": [...]}`.

Several keys are combined with and. A record without the key never matches. A key with several values (tags) matches if
any value does. Keys with the prefix `marks.` or `usage.` refer to marks and usage counts instead of metadata."""

Progress = Callable[[int, int], None]
"""Callback with the number of items done and the total."""


@runtime_checkable
class Clock(Protocol):
    """A source of the time."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """A minimal embedding model. An adapter adds the further members of a `WholeEmbedder`."""

    def encode(self, text: str) -> npt.ArrayLike:
        """Return the vector of one text: numbers, shape (dim,), not all zero."""
        ...


@runtime_checkable
class WholeEmbedder(Embedder, Protocol):
    """A complete embedding model, which returns vectors of unit length.

    It is sync, and called in a thread. A memory adapts any `Embedder` to it. Optional methods:

    - `encode_query(text) -> (dim,)` embeds a query of any length. It is for models with a separate query prompt, or
    with windows for long queries. The default is `encode`.
    - `windows(text) -> list[tuple[int, int]]` cuts a text into overlapping spans of characters, in order, each of which
    fits the model's window. A text that fits has one span. By default every text is embedded in one call, and may be
    truncated.
    - `encode_with_tokens(texts) -> (vectors, tokens)` also returns the vectors of each document's word pieces, and
    `query_tokens(text)` returns those of a query, for late interaction. See `atlas.storage.late_interaction`.
    - `word_vectors(text)` returns the words of a text with their vectors, so that a hit can show pairs of similar
    words. See `atlas.embedding.met_words`.
    """

    @property
    def model_name(self) -> str:
        """Name of the model. A store is bound to this name."""
        ...

    @property
    def dimension(self) -> int:
        """Dimension of the vectors."""
        ...

    def encode(self, text: str) -> Vector:
        """Return the vector of one document, shape (dim,)."""
        ...

    def encode_batch(self, texts: list[str]) -> Vectors:
        """Return the vectors of several documents, shape (n, dim)."""
        ...


@runtime_checkable
class LLMClient(Protocol):
    """A language model.

    It does not validate replies, so call it through `atlas.llm.structured_output.ask`. It may have a `model_name`,
    which is stored with its results, and a `concurrency`, the maximum number of concurrent requests.
    """

    async def complete(
        self, system: str, prompt: str, *, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Any:
        """Return the text of the reply or, if a JSON schema is given, the object in the reply.

        Args:
            system: Instructions to the model.
            prompt: The prompt.
            schema: JSON schema of the object to reply with.
            max_tokens: Maximum tokens of the answer, without thinking.

        Raises:
            LLMUnavailable: The model is unavailable. The message names the remedy.
            LLMBudgetExceeded: The request would exceed the operation's budget. It was not sent.
            LLMReplyInvalid: The reply was cut off, refused, or malformed.
        """
        ...


@runtime_checkable
class CorrectableLLM(LLMClient, Protocol):
    """A language model that can correct its own answer in a conversation."""

    async def correct(
        self, system: str, prompt: str, answer: Any, fault: str, *, schema: Mapping[str, Any], max_tokens: int = 1024
    ) -> Any:
        """Return a corrected answer in the form that `complete` returns.

        Args:
            system: Instructions to the model.
            prompt: The original prompt.
            answer: The rejected answer: an object, or the text of a reply without one.
            fault: Why the answer was rejected.
            schema: JSON schema of the object to reply with.
            max_tokens: Maximum tokens of the answer.
        """
        ...


@runtime_checkable
class VectorIndex(Protocol):
    """An index of nearest neighbours by cosine. It is derived from the ledger, and may be deleted at any time."""

    def upsert(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Set the vectors of these keys, replacing earlier ones."""
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Remove the vectors of these keys, ignoring unknown ones."""
        ...

    def query(self, vector: Vector, k: int) -> list[tuple[str, float]]:
        """Return at most k keys with their similarity, highest first."""
        ...

    def count(self) -> int:
        """Return the number of keys."""
        ...

    def clear(self) -> None:
        """Delete all vectors."""
        ...


@runtime_checkable
class VectorStore(Protocol):
    """One collection of records with documents, vectors and metadata. The minimal store for a memory."""

    async def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Add new records.

        Each embedding has shape (dim,), or (n, dim) for a long text: the whole and its windows.

        Raises:
            InvalidInput: An id exists already, lengths differ, or a vector has another dimension.
        """
        ...

    async def query(self, embedding: npt.ArrayLike, k: int, where: Where | None = None) -> QueryResult:
        """Return the k records whose best window is nearest to a vector, nearest first."""
        ...

    async def delete(self, ids: list[str]) -> None:
        """Remove records, ignoring unknown ids."""
        ...

    async def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the existing records, in the order of `ids`, as dicts of `id`, `metadata`, `document`, `embedding`."""
        ...


@runtime_checkable
class BrowsableVectorStore(VectorStore, Protocol):
    """A store that can also count, list and full-text search records.

    A memory uses the methods that are present. `count` is used for `len`. Without `update`, a changed record is deleted
    and added. Only a store with all methods stores long texts as several vectors.
    """

    async def count(self, where: Where | None = None) -> int:
        """Return the number of records."""
        ...

    async def update(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Replace records.

        Raises:
            NotFound: An id does not exist.
        """
        ...

    async def search_text(self, text: str, k: int, where: Where | None = None) -> QueryResult:
        """Return the k best records of a full-text search (BM25), best first. `text` has no query syntax."""
        ...

    async def scan(
        self,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return records sorted by a metadata key, or in insertion order. Records without the key come last."""
        ...


@runtime_checkable
class MetadataStore(Protocol):
    """Marks of one collection, keyed by record id."""

    def get(self, ids: Sequence[str]) -> dict[str, Marks]:
        """Return the marks of the given records. Records without marks are left out."""
        ...

    def all(self) -> dict[str, Marks]:
        """Return the marks of all records that have any."""
        ...

    def replace(self, marks: Mapping[str, Marks]) -> None:
        """Set the marks of some records. Empty marks delete the entry."""
        ...

    def version(self) -> object:
        """Return a value that changes whenever any process replaces marks."""
        ...
