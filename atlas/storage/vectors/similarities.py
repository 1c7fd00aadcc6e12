"""How similar the records of a collection are to each other: the scale that similarities are read on."""

from __future__ import annotations

import numpy as np

from atlas.core.types import Vector
from atlas.storage.engine import LedgerEngine
from atlas.storage.records import Seqs
from atlas.storage.vectors.vector_search import Nearest

SAME_TEXT = 0.999
"""Least cosine for which two records count as the same text. Such pairs are not used to measure neighbours."""

LOOKED_AT = 16
"""Number of nearest records among which the nearest record with another text is searched."""


def sample(ledger: LedgerEngine, collection: str, nearest: Nearest, n: int) -> tuple[Vector, Vector]:
    """Return cosines of pairs of some n records, and of each with the nearest record of other content.

    The records are spread evenly over the order in which they were added, so the sample of a store is always the same.
    """
    seqs = spread(ledger, collection, n)
    owners, windows = ledger.vectors.at(seqs)
    _, first = np.unique(owners, return_index=True)
    vectors = windows[first]
    pairs = vectors @ vectors.T if len(vectors) else np.zeros((0, 0), np.float32)
    unrelated = pairs[np.triu_indices(len(vectors), 1)]
    near = [_nearest_other(nearest, vector) for vector in vectors]
    return unrelated.astype(np.float32), np.array([value for value in near if value is not None], np.float32)


def spread(ledger: LedgerEngine, collection: str, n: int) -> Seqs:
    """Return the numbers of at most n records, spread evenly over the order in which they were added."""
    seqs = np.sort(ledger.matching(collection))
    return seqs[np.unique(np.linspace(0, max(len(seqs) - 1, 0), min(n, len(seqs))).astype(np.int64))]


def _nearest_other(nearest: Nearest, vector: Vector) -> float | None:
    found = nearest.query(vector, LOOKED_AT)
    return next((similarity for _, similarity in found if similarity < SAME_TEXT), None)
