"""A page in the order of a key is a slice of all in that order, however it is found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from atlas.storage.ledger_collection import LedgerCollection
from atlas.storage.store import EmbeddingModel, Store

VALUES = (3, 1, None, [2, 5], 1, None, 4, [0, 9])
"""Of the records' key: one, several or none."""


@pytest.fixture
def records(tmp_path) -> Iterator[LedgerCollection]:
    with Store.open(tmp_path) as store:
        store.bind(EmbeddingModel("test", 2))
        held = store.collection("atlas_experiences")
        metadatas = [{} if value is None else {"merged_from": value, "title": str(value)} for value in VALUES]
        ids = [str(number) for number in range(len(VALUES))]
        held.add(ids, [np.ones(2)] * len(VALUES), metadatas, ids)
        yield held


@pytest.mark.parametrize("key", ["merged_from", "title", "nobody has it"])
@pytest.mark.parametrize("descending", [True, False])
def test_pages_are_slices_of_the_whole(records, key, descending):
    def page(limit: int | None, offset: int = 0) -> list[str]:
        rows = records.scan(order_by=key, descending=descending, limit=limit, offset=offset)
        return [row["id"] for row in rows]

    whole = page(None)
    assert len(whole) == len(VALUES)
    for limit in (1, 2, 3, 5, 8, 9):
        for offset in range(9):
            assert page(limit, offset) == whole[offset : offset + limit]


def test_values_are_counted_alike_with_and_without_a_filter(records):
    everything = {"id": {"$in": [str(number) for number in range(len(VALUES))]}}
    assert records.count_by("title") == records.count_by("title", everything)
