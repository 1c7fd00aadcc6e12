"""The embedder, at its specified import path."""

from atlas.embedding.sentence_transformers import (
    BUNDLED,
    PREFERRED,
    Embedder,
    ModelChoice,
    SentenceTransformerEmbedder,
    bundled_weights,
    canonical_name,
    choose_model,
)

__all__ = [
    "BUNDLED",
    "PREFERRED",
    "Embedder",
    "ModelChoice",
    "SentenceTransformerEmbedder",
    "bundled_weights",
    "canonical_name",
    "choose_model",
]
