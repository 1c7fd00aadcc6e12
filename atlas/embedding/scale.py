"""The scale of a model: which similarity it gives to texts on different subjects, and which to neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from atlas.core.types import Vectors
from atlas.embedding.foreign_queries import foreign_queries

EVERY = 6
"""One foreign query in this number is embedded: some 70, about one of each subject, in half a second."""

NEAR_SHARE = 0.76
"""Similarity of neighbours, interpolated between that of foreign texts (0) and of a text and two thirds of it (1).
Chosen so that the bundled model's scale comes out as measured on stores: 0.65."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Usual similarities of one model."""

    unrelated: float
    """Cosine of two texts on different subjects, usually."""

    near: float
    """Cosine of a text and the nearest other one of a store, usually."""


def scale_of(encode: Callable[[list[str]], Vectors]) -> Scale:
    """Return the scale of a model, measured on pairs of foreign queries and on each with a part of itself.

    Args:
        encode: Embeds documents, as rows of unit length.
    """
    texts = list(foreign_queries()[::EVERY])
    vectors = encode([*texts, *map(_part, texts)])
    whole, parts = vectors[: len(texts)], vectors[len(texts) :]
    similarities = whole @ whole.T
    unrelated = float(np.median(similarities[np.triu_indices(len(texts), 1)]))
    itself = float(np.median((whole * parts).sum(axis=1)))
    return Scale(unrelated=unrelated, near=unrelated + NEAR_SHARE * max(0.0, itself - unrelated))


def _part(text: str) -> str:
    """Return the first two thirds of a text's words."""
    words = text.split()
    return " ".join(words[: max(1, len(words) * 2 // 3)])
