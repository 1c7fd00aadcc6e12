"""Grids to draw from."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

COLORS = st.integers(0, 9)
FEW = settings(max_examples=25, deadline=None)


def grids(colors=COLORS):
    """Grids of up to six rows and columns."""
    shapes = array_shapes(min_dims=2, max_dims=2, max_side=6)
    return arrays(np.int64, shapes, elements=colors, fill=st.nothing()).map(np.ndarray.tolist)
