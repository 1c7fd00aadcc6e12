"""The similarity scale of a model: the usual cosines of unrelated texts and of near neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from atlas.core.types import Vectors
from atlas.embedding.foreign_queries import foreign_queries

SAMPLE_STEP = 6
"""Every n-th foreign query is embedded: some 70, about one per subject, in half a second."""

NEAR_SHARE = 0.76
"""Typical cosine of near neighbours, on a scale from unrelated texts (0) to a text and its first two thirds
(1). Chosen to reproduce the 0.65 that was measured on stores with the bundled model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Typical cosines of texts with one embedding model."""

    unrelated: float
    """Typical cosine of two texts on different subjects."""

    near: float
    """Typical cosine of a text and its nearest neighbour in a store."""


def measure_scale(encode: Callable[[list[str]], Vectors]) -> Scale:
    """Measure a model's typical cosines: of pairs of foreign queries, and of each query with its first two thirds.

    Args:
        encode: Function that embeds documents as rows of unit length.
    """
    texts = list(foreign_queries()[::SAMPLE_STEP])
    vectors = encode([*texts, *map(_first_two_thirds, texts)])
    whole_vectors, part_vectors = vectors[: len(texts)], vectors[len(texts) :]
    similarities = whole_vectors @ whole_vectors.T
    unrelated = float(np.median(similarities[np.triu_indices(len(texts), 1)]))
    part_similarity = float(np.median((whole_vectors * part_vectors).sum(axis=1)))
    return Scale(unrelated=unrelated, near=unrelated + NEAR_SHARE * max(0.0, part_similarity - unrelated))


def _first_two_thirds(text: str) -> str:
    """Return the first two thirds of a text's words."""
    words = text.split()
    return " ".join(words[: max(1, len(words) * 2 // 3)])
