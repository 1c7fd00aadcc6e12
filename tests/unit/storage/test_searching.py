"""A search sees one state of the store, and finds the same whatever many small writes have left of the index."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from atlas.core.operations import Marks
from atlas.storage import hybrid_search
from atlas.storage.records import Context, Scope
from atlas.storage.sql.columns import MAX_PREDECESSORS
from atlas.storage.sqlite.words.fts_tables import MAX_PARTS, is_fragmented
from atlas.storage.vectors.vector_search import VectorSearch
from tests.support.storage.engines import every_engine, of_files
from tests.support.storage.ledgers import THINGS, vector_of

engine = every_engine

RED = {"colour": "red"}


@dataclass
class Meddling:
    """Finds neighbours, and lets somebody write before it does."""

    nearest: VectorSearch
    meddle: Callable[[], object]

    def query_subset(self, *asked: Any) -> Any:
        self.meddle()
        return self.nearest.query_subset(*asked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.nearest, name)


def elsewhere(write):
    """Write from another thread, as a thread that is reading cannot."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(write).result()


@pytest.mark.parametrize(
    "search",
    [
        lambda collection: hybrid_search.find_candidates(collection, vector_of("a"), "text", 5, RED),
        lambda collection: hybrid_search.find_by_vector(collection, vector_of("a"), 5, RED),
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


@of_files
def test_many_small_writes_are_brought_together_and_find_what_they_did(open_store):
    opened = open_store()
    for number in range(3 * MAX_PARTS):
        opened.add(f"r{number}")
    ledger = opened.store.ledger

    def found() -> dict[int, float]:
        return dict(ledger.words.find(THINGS, "text r3 r4", Scope(hidden=np.zeros(0, np.int64)), 50).values)

    def scattered() -> bool:
        with ledger.database.read() as connection:
            return is_fragmented(connection, THINGS)

    before = found()
    assert (scattered(), len(before)) == (True, 3 * MAX_PARTS)
    opened.store.catch_up()
    assert not scattered()
    assert found() == before


CONTEXT = Context(log_key="colour", shares=(0.5, 0.25))


def told(opened, text="zebra", **asked):
    """What the records after each one add to it, in shares of what those hold, by id."""
    collection = opened.store.collection(THINGS)
    found = collection.candidates(None, text, 10, context=CONTEXT, **asked)
    most = max(found.words, default=0.0) or 1.0
    return {one: value / most for one, value in zip(found.ids, found.context, strict=True) if value}


def add_at(opened, hour, *ids, **metadata):
    opened.add(*ids, created_at=f"2026-01-01T{hour:02}:00:00.000000+00:00", **metadata)


def test_words_count_for_the_two_before_of_the_same_group_in_the_order_of_time(open_store):
    opened = open_store()
    add_at(opened, 5, "zebra", colour="red")
    for hour, one, colour in ((1, "far", "red"), (3, "two", "red"), (4, "one", "red"), (4, "other", "blue")):
        add_at(opened, hour, one, colour=colour)
    add_at(opened, 6, "later", colour="red")
    assert told(opened) == pytest.approx({"one": 0.5, "two": 0.25})
    assert set(told(opened, where={"created_at": {"$lt": "2026-01-01T04"}})) == {"two"}
    opened.mark(zebra=Marks(buried=True))
    assert told(opened, with_buried=False) == {}
    opened.delete("zebra")
    assert told(opened) == {}


def test_records_of_one_instant_stand_as_they_were_added(open_store):
    opened = open_store()
    add_at(opened, 1, "one", "two", "zebra", "after", colour="red")
    assert told(opened) == pytest.approx({"two": 0.5, "one": 0.25})


def test_those_before_are_looked_for_among_the_nearest_in_time(open_store):
    opened = open_store()
    add_at(opened, 1, "one", colour="red")
    add_at(opened, 2, *(f"b{number}" for number in range(MAX_PREDECESSORS)), colour="blue")
    add_at(opened, 3, "zebra", colour="red")
    assert told(opened) == {}
    opened.delete("b0")
    assert told(opened) == pytest.approx({"one": 0.5})
