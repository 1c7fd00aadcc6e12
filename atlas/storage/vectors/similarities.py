"""How similar the records of a collection are to each other: the scale that similarities are read on."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from atlas.core.types import Vector
from atlas.storage.parts import CollectionParts
from atlas.storage.sqlite.records import join_vectors

SAME_TEXT = 0.999
"""Cosine from which two records count as the same text; those say nothing of how near neighbours are."""

LOOKED_AT = 16
"""Nearest records among which the nearest with another text is looked for."""


def sample(collection: CollectionParts, n: int) -> tuple[Vector, Vector]:
    """Cosines of pairs of some n records, and of each of them with the nearest record that says something else.

    The records are spread evenly over the order in which they were added, so the sample of a store is always the same.
    """
    seqs = np.sort(collection.ledger.matching(collection.name))
    seqs = seqs[np.unique(np.linspace(0, max(len(seqs) - 1, 0), min(n, len(seqs))).astype(np.int64))]
    owners, windows = collection.ledger.vectors_at(seqs)
    _, first = np.unique(owners, return_index=True)
    vectors = windows[first]
    pairs = vectors @ vectors.T if len(vectors) else np.zeros((0, 0), np.float32)
    unrelated = pairs[np.triu_indices(len(vectors), 1)]
    near = [_nearest_other(collection, vector) for vector in vectors]
    return unrelated.astype(np.float32), np.array([one for one in near if one is not None], np.float32)


def first_vectors(collection: CollectionParts, ids: Sequence[str]) -> dict[str, Vector]:
    """The vector of each of some records as a whole, which is its first, by id."""
    with collection.ledger.database.read() as connection:
        rows = connection.execute(
            "SELECT r.id, v.vector FROM records r JOIN vectors v ON v.seq = r.seq AND v.window = 0 "
            "WHERE r.collection = ? AND r.deleted = 0 AND r.id IN (SELECT value FROM json_each(?))",
            (collection.name, json.dumps(list(ids))),
        ).fetchall()
        return dict(zip([row[0] for row in rows], join_vectors([row[1] for row in rows]), strict=True))


def _nearest_other(collection: CollectionParts, vector: Vector) -> float | None:
    found = collection.nearest.query(vector, LOOKED_AT)
    return next((similarity for _, similarity in found if similarity < SAME_TEXT), None)
