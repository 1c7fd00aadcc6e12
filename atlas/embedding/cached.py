"""A caching embedder, for runs that embed the same texts repeatedly."""

from __future__ import annotations

from typing import Any

import numpy as np

from atlas.core.types import Vector, Vectors
from atlas.embedding.plain import WITH_TOKENS, whole_embedder
from atlas.infra.duck_typing import get_member
from atlas.protocols.infra import Embedder


class CachedEmbedder:
    """A wrapper of another embedder with an in-memory cache of all its vectors, which has no size limit."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = whole_embedder(embedder)
        self.model_name = self._embedder.model_name
        self._documents: dict[str, Vector] = {}
        self._queries: dict[str, Vector] = {}
        for name in WITH_TOKENS:  # not cached, as token vectors of many texts would fill the memory
            if (member := get_member(self._embedder, name)) is not None:
                setattr(self, name, member)

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return self._embedder.dimension

    def encode(self, text: str) -> Vector:
        """Return the vector of one document."""
        vector: Vector = self.encode_batch([text])[0]
        return vector

    def encode_query(self, text: str) -> Vector:
        """Return the vector of a query."""
        if text not in self._queries:
            encode = getattr(self._embedder, "encode_query", self.encode)
            self._queries[text] = encode(text)
        return self._queries[text]

    def encode_batch(self, texts: list[str]) -> Vectors:
        """Return the vectors of several documents."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._documents]
        if missing:
            self._documents.update(zip(missing, self._embedder.encode_batch(missing), strict=True))
        vectors = [self._documents[text] for text in texts]
        return np.stack(vectors) if vectors else np.zeros((0, self.dimension), np.float32)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped embedder that this class lacks, such as `checksum`."""
        return getattr(self._embedder, name)
