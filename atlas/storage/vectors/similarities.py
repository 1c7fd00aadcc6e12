"""Samples of the similarities between a collection's records."""

from __future__ import annotations

import numpy as np

from atlas.core.types import Vector
from atlas.storage.engine import LedgerEngine
from atlas.storage.records import Seqs
from atlas.storage.vectors.vector_search import VectorSearch

SAME_TEXT_COSINE = 0.999
"""Minimum cosine of records with the same text. Such pairs are left out of the measurement of neighbours."""

N_NEAREST = 16
"""Number of nearest records among which the nearest record with another text is searched."""


def sample_similarities(ledger: LedgerEngine, collection: str, nearest: VectorSearch, n: int) -> tuple[Vector, Vector]:
    """Return the cosines of all pairs among n sampled records, and of each of them with its nearest neighbour.

    Neighbours with the same text do not count. The records are spread evenly over the order in which they were added,
    so the sample of a store is always the same.
    """
    seqs = sample_seqs(ledger, collection, n)
    owners, windows = ledger.vectors.read_by_seq(seqs)
    _, first_windows = np.unique(owners, return_index=True)
    vectors = windows[first_windows]
    cosines = vectors @ vectors.T if len(vectors) else np.zeros((0, 0), np.float32)
    pair_cosines = cosines[np.triu_indices(len(vectors), 1)]
    neighbour_cosines = [_nearest_cosine(nearest, vector) for vector in vectors]
    return pair_cosines.astype(np.float32), np.array(
        [cosine for cosine in neighbour_cosines if cosine is not None], np.float32
    )


def sample_seqs(ledger: LedgerEngine, collection: str, n: int) -> Seqs:
    """Return the numbers of at most n records, spread evenly over the order in which they were added."""
    seqs = np.sort(ledger.matching_seqs(collection))
    return seqs[np.unique(np.linspace(0, max(len(seqs) - 1, 0), min(n, len(seqs))).astype(np.int64))]


def _nearest_cosine(nearest: VectorSearch, vector: Vector) -> float | None:
    """Return the cosine of a vector with the nearest record of another text, or None if there is none nearby."""
    neighbours = nearest.query(vector, N_NEAREST)
    return next((similarity for _, similarity in neighbours if similarity < SAME_TEXT_COSINE), None)
