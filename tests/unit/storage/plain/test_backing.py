"""What a memory can still do over a store with the specification's methods alone."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.core.errors import InvalidInput
from atlas.storage.plain.collection import PlainCollection, as_collection
from atlas.storage.plain.scoped_store import MemoryScope
from atlas.testing import MemoryVectorStore
from tests.support.memories import DictVectorStore

TEXTS = {"a": "cancel a flight", "b": "cancel a hotel", "c": "weather", "d": "sun"}
VECTORS = np.eye(4, dtype=np.float32)


def filled(store) -> PlainCollection:
    plain = PlainCollection(store, 4)
    metadatas = [{"n": n} for n in range(4)]
    plain.add(list(TEXTS), list(VECTORS), metadatas, list(TEXTS.values()))
    return plain


def candidates(store: PlainCollection, *args, **options) -> dict[str, tuple[float, float]]:
    """Similarity and word value by id."""
    got = store.candidates(*args, **options)
    assert [metadata["n"] for metadata in got.metadatas] == [list(TEXTS).index(i) for i in got.ids]
    pairs = zip(got.similarities, got.words, strict=True)
    return {
        i: (pytest.approx(similarity, abs=1e-6), pytest.approx(value))
        for i, (similarity, value) in zip(got.ids, pairs, strict=True)
    }


def test_candidates_by_vector_and_by_words_have_both_values():
    plain = filled(MemoryVectorStore())
    assert candidates(plain, VECTORS[2] * 3, "cancel the flight", 1) == {"c": (1, 0), "a": (0, 2)}
    assert candidates(plain, VECTORS[0], "cancel the flight", 2) == {"a": (1, 2), "b": (0, 1)}
    assert plain.candidates(VECTORS[0], "cancel the flight", 2).word_information == pytest.approx(3)


def test_a_filter_holds_for_both_channels():
    plain = filled(MemoryVectorStore())
    assert candidates(plain, VECTORS[0], "cancel flight", 1, {"n": {"$gte": 1}}) == {"b": (0, 1)}


def test_a_store_that_knows_no_words_gives_the_nearest():
    plain = filled(DictVectorStore())
    assert candidates(plain, VECTORS[1], "cancel flight", 1) == {"b": (1, 0)}
    assert candidates(plain, None, "cancel flight", 1) == {}
    assert plain.candidates(VECTORS[1], "cancel", 1).word_information == 0


def test_either_channel_may_be_left_out():
    plain = filled(MemoryVectorStore())
    assert candidates(plain, VECTORS[3], None, 1) == {"d": (1, 0)}
    assert candidates(plain, None, "flight", 5) == {"a": (0, 1)}
    assert candidates(plain, VECTORS[3], "flight", 0) == {}


def test_a_store_that_cannot_list_is_filtered_ordered_and_counted_all_the_same():
    plain = filled(DictVectorStore())
    assert plain.ids({"n": {"$gt": 1}}) == ["c", "d"]
    assert plain.count({"n": {"$lt": 3}}) == 3
    assert plain.column("n", {"id": {"$in": ["b", "nobody"]}}) == {"b": 1}
    rows = plain.scan(order_by="n", descending=True, limit=2, offset=1)
    assert [row["id"] for row in rows] == ["c", "b"]


class SyncStore:
    """The five methods as chromadb has them."""

    def add(self, ids, embeddings, metadatas, documents): ...
    def query(self, embedding, k, where=None): ...
    def delete(self, ids): ...
    def get(self, ids): ...
    def count(self): ...


@pytest.mark.parametrize("given", [SyncStore(), object(), None])
def test_what_is_no_vector_store_is_refused_when_a_memory_is_made(given):
    with pytest.raises(InvalidInput, match=f"the coroutines add, .*, got '{type(given).__name__}'; wrap it"):
        as_collection(given, 4, MemoryScope(collection="things", content_field="thing"))
