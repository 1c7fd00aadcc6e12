"""Fakes for tests of code that uses ATLAS: scripted, deterministic and fast."""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.filters import matches, parse_where
from atlas.core.hits import QueryResult
from atlas.core.types import Vector, Vectors
from atlas.embedding.chunking import (
    MAX_QUERY_WINDOWS,
    MAX_WINDOWS,
    Span,
    mean_direction,
    to_character_spans,
    window_spans,
)
from atlas.embedding.late_interaction import NO_TOKENS, NO_WORDS, TokenVectors, WordVectors, distinct_pieces
from atlas.protocols.infra import Where


class HashEmbedder:
    """An embedder without a model, based on hashes of words: texts that share words are similar."""

    def __init__(self, dimension: int = 64, model_name: str = "hash", *, window_words: int | None = None) -> None:
        """Create an embedder. `window_words` limits the words per text, like a model's window."""
        self.dimension = dimension
        self.model_name = model_name
        self.window_words = window_words
        self.texts: list[str] = []
        """Every embedded text, in order."""

    def encode(self, text: str) -> Vector:
        """Return the vector of one text."""
        vector: Vector = self.encode_batch([text])[0]
        return vector

    def encode_batch(self, texts: list[str]) -> Vectors:
        """Return the vectors of several texts."""
        self.texts.extend(texts)
        if texts:
            return np.stack([self._embed(text) for text in texts])
        return np.zeros((0, self.dimension), np.float32)

    def encode_query(self, text: str) -> Vector:
        """Return the vector of a query of any length."""
        spans = self._spans(text, MAX_QUERY_WINDOWS)
        return mean_direction(self.encode_batch([text[start:end] for start, end in spans]))

    def windows(self, text: str) -> list[Span]:
        """Return character spans of at most `window_words` words. See `SentenceTransformerEmbedder.windows`."""
        return self._spans(text, MAX_WINDOWS)

    def _spans(self, text: str, max_windows: int) -> list[Span]:
        words = [word.span() for word in re.finditer(r"\w+", text)]
        if self.window_words is None:
            return [(0, len(text))]
        return to_character_spans(window_spans(len(words), self.window_words, max_windows), words, len(text))

    def _embed(self, text: str) -> Vector:
        total = np.zeros(self.dimension, np.float32)
        for word in re.findall(r"\w+", text.lower())[: self.window_words] or [text]:
            seed = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
            total += np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        scaled: Vector = total / np.linalg.norm(total)
        return scaled


class HashTokenEmbedder(HashEmbedder):
    """A `HashEmbedder` that also returns vectors of words, for late interaction."""

    def encode_with_tokens(self, texts: list[str]) -> tuple[Vectors, list[TokenVectors]]:
        """Return the vectors of texts and of their words."""
        return self.encode_batch(texts), [self.query_tokens(text) for text in texts]

    def word_vectors(self, text: str) -> WordVectors:
        """Return the words of a text with their vectors."""
        words = tuple(re.findall(r"\w+", text))
        if words:
            return WordVectors(words, np.stack([self._embed(word) for word in words]))
        return NO_WORDS

    def query_tokens(self, text: str) -> TokenVectors:
        """Return the vectors of a query's words."""
        words = re.findall(r"\w+", text.lower())
        digests = [hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=4).digest() for word in words]
        ids = np.array([int.from_bytes(digest, "big") for digest in digests])
        return distinct_pieces(ids, np.stack([self._embed(word) for word in words])) if words else NO_TOKENS


class ScriptedLLM:
    """A language model that returns scripted answers in order, and records its prompts.

    An answer that is an exception is raised.
    """

    model_name = "scripted"

    def __init__(self, answers: Sequence[Any]) -> None:
        self._answers = list(answers)
        self.prompts: list[str] = []
        self.systems: list[str] = []
        self.corrected: list[Any] = []
        """Rejected answers, in order."""

    async def complete(
        self, system: str, prompt: str, *, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Any:
        """Return the next answer, or raise `AssertionError` if there is none."""
        self.prompts.append(prompt)
        self.systems.append(system)
        assert self._answers, f"expected no further question, got {prompt[:200]!r}"
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def correct(
        self, system: str, prompt: str, answer: Any, fault: str, *, schema: Mapping[str, Any], max_tokens: int = 1024
    ) -> Any:
        """Return the next answer, and record the fault in `prompts` and the rejected answer in `corrected`."""
        self.corrected.append(answer)
        return await self.complete(system, fault, schema=schema, max_tokens=max_tokens)


class ScriptedReranker:
    """A reranker with scripted scores, which records its calls."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self._scores = dict(scores)
        self.asked: list[tuple[str, list[str]]] = []
        """Each query with its documents, in order."""

    async def rerank(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return the documents' scores, or raise `AssertionError` for a document without one."""
        self.asked.append((query, list(documents)))
        unknown = [document for document in documents if document not in self._scores]
        assert not unknown, f"expected documents that have a score, got {unknown[0][:200]!r}"
        return [self._scores[document] for document in documents]


class FixedClock:
    """A clock whose time is fixed until it is advanced."""

    def __init__(self, at: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._at = at

    def now(self) -> datetime:
        """Return the fixed time."""
        return self._at

    def advance(self, by: timedelta) -> None:
        """Set the clock forward by a duration."""
        self._at += by


class MemoryVectorStore:
    """An in-memory `VectorStore`, the reference implementation."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Any]] = {}

    async def add(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Add new records."""
        _check_lengths(ids, embeddings, metadatas, documents)
        for record_id in ids:
            if record_id in self._rows or ids.count(record_id) > 1:
                raise InvalidInput(f"the record {record_id!r} exists already; use update to change it")
        self._put(ids, embeddings, metadatas, documents)

    async def update(
        self,
        ids: list[str],
        embeddings: Sequence[npt.ArrayLike],
        metadatas: list[dict[str, Any]],
        documents: list[str],
    ) -> None:
        """Replace records."""
        _check_lengths(ids, embeddings, metadatas, documents)
        for record_id in ids:
            if record_id not in self._rows:
                raise NotFound(f"there is no record {record_id!r}; it may have been deleted")
        self._put(ids, embeddings, metadatas, documents)

    async def delete(self, ids: list[str]) -> None:
        """Remove records."""
        for record_id in ids:
            self._rows.pop(record_id, None)

    async def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the records that exist, in the order of `ids`."""
        return [copy.deepcopy(self._rows[record_id]) for record_id in ids if record_id in self._rows]

    async def count(self, where: Where | None = None) -> int:
        """Return the number of records that pass a filter."""
        return len(self._passing_rows(where))

    async def query(self, embedding: npt.ArrayLike, k: int, where: Where | None = None) -> QueryResult:
        """Return the k records nearest to an embedding, by their best window, nearest first."""
        vector = self._to_windows(embedding)[0]
        scored = [(float((np.atleast_2d(row["embedding"]) @ vector).max()), row) for row in self._passing_rows(where)]
        return _result([(1.0 - value, row) for value, row in sorted(scored, key=lambda pair: -pair[0])[: max(k, 0)]])

    async def search_text(self, text: str, k: int, where: Where | None = None) -> QueryResult:
        """Return the k records that share most words with a text. Shared words are counted, without BM25 weights."""
        words = set(re.findall(r"\w+", text.lower()))
        scored = [(len(words & set(re.findall(r"\w+", _searchable(row)))), row) for row in self._passing_rows(where)]
        matches = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
        return _result([(1.0 / (1.0 + value), row) for value, row in matches[: max(k, 0)]])

    async def scan(
        self,
        where: Where | None = None,
        *,
        order_by: str = "",
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return the records that pass a filter, sorted by a metadata key."""
        rows = self._passing_rows(where)
        if order_by:
            present = [row for row in rows if row["metadata"].get(order_by) is not None]
            absent = [row for row in rows if row["metadata"].get(order_by) is None]
            rows = sorted(present, key=lambda row: row["metadata"][order_by], reverse=descending) + absent
        elif descending:
            rows = rows[::-1]
        return [copy.deepcopy(row) for row in rows[offset : None if limit is None else offset + limit]]

    def _passing_rows(self, where: Where | None) -> list[dict[str, Any]]:
        tree = parse_where(where)
        return [row for row in self._rows.values() if matches(tree, {**row["metadata"], "id": row["id"]})]

    def _put(
        self, ids: list[str], embeddings: Sequence[npt.ArrayLike], metadatas: list[dict[str, Any]], documents: list[str]
    ) -> None:
        windows = [self._to_windows(embedding) for embedding in embeddings]
        vectors = [window[0] if len(window) == 1 else window for window in windows]
        for record_id, embedding, metadata, document in zip(ids, vectors, metadatas, documents, strict=True):
            self._rows[record_id] = {
                "id": record_id,
                "embedding": embedding,
                "metadata": copy.deepcopy(metadata),
                "document": document,
            }

    def _to_windows(self, embedding: npt.ArrayLike) -> Vectors:
        """Return an embedding as windows of unit length, shape (n_windows, dim)."""
        with np.errstate(over="ignore"):  # an overflow becomes infinite, and is rejected below
            windows = np.atleast_2d(np.asarray(embedding, np.float32))
            lengths = np.linalg.norm(windows, axis=-1, keepdims=True)
        expected = next((row["embedding"].shape[-1] for row in self._rows.values()), windows.shape[-1])
        if windows.ndim != 2 or windows.shape[1] != expected:
            raise InvalidInput(
                f"expected an embedding of {expected} dimensions, got shape {windows.shape}; use the store's embedder"
            )
        if not np.isfinite(lengths).all():
            raise InvalidInput(
                "expected finite numbers for an embedding, got NaN or infinity; use the store's embedder"
            )
        if not lengths.all():
            raise InvalidInput(
                "expected an embedding with a number other than 0, got only zeros; use the store's embedder"
            )
        scaled: Vectors = windows / lengths
        return scaled


def _check_lengths(*columns: Sequence[Any]) -> None:
    if len(set(map(len, columns))) != 1:
        raise InvalidInput(
            f"expected as many embeddings, metadatas and documents as ids, but got {[*map(len, columns)]}"
        )


def _searchable(row: dict[str, Any]) -> str:
    return f"{row['document']} {row['metadata'].get('search_text', '')}".lower()


def _result(hits: list[tuple[float, dict[str, Any]]]) -> QueryResult:
    return QueryResult(
        ids=[row["id"] for _, row in hits],
        distances=[distance for distance, _ in hits],
        metadatas=[copy.deepcopy(row["metadata"]) for _, row in hits],
        documents=[row["document"] for _, row in hits],
    )
