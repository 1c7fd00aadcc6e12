"""The seam between the embedder and what computes its vectors: a graph in onnxruntime, or sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from atlas.core.types import Vectors
from atlas.embedding.late_interaction import TokenVectors, WordVectors


class Encoder(Protocol):
    """A loaded model."""

    dimension: int
    """Length of its vectors."""

    window: int | None
    """Most word pieces that it reads of a text, special ones counted. None if it has no limit."""

    tokenizer: Any
    """Its tokenizer, of the package `tokenizers`. None if it is of another kind."""

    gives_tokens: bool
    """True if it has `encode_with_tokens` and `word_vectors`."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, of unit length, shape (n, dim)."""
        ...

    def encode_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenVectors]]:
        """Return the same vectors, and those of each text's word pieces, from one run of the model."""
        ...

    def word_vectors(self, text: str) -> WordVectors:
        """Return the words of a text that the model reads at once, with their vectors."""
        ...
