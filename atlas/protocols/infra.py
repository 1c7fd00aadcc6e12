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
"""Callback that takes the number done and the total."""


@runtime_checkable
class Clock(Protocol):
    """A source of the time."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Everything that a memory asks of an embedding model. The rest of a `WholeEmbedder` is made up for."""

    def encode(self, text: str) -> npt.ArrayLike:
        """Return the vector of one text: numbers, shape (dim,), not all zero."""
        ...


@runtime_checkable
class WholeEmbedder(Embedder, Protocol):
    """An embedding model that turns texts into vectors of unit length. It is sync, and called in a thread.

    A memory makes one of any `Embedder`. It may have more methods:

    - `encode_query(text) -> (dim,)` embeds a question of any length. It is for models that embed questions in another
      way than documents, or that must cut long ones. Without it, `encode` does.
    - `windows(text) -> list[tuple[int, int]]` cuts a text into spans of characters, in order and overlapping, each of
      which the model reads whole. A text that fits has one. Without it, every text is embedded at once, as far as the
      model reads it.
    - `encode_with_tokens(texts) -> (vectors, tokens)` gives the vectors of each document's word pieces as well, and
      `query_tokens(text)` those of a question. See `atlas.storage.late_interaction`. Without them, texts are compared
      as wholes and by their words.
    - `word_vectors(text)` gives the words of a text with their vectors, so that a hit can show which words met. See
      `atlas.embedding.met_words`.
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
        """Return the vector of one document, shape (dim,)."""
        ...

    def encode_batch(self, texts: list[str]) -> Vectors:
        """Return the vectors of several documents, shape (n, dim)."""
        ...


@runtime_checkable
class LLMClient(Protocol):
    """A language model.

    Only its caller checks its replies, so ask through `atlas.llm.structured_output.ask`. It may have a `model_name`,
    which is written beside what it made, and a `concurrency`, the number of questions that it takes at once.
    """

    async def complete(
        self, system: str, prompt: str, *, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Any:
        """Return the reply's text, or, given the JSON schema of an object, the object that the model gave.

        Args:
            system: Instructions to the model.
            prompt: The question.
            schema: JSON schema of the object to reply with.
            max_tokens: Maximum tokens of the answer. A model's thinking has room of its own.

        Raises:
            LLMUnavailable: No model can be asked, now or at all. The message names the remedy.
            LLMBudgetExceeded: The question would take more tokens than the operation may. It was not asked.
            LLMReplyInvalid: The reply was cut off, refused, or not of the form that was asked for.
        """
        ...


@runtime_checkable
class CorrectableLLM(LLMClient, Protocol):
    """A language model that can be shown its own answer, and what is wrong with it, as a conversation."""

    async def correct(
        self, system: str, prompt: str, answer: Any, fault: str, *, schema: Mapping[str, Any], max_tokens: int = 1024
    ) -> Any:
        """Return another answer to a question, as `complete` does.

        Args:
            system: Instructions to the model.
            prompt: The question.
            answer: The first answer: an object, or the text of a reply without one.
            fault: The fault of the answer.
            schema: JSON schema of the object to reply with.
            max_tokens: Maximum tokens of the answer.
        """
        ...


@runtime_checkable
class VectorIndex(Protocol):
    """Nearest neighbours by cosine similarity. They are derived from the ledger, and may be deleted at any time."""

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
    """One collection of records: their documents, vectors and metadata. It is all that a memory needs of a store."""

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
        """Return the records found, in the order of `ids`: dicts of `id`, `metadata`, `document` and `embedding`."""
        ...


@runtime_checkable
class BrowsableVectorStore(VectorStore, Protocol):
    """A store that can also be counted, listed and searched by words. A memory uses those of its methods that it has.

    `count` serves `len`. Without `update`, a record that changes is deleted and added. A store with all of them takes
    long texts as several vectors.
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
        """Return the k records that match the words of a text best (BM25), best first. Any text is literal."""
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
        """Return records sorted by a metadata key, those without it last, or in the order in which they were added."""
        ...


@runtime_checkable
class MetadataStore(Protocol):
    """Marks of one collection, by record id."""

    def get(self, ids: Sequence[str]) -> dict[str, Marks]:
        """Return the marks of those of the records that have any."""
        ...

    def all(self) -> dict[str, Marks]:
        """Return the marks of every record that has any."""
        ...

    def replace(self, marks: Mapping[str, Marks]) -> None:
        """Set the marks of some records. Empty marks remove the record's entry."""
        ...

    def version(self) -> object:
        """Return a value that changes whenever any process has replaced marks."""
        ...
