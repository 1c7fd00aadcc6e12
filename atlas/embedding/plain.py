"""Adapter from any object with `encode` to a complete embedder."""

from __future__ import annotations

import inspect
from functools import cached_property

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.types import Vector, Vectors
from atlas.infra.duck_typing import get_member, has_member
from atlas.protocols.infra import Embedder, WholeEmbedder

MEMBERS = ("model_name", "dimension", "encode_batch")
"""Members of a `WholeEmbedder`, besides `encode`."""

WITH_TOKENS = ("encode_with_tokens", "query_tokens")
"""Members of an embedder with token vectors."""

REMEMBERED_QUERIES = 256
"""Size of an embedder's cache of query vectors."""

KNOWN_TEXTS = "known_texts"
"""Member of an embedder with precomputed vectors of some texts."""

WORDS = "word_vectors"
"""Member of an embedder with word vectors."""

OPTIONAL = (KNOWN_TEXTS, WORDS, "windows", "count_tokens", "checksum", *WITH_TOKENS)
"""Optional members of an embedder, without a fallback."""

SAMPLE_TEXT = "dimension"
"""A text that is embedded to find the dimension."""


def whole_embedder(embedder: Embedder) -> WholeEmbedder:
    """Return the embedder itself if it has all members of `WholeEmbedder`, else an adapter that has them.

    Raises:
        InvalidInput: The object has no `encode`, or an async one.
    """
    encode = get_member(embedder, "encode")
    if not callable(encode) or inspect.iscoroutinefunction(encode) or isinstance(embedder, str):
        raise InvalidInput(
            "expected an embedder with a sync method encode(text) that returns a vector, got "
            f"{type(embedder).__name__!r}; pass one, such as atlas.infra.embeddings.SentenceTransformerEmbedder()"
        )
    if all(has_member(embedder, name) for name in MEMBERS):  # reading the dimension of some models loads their weights
        return embedder  # type: ignore[return-value]
    return EmbedderAdapter(embedder)


class EmbedderAdapter:
    """A complete embedder around an object that has at least `encode`.

    The adapter uses the object's other members if there are any, and normalises vectors to unit length. A store is
    bound to the object's `model_name`, or else to the name of its class. In the latter case, two models of one class
    are only told apart by their dimension.
    """

    def __init__(self, encoder: Embedder) -> None:
        self._encoder = encoder
        for name in OPTIONAL:
            if (member := get_member(encoder, name)) is not None:
                setattr(self, name, member)

    @property
    def model_name(self) -> str:
        """Name of the embedding model, which a store records and then requires."""
        kind = type(self._encoder)
        return str(get_member(self._encoder, "model_name") or f"{kind.__module__}.{kind.__qualname__}")

    @cached_property
    def dimension(self) -> int:
        """Dimension of the vectors. If the embedder does not declare it, a text is embedded to find it."""
        return int(get_member(self._encoder, "dimension") or len(self.encode(SAMPLE_TEXT)))

    def encode(self, text: str) -> Vector:
        """Return the vector of one document, shape (dim,)."""
        return _to_unit_vector(self._encoder.encode(text))

    def encode_batch(self, texts: list[str]) -> Vectors:
        """Return the vectors of several documents, shape (n, dim)."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        encode_batch = get_member(self._encoder, "encode_batch")
        return _to_unit_length(encode_batch(texts)) if encode_batch else np.stack([self.encode(text) for text in texts])

    def encode_query(self, text: str) -> Vector:
        """Return the vector of a query, from the wrapped object's `encode_query` if it has one."""
        return _to_unit_vector((get_member(self._encoder, "encode_query") or self._encoder.encode)(text))


def _to_unit_length(vectors: npt.ArrayLike) -> Vectors:
    """Return vectors scaled to unit length. A zero vector stays unchanged, and the store rejects it."""
    rows = np.atleast_2d(np.asarray(vectors, np.float32))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    scaled: Vectors = rows / lengths
    return scaled


def _to_unit_vector(values: npt.ArrayLike) -> Vector:
    vector: Vector = _to_unit_length(values)[0]
    return vector
