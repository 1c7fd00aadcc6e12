"""A search sees one state of the store, and finds the same whatever many small writes have left of the index."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from atlas.storage import hybrid_search as searching
from atlas.storage.records import Scope
from atlas.storage.sqlite.words.fts_tables import MOST_PARTS, is_scattered
from atlas.storage.vectors.vector_search import Nearest
from tests.support.storage.ledgers import THINGS, vector_of

RED = {"colour": "red"}


@dataclass
class Meddling:
    """Finds neighbours, and lets somebody write before it does."""

    nearest: Nearest
    meddle: Callable[[], object]

    def query_among(self, *asked: Any) -> Any:
        self.meddle()
        return self.nearest.query_among(*asked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.nearest, name)


def elsewhere(write):
    """Write from another thread, as a thread that is reading cannot."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(write).result()


@pytest.mark.parametrize(
    "search",
    [
        lambda collection: searching.candidates(collection, vector_of("a"), "text", 5, RED),
        lambda collection: searching.by_vector(collection, vector_of("a"), 5, RED),
    ],
    ids=["candidates", "by vector"],
)
def test_what_a_filter_let_pass_is_shown_as_it_was_then(open_store, search):
    opened = open_store()
    opened.add("a", "b", **RED)
    opened.add("c", colour="blue")
    collection = opened.store.collection(THINGS).parts
    meddling = Meddling(collection.nearest, lambda: elsewhere(lambda: opened.edit("a", "text of a", colour="blue")))
    found = search(replace(collection, nearest=meddling))
    assert {held_id: metadata["colour"] for held_id, metadata in zip(found.ids, found.metadatas, strict=True)} == {
        "a": "red",
        "b": "red",
    }
    assert search(collection).ids == ["b"]


def test_many_small_writes_are_brought_together_and_find_what_they_did(open_store):
    opened = open_store()
    for number in range(3 * MOST_PARTS):
        opened.add(f"r{number}")
    ledger = opened.store.ledger

    def found() -> dict[int, float]:
        return dict(ledger.words.find(THINGS, "text r3 r4", Scope(hidden=np.zeros(0, np.int64)), 50).values)

    def scattered() -> bool:
        with ledger.database.read() as connection:
            return is_scattered(connection, THINGS)

    before = found()
    assert (scattered(), len(before)) == (True, 3 * MOST_PARTS)
    opened.store.catch_up()
    assert not scattered()
    assert found() == before
