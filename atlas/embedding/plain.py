"""Any object with `encode` as an embedder: the other members that it lacks are made up for."""

from __future__ import annotations

import inspect
from functools import cached_property

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.types import Vector, Vectors
from atlas.infra.duck_typing import get_offered, offers
from atlas.protocols.infra import Embedder, WholeEmbedder

MEMBERS = ("model_name", "dimension", "encode_batch")
"""Members of a `WholeEmbedder` beside `encode`."""

WITH_TOKENS = ("encode_with_tokens", "query_tokens")
"""Members of an embedder that gives the vectors of word pieces."""

KNOWN = "known_texts"
"""Member of an embedder that has the vectors of some texts already."""

WORDS = "word_vectors"
"""Member of an embedder that returns the words of a text."""

OPTIONAL = (KNOWN, WORDS, "windows", "count_tokens", "checksum", *WITH_TOKENS)
"""Optional members of an embedder that have no substitute."""

MEASURED = "dimension"
"""A text that is embedded to see how long the vectors are."""


def whole_embedder(embedder: Embedder) -> WholeEmbedder:
    """Return an embedder with every member: itself if it has them, else one that makes up for those it lacks.

    Raises:
        InvalidInput: It has no `encode`, or one that has to be awaited.
    """
    encode = get_offered(embedder, "encode")
    if not callable(encode) or inspect.iscoroutinefunction(encode) or isinstance(embedder, str):
        raise InvalidInput(
            "expected an embedder with a sync method encode(text) that returns a vector, got "
            f"{type(embedder).__name__!r}; pass one, such as atlas.infra.embeddings.SentenceTransformerEmbedder()"
        )
    if all(offers(embedder, name) for name in MEMBERS):  # the dimension of some models needs their weights loaded
        return embedder  # type: ignore[return-value]
    return PlainEmbedder(embedder)


class PlainEmbedder:
    """An embedder over an object that needs `encode` alone. It uses the other members that the object has.

    Its vectors are scaled to unit length. A store is bound to its `model_name`, or, without one, to the name of its
    class. Then two models of one class differ only in dimension.
    """

    def __init__(self, encoder: Embedder) -> None:
        self._encoder = encoder
        for name in OPTIONAL:
            if (member := get_offered(encoder, name)) is not None:
                setattr(self, name, member)

    @property
    def model_name(self) -> str:
        """The name that a store is bound to."""
        kind = type(self._encoder)
        return str(get_offered(self._encoder, "model_name") or f"{kind.__module__}.{kind.__qualname__}")

    @cached_property
    def dimension(self) -> int:
        """Length of its vectors. By default a text is embedded as a document."""
        return int(get_offered(self._encoder, "dimension") or len(self.encode(MEASURED)))

    def encode(self, text: str) -> Vector:
        """Return the vector of one document, shape (dim,)."""
        return _vector(self._encoder.encode(text))

    def encode_batch(self, texts: list[str]) -> Vectors:
        """Return the vectors of several documents, shape (n, dim)."""
        together = get_offered(self._encoder, "encode_batch")
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return _unit(together(texts)) if together else np.stack([self.encode(text) for text in texts])

    def encode_query(self, text: str) -> Vector:
        """Return the vector of a question, by the encoder's own way if it has one."""
        return _vector((get_offered(self._encoder, "encode_query") or self._encoder.encode)(text))


def _unit(vectors: npt.ArrayLike) -> Vectors:
    """Return vectors as rows of unit length.

    A row without a direction stays as it is, for the store to refuse.
    """
    rows = np.atleast_2d(np.asarray(vectors, np.float32))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    scaled: Vectors = rows / lengths
    return scaled


def _vector(values: npt.ArrayLike) -> Vector:
    vector: Vector = _unit(values)[0]
    return vector
