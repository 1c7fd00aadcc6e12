"""Interface between the embedder and the backends onnxruntime and sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from atlas.core.types import Vectors
from atlas.embedding.late_interaction import TokenVectors, WordVectors


class Encoder(Protocol):
    """An embedding model that is loaded in memory."""

    dimension: int
    """Length of the vectors."""

    window: int | None
    """Maximum word pieces per text, including special ones, or None if there is no limit."""

    tokenizer: Any
    """Tokenizer of the package `tokenizers`, or None if the model has another kind."""

    returns_tokens: bool
    """True if `encode_with_tokens` and `word_vectors` are supported."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, of unit length, shape (n, dim)."""
        ...

    def encode_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenVectors]]:
        """Return the vectors of texts and of their word pieces, from one run of the model."""
        ...

    def word_vectors(self, text: str) -> WordVectors:
        """Return the words of a text that fits the window, with their vectors."""
        ...
