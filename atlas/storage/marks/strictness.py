"""The strictness of a store's searches, stored as a record, so that changes are in the history and can be undone."""

from __future__ import annotations

import logging
import math

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.storage.collection import Collection
from atlas.storage.engine import LedgerEngine

logger = logging.getLogger(__name__)

COLLECTION = "atlas_settings"
"""The collection of the record."""

DEFAULT_STRICTNESS = 1.0
"""The default strictness, with which the relevance threshold equals the measured one."""

MAX_STRICTNESS = 10.0

_ID, _FIELD = "strictness", "strictness"


def read_strictness(ledger: LedgerEngine) -> float:
    """Return the factor on the measured relevance threshold, or `DEFAULT_STRICTNESS` if it is missing or unreadable."""
    record = ledger.get(COLLECTION, [_ID], with_content=False).get(_ID)
    if record is None:
        return DEFAULT_STRICTNESS
    try:
        strictness = float(record.metadata[_FIELD])
        check_strictness(strictness)
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("the strictness of the store cannot be read, so searches are as calibrated: %r", error)
        return DEFAULT_STRICTNESS
    return strictness


def write_strictness(settings: Collection, dimension: int, strictness: float) -> None:
    """Store a strictness, replacing the earlier one.

    Args:
        settings: A view of the collection `COLLECTION`, made by `as_operation`.
        dimension: Dimension of the store's vectors.
    """
    direction = np.eye(1, dimension, dtype=np.float32)  # it is not searched by meaning
    metadata = {"title": "Strictness", _FIELD: float(strictness)}
    write = settings.update if settings.existing_ids([_ID]) else settings.add
    write([_ID], [direction[0]], [metadata], [f"strictness {strictness:g}"])


def check_strictness(strictness: float) -> None:
    """Raise `InvalidInput` for a strictness that is not in [0, `MAX_STRICTNESS`]."""
    if not (math.isfinite(strictness) and 0 <= strictness <= MAX_STRICTNESS):
        raise InvalidInput(f"expected a strictness from 0 to {MAX_STRICTNESS:g}, got {strictness!r}")
