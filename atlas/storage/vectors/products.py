"""Products of many vectors with one."""

from __future__ import annotations

import numpy as np

from atlas.core.types import Vector, Vectors


def products(vectors: Vectors, vector: Vector) -> Vector:
    """Return the products of rows with one vector, worked out in this thread.

    BLAS shares them out among as many threads as there are processors. As memory is what they wait for, that gains
    little, and with other processes at work it costs: at 3,000 rows 4 ms of the processor instead of 0.2.
    """
    similarities: Vector = np.einsum("ij,j->i", vectors, vector)
    return similarities
