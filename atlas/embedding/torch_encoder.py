"""The encoder with sentence-transformers and torch, which takes seconds to import."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from atlas.core.errors import EmbeddingUnavailable
from atlas.core.imports.distribution import extra
from atlas.core.types import Vectors
from atlas.embedding.choice import BUNDLED, bundled_weights
from atlas.embedding.late_interaction import TokenVectors, WordVectors


class TorchEncoder:
    """An encoder that runs a model of sentence-transformers with torch. It returns no word pieces."""

    returns_tokens = False

    def __init__(self, model: Any, batch_size: int) -> None:
        self.model = model
        self.dimension = int(model.get_embedding_dimension())
        self.window: int | None = model.max_seq_length
        self.tokenizer: Any = getattr(model.tokenizer, "backend_tokenizer", None)
        self._batch_size = batch_size
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, of unit length, shape (n, dim)."""
        with self._lock:  # tokenizers of transformers are not thread-safe: padding is configured at each call
            vectors = self.model.encode(
                list(texts),
                prompt="",  # the texts include their prompts; without this, a default prompt would be added
                batch_size=self._batch_size,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        as_floats: Vectors = np.asarray(vectors, np.float32)
        return as_floats

    def encode_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenVectors]]:
        """Raise `NotImplementedError`: `returns_tokens` is False."""
        raise NotImplementedError("this encoder returns pooled vectors only")

    def word_vectors(self, text: str) -> WordVectors:
        """Raise `NotImplementedError`: `returns_tokens` is False."""
        raise NotImplementedError("this encoder returns pooled vectors only")


def load_model(name: str, device: str | None = None, **options: Any) -> Any:
    """Return a model of sentence-transformers.

    Args:
        device: Name of a torch device. None picks the best available one.
        options: Passed on to `SentenceTransformer`.

    Raises:
        EmbeddingUnavailable: The model cannot be loaded.
    """
    location = str(bundled_weights()) if name == BUNDLED else name
    with extra("models", f"the embedding model {name!r}", EmbeddingUnavailable):
        from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(location, device=device, **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise EmbeddingUnavailable(
            f"the embedding model {name!r} cannot be loaded ({error}). Check its name and the network, or use the "
            f"bundled model in a new store: ATLAS_EMBEDDING_MODEL={BUNDLED}"
        ) from error
