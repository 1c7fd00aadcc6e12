"""The embedder, importable from the path that the specification of ATLAS names."""

from atlas.embedding.sentence_transformers import (
    BUNDLED,
    Embedder,
    ModelChoice,
    SentenceTransformerEmbedder,
    bundled_weights,
    canonical_name,
    choose_model,
)
from atlas.embedding.sentence_transformers import (
    DEFAULT_MODEL as PREFERRED,
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
