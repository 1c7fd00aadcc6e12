"""Protocols of outside systems: embedding models, language models, stores of vectors and of marks, the clock."""

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

Several keys mean all of them. A record without the key never matches; a key with several values (tags) matches if one
does. Keys that begin with `marks.` or `usage.` ask for what happened to the record since it was stored."""

Progress = Callable[[int, int], None]
"""Called with how many are done, and of how many."""


@runtime_checkable
class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """The present, in UTC."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """All that a memory asks of an embedding model; what a `WholeEmbedder` has besides is made up for."""

    def encode(self, text: str) -> npt.ArrayLike:
        """Return the vector of one text: numbers, shape (dim,), not all zero."""
        ...


@runtime_checkable
class WholeEmbedder(Embedder, Protocol):
    """Turns texts into vectors of unit length. Synchronous; components call it in a thread.

    A memory makes one of any `Embedder`. It may have two methods more. `encode_query(text) -> (dim,)` embeds a
    question, of any length, where questions are embedded in another way than documents, or where long ones have to be
    cut; without it, `encode` does. `windows(text) -> list[tuple[int, int]]` cuts a text into spans of characters, in
    order and overlapping, each of which the model reads whole, one for a text that fits; without it, every text is
    embedded at once, as far as the model reads it.
    """

    @property
    def model_name(self) -> str:
        """The name that a store is bound to."""
        ...

    @property
    def dimension(self) -> int:
        """Length of its vectors."""
        ...

    def encode(self, text: str) -> Vector:
        """The vector of one document, shape (dim,)."""
        ...

    def encode_batch(self, texts: list[str]) -> Vectors:
        """The vectors of several documents, shape (n, dim)."""
        ...


@runtime_checkable
class LLMClient(Protocol):
    """A language model.

    Its caller alone checks what it replies, so ask through `atlas.llm.structured_output.ask`. It may have a
    `model_name`, which is written beside what it made.
    """

    async def complete(
        self, system: str, prompt: str, *, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Any:
        """The reply's text, or, with the JSON schema of an object, what the model gave as such an object.

        Args:
            max_tokens: Of the answer; a model's thinking has room of its own.

        Raises:
            LLMUnavailable: No model can be asked, now or at all; the message says what to do.
            LLMBudgetExceeded: The question would take more tokens than the operation may; it was not asked.
            LLMReplyInvalid: The reply was cut off, refused, or not of the form that was asked for.
        """
        ...


@runtime_checkable
class VectorIndex(Protocol):
    """Nearest neighbours by cosine similarity. Derived from the ledger: it may be deleted at any time."""

    def upsert(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Hold these vectors under these keys, in place of what the keys held."""
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Forget these keys; unknown ones are ignored."""
        ...

    def query(self, vector: Vector, k: int) -> list[tuple[str, float]]:
        """At most k keys with their similarity, highest first."""
        ...

    def count(self) -> int:
        """How many keys it holds."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...


@runtime_checkable
class VectorStore(Protocol):
    """One collection of records: their documents, vectors and metadata. All that a memory needs of a store."""

    async def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Hold new records; each embedding has shape (dim,), or (n, dim) for a long text: the whole and its windows.

        Raises:
            InvalidInput: An id is there already, lengths differ, or a vector has another dimension.
        """
        ...

    async def query(self, embedding: npt.ArrayLike, k: int, where: Where | None = None) -> QueryResult:
        """The k records whose best window is nearest to a vector, nearest first."""
        ...

    async def delete(self, ids: list[str]) -> None:
        """Remove records; unknown ids are ignored."""
        ...

    async def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """The records found, in the order of `ids`: dicts of `id`, `metadata`, `document` and `embedding`."""
        ...


@runtime_checkable
class BrowsableVectorStore(VectorStore, Protocol):
    """A store that can be counted, listed and searched by words too; a memory uses whatever a store has of these.

    `count` serves `len`. Without `update`, a record that changes is deleted and added. A store with all of
    them takes long texts as several vectors.
    """

    async def count(self, where: Where | None = None) -> int:
        """How many records there are."""
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
            NotFound: An id is not there.
        """
        ...

    async def search_text(self, text: str, k: int, where: Where | None = None) -> QueryResult:
        """The k records that share the most telling words with a text (BM25), best first. Any text is literal."""
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
        """Records sorted by a metadata key, or in the order they were added; those without the key come last."""
        ...


@runtime_checkable
class MetadataStore(Protocol):
    """Marks of one collection, by record id."""

    def get(self, ids: Sequence[str]) -> dict[str, Marks]:
        """The marks of those of the records that have any."""
        ...

    def all(self) -> dict[str, Marks]:
        """The marks of every record that has any."""
        ...

    def replace(self, marks: Mapping[str, Marks]) -> None:
        """Set the marks of some records; empty marks remove the record's entry."""
        ...

    def version(self) -> object:
        """A value that changes whenever another process or this one has replaced marks."""
        ...
