"""The embedder at the path that the specifications give it."""

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
