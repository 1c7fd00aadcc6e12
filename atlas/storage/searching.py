"""Finding records by vector and by words, with or without those that a person has buried."""

from __future__ import annotations

import numpy as np

from atlas.core.types import QueryResult, Vector
from atlas.protocols.infra import Where
from atlas.storage.collection import Collection
from atlas.storage.nearest import Found
from atlas.storage.records import Seqs
from atlas.storage.rows import as_metadata

SPARE = 256
"""How many more of the nearest are asked for, as they might be buried; where that is too few, the rest is searched."""

BURIED: Where = {"marks.buried": True}
UNBURIED: Where = {"marks.buried": False}


def by_vector(
    collection: Collection, vector: Vector, k: int, where: Where | None = None, with_buried: bool = True
) -> QueryResult:
    """The k records that are nearest to a vector, of those that pass a filter."""
    if k <= 0:
        return _result(collection, [])
    ledger, nearest = collection.ledger, collection.nearest
    hidden = _none() if with_buried else ledger.matching(collection.name, BURIED)
    if where:
        seqs = np.setdiff1d(ledger.matching(collection.name, where), hidden, assume_unique=True)
        return _result(collection, nearest.query_among(vector, k, seqs))
    if not len(hidden):
        return _result(collection, nearest.query(vector, k))
    buried = set(hidden.tolist())
    hits = nearest.query(vector, k + min(len(buried), SPARE))
    found = [hit for hit in hits if hit[0] not in buried]
    if len(found) < k and len(buried) > SPARE:
        found = nearest.query_among(vector, k, ledger.matching(collection.name, UNBURIED))
    return _result(collection, found[:k])


def by_words(
    collection: Collection, text: str, k: int, where: Where | None = None, with_buried: bool = True
) -> QueryResult:
    """The k records that share the most telling words with a text, of those that pass a filter."""
    if not with_buried:
        where = {"$and": [where or {}, UNBURIED]}
    hits = collection.ledger.search_text(collection.name, text, k, where)
    return _result(collection, [(seq, value / (1 + value)) for seq, value in hits])


def _result(collection: Collection, found: Found) -> QueryResult:
    records = collection.ledger.at([seq for seq, _ in found])
    live = [(records[seq], similarity) for seq, similarity in found if seq in records]
    return QueryResult(
        ids=[record.id for record, _ in live],
        distances=[1.0 - similarity for _, similarity in live],
        metadatas=[as_metadata(record) for record, _ in live],
        documents=[record.document for record, _ in live],
    )


def _none() -> Seqs:
    return np.zeros(0, np.int64)
