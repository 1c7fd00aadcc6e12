"""The similarity scale of a store: typical values for unrelated and for near texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from atlas.core.ranking.tuned import MAX_EXCESS, MAX_SHORTFALL, MIN_SPAN, SHRINKAGE
from atlas.core.types import Vector
from atlas.infra.duck_typing import get_member
from atlas.memory.base.scoring import Calibration
from atlas.protocols.infra import WholeEmbedder

MODEL_SCALES = {
    "all-MiniLM-L6-v2": Calibration(unrelated=0.08, near=0.65),
    "BAAI/bge-small-en-v1.5": Calibration(unrelated=0.5, near=0.85),
    "BAAI/bge-base-en-v1.5": Calibration(unrelated=0.45, near=0.82),
    "BAAI/bge-large-en-v1.5": Calibration(unrelated=0.5, near=0.85),
}
"""Usual scales of models, for stores without enough records. The values of bge are estimates."""


def model_scale(embedder: WholeEmbedder) -> Calibration:
    """Return the typical cosines of a model: from a table, or else measured on foreign texts.

    An embedder without a method `measured_scale` gets the default of `Calibration`.
    """
    measure = get_member(embedder, "measured_scale")
    if embedder.model_name in MODEL_SCALES or measure is None:
        return MODEL_SCALES.get(embedder.model_name, Calibration())
    cosines = measure()
    return Calibration(unrelated=cosines.unrelated, near=max(cosines.near, cosines.unrelated + MIN_SPAN))


def calibrate(
    unrelated: npt.NDArray[np.float32], neighbours: npt.NDArray[np.float32], model_scale: Calibration
) -> Calibration:
    """Return the similarity scale of a store.

    Args:
        unrelated: Cosines of random pairs of the store's records.
        neighbours: Cosine of each sampled record with its nearest neighbour.
        model_scale: The model's typical cosines. They weigh more the fewer records there are. They also bound the
            result, because a store on one subject has no unrelated pairs, and a small store has no near neighbours.
    """
    unrelated_cosine = min(_shrink_to_model(unrelated, model_scale.unrelated), model_scale.unrelated + MAX_EXCESS)
    near_cosine = max(_shrink_to_model(neighbours, model_scale.near), model_scale.near - MAX_SHORTFALL)
    return Calibration(unrelated=unrelated_cosine, near=max(near_cosine, unrelated_cosine + MIN_SPAN))


def median_cosine(vectors: Sequence[Vector]) -> float:
    """Return the median cosine of pairs of at least two vectors of unit length."""
    rows = np.asarray(vectors)
    return float(np.median((rows @ rows.T)[np.triu_indices(len(rows), 1)]))


def _shrink_to_model(values: npt.NDArray[np.float32], model_value: float) -> float:
    """Return the median of the values, drawn towards the value of the model.

    The fewer values there are, the closer the result is to the value of the model.
    """
    median = float(np.median(values)) if len(values) else model_value
    return (median * len(values) + model_value * SHRINKAGE) / (len(values) + SHRINKAGE)
