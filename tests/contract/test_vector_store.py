"""What every vector store does: over the reference in memory, the ledger, and the ledger with its index."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.core.errors import InvalidInput, NotFound
from tests.support.storage.vector_stores import DIMENSION, axis, near, similarities

MANY = [f"r{i}" for i in range(24)]


def add_many(store, *, follow_after=12):
    """24 records whose cosine with the first axis falls from 1 to 0; if there is an index, it holds half of them."""
    vectors = [near(0, 1, 1 - i / 24) for i in range(24)]
    for start, end in ((0, follow_after), (follow_after, 24)):
        metadatas = [{"n": i, "even": i % 2 == 0} for i in range(start, end)]
        store.add(MANY[start:end], vectors[start:end], metadatas, [f"text {i}" for i in range(start, end)])
        if end == follow_after:
            store.follow()
    return vectors


def test_a_record_comes_back_as_it_was_added(store):
    metadata = {"title": "é", "n": 1, "share": 0.5, "ok": True, "tags": ["a", "b"], "deep": {"x": [1, None]}}
    store.add(["a"], [near(0, 1, 0.6)], [metadata], ["the text"])
    (row,) = store.get(["a"])
    assert row["id"] == "a"
    assert row["document"] == "the text"
    assert row["metadata"] == metadata
    np.testing.assert_allclose(row["embedding"], near(0, 1, 0.6), atol=1e-6)


def test_content_and_search_text_come_back_too(store):
    metadata = {"content": '{"whole": 1}', "search_text": "further words", "content_hash": "abc", "n": 1}
    store.add(["a"], [axis(0)], [metadata], ["the text"])
    assert store.get(["a"])[0]["metadata"] == metadata


def test_records_come_in_the_order_they_are_asked_for_and_unknown_ids_are_left_out(store):
    store.put(a={}, b={}, c={})
    assert [row["id"] for row in store.get(["c", "missing", "a"])] == ["c", "a"]
    assert store.get([]) == []
    assert store.get(["missing"]) == []


def test_what_a_caller_does_to_a_returned_record_does_not_reach_the_store(store):
    store.put(a={"n": 1})
    store.get(["a"])[0]["metadata"]["n"] = 2
    store.query(axis(0), 1).metadatas[0]["n"] = 3
    assert store.get(["a"])[0]["metadata"]["n"] == 1


def test_the_nearest_come_first_with_their_cosine(store):
    add_many(store)
    found = store.query(axis(0), 3)
    assert found.ids == ["r0", "r1", "r2"]
    assert similarities(found) == [1.0, round(23 / 24, 4), round(22 / 24, 4)]
    assert found.documents == ["text 0", "text 1", "text 2"]
    assert [metadata["n"] for metadata in found.metadatas] == [0, 1, 2]


def test_a_query_ranks_old_and_new_records_together(store):
    add_many(store)
    assert store.query(axis(0), 24).ids == MANY
    assert store.query(axis(1), 24).ids == MANY[::-1]


def test_vectors_are_compared_by_direction_only(store):
    store.add(["long", "short"], [axis(0, length=50), near(0, 1, 0.9) * 0.01], [{}, {}], ["", ""])
    assert similarities(store.query(axis(0, length=3), 2)) == [1.0, 0.9]


def test_opposite_vectors_have_similarity_minus_one(store):
    store.add(["a"], [axis(0)], [{}], [""])
    assert similarities(store.query(-axis(0), 1)) == [-1.0]


@pytest.mark.parametrize("k", [0, -1])
def test_asking_for_none_gives_none(store, k):
    add_many(store)
    assert store.query(axis(0), k).ids == []
    assert store.query(axis(0), k, {"even": True}).ids == []
    assert store.search_text("text", k).ids == []


def test_asking_for_more_than_there_are_gives_all(store):
    add_many(store)
    assert sorted(store.query(axis(0), 1_000).ids) == sorted(MANY)
    assert len(store.query(axis(0), 1_000, {"even": True}).ids) == 12


def test_an_empty_store_finds_nothing(store):
    assert store.query(axis(0), 5).ids == []
    assert store.query(axis(0), 5, {"n": 1}).ids == []
    assert store.search_text("anything", 5).ids == []
    assert store.scan() == []
    assert store.count() == 0


def test_a_filtered_query_is_the_ranking_of_what_passes(store):
    add_many(store)
    assert store.query(axis(0), 3, {"even": True}).ids == ["r0", "r2", "r4"]
    assert store.query(axis(0), 2, {"n": {"$gte": 20}}).ids == ["r20", "r21"]
    assert store.query(axis(0), 3, {"n": 99}).ids == []


def test_a_long_record_is_as_near_as_its_best_window(store):
    store.add(["long"], [np.stack([axis(2), near(0, 1, 0.9), axis(3)])], [{}], ["long"])
    store.add(["short"], [near(0, 1, 0.8)], [{}], ["short"])
    add_many(store)
    found = store.query(axis(0), 5)
    assert found.ids == ["r0", "r1", "r2", "long", "r3"]
    assert similarities(found)[3] == 0.9
    assert store.query(axis(3), 1).ids == ["long"]
    assert store.get(["long"])[0]["embedding"].shape == (3, DIMENSION)


def test_each_record_is_found_once_however_many_windows_match(store):
    store.add(["long"], [np.stack([axis(0)] * 20)], [{}], ["long"])
    store.follow()
    add_many(store)
    found = store.query(axis(0), 10).ids
    assert len(found) == len(set(found)) == 10


def test_a_deleted_record_is_gone_from_everywhere(store):
    add_many(store)
    store.delete(["r0", "r23", "missing"])
    assert store.get(["r0"]) == []
    assert store.count() == 22
    assert store.query(axis(0), 1).ids == ["r1"]
    assert "r23" not in store.query(axis(0), 100).ids
    assert store.search_text("text 0", 100, {"n": 0}).ids == []
    assert "r0" not in store.ids()


def test_a_deleted_id_may_be_used_again(store):
    add_many(store)
    store.delete(["r0"])
    store.follow()
    store.add(["r0"], [axis(5)], [{"n": -1}], ["again"])
    assert store.query(axis(5), 1).ids == ["r0"]
    assert store.query(axis(0), 1).ids == ["r1"]
    assert store.get(["r0"])[0]["document"] == "again"


def test_an_updated_record_is_found_by_what_it_is_now(store):
    add_many(store)
    store.update(["r0", "r20"], [axis(6), axis(7)], [{"n": 100}, {}], ["changed first", "changed second"])
    for _ in range(2):
        assert store.query(axis(6), 1).ids == ["r0"]
        assert store.query(axis(7), 1).ids == ["r20"]
        assert store.query(axis(0), 1).ids == ["r1"]
        assert store.ids({"n": {"$gt": 50}}) == ["r0"]
        assert store.search_text("changed", 5).ids in (["r0", "r20"], ["r20", "r0"])
        assert store.count() == 24
        store.follow()


def test_an_updated_record_may_have_fewer_windows_than_before(store):
    add_many(store)
    store.update(["r1"], [np.stack([axis(6), axis(7)])], [{}], ["two"])
    store.follow()
    store.update(["r1"], [axis(5)], [{}], ["one"])
    store.follow()
    assert similarities(store.query(axis(6), 1)) == [0.0]
    assert store.query(axis(5), 1).ids == ["r1"]


def test_updating_what_is_not_there_changes_nothing(store):
    store.put(a={"n": 1})
    with pytest.raises(NotFound, match=r"there is no record 'b'.*may have been deleted"):
        store.update(["a", "b"], [axis(1), axis(2)], [{"n": 2}, {}], ["", ""])
    assert store.get(["a"])[0]["metadata"] == {"n": 1}


def test_an_id_that_is_there_is_refused_and_nothing_of_the_batch_is_added(store):
    store.put(a={"n": 1})
    with pytest.raises(
        InvalidInput,
        match=r"the record 'a' is .*there|in 'things'.* already; use update|the record 'a' exists already; use update",
    ):
        store.add(["b", "a"], [axis(1), axis(2)], [{}, {}], ["", ""])
    with pytest.raises(InvalidInput, match=r"the record 'c' (is|exists)"):
        store.add(["c", "c"], [axis(1), axis(2)], [{}, {}], ["", ""])
    assert store.ids() == ["a"]


def test_lists_of_unequal_length_are_refused(store):
    with pytest.raises(InvalidInput, match="as many embeddings, metadatas and documents as ids"):
        store.add(["a", "b"], [axis(0)], [{}, {}], ["", ""])
    with pytest.raises(InvalidInput, match="as many embeddings, metadatas and documents as ids"):
        store.add(["a"], [axis(0)], [{}], [])
    assert store.count() == 0


def test_adding_nothing_is_no_error(store):
    store.add([], [], [], [])
    store.delete([])
    assert store.count() == 0


@pytest.mark.parametrize("embedding", [np.ones(DIMENSION + 1), np.ones((2, 3)), np.ones((1, 1, DIMENSION))])
def test_a_vector_of_another_dimension_is_refused(store, embedding):
    store.put(a={})
    with pytest.raises(InvalidInput, match=rf"expected an embedding of {DIMENSION} dimensions, got shape"):
        store.add(["b"], [embedding], [{}], [""])
    with pytest.raises(InvalidInput, match=rf"expected an embedding of {DIMENSION} dimensions, got shape"):
        store.query(embedding, 1)
    assert store.ids() == ["a"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0.0, 3e38, 1e39, 1e300])
def test_a_vector_without_a_direction_is_refused(store, bad):
    message = "an embedding with a number other than 0" if bad == 0 else "finite numbers for an embedding"
    store.put(a={})
    embedding = np.full(DIMENSION, bad)
    with pytest.raises(InvalidInput, match=f"expected {message}"):
        store.add(["b"], [embedding], [{}], [""])
    with pytest.raises(InvalidInput, match=f"expected {message}"):
        store.query(embedding, 1)
    assert store.ids() == ["a"]


def test_plain_lists_are_vectors_too(store):
    store.add(["a"], [[1.0] + [0.0] * (DIMENSION - 1)], [{}], [""])
    assert similarities(store.query([1] + [0] * (DIMENSION - 1), 1)) == [1.0]


def test_words_find_records_that_hold_any_of_them_the_most_telling_first(store):
    texts = ["cancel a flight", "cancel a hotel", "book a flight with a certificate", "weather"]
    metadatas = [{}, {}, {}, {"search_text": "umbrella"}]
    store.add(["a", "b", "c", "d"], [axis(i) for i in range(4)], metadatas, texts)
    assert store.search_text("flight certificate", 2).ids[0] == "c"
    assert set(store.search_text("cancel", 9).ids) == {"a", "b"}
    assert store.search_text("umbrella", 9).ids == ["d"]
    assert store.search_text("CANCEL", 1, {"id": "b"}).ids == ["b"]
    assert store.search_text("submarine", 9).ids == []
    found = store.search_text("flight certificate", 9)
    assert found.distances == sorted(found.distances)
    assert all(0 < distance < 1 for distance in found.distances)


@pytest.mark.parametrize("text", ["", "   ", '"', "a AND", "NEAR(", "col:x", "*", "'; --", "-", "()", "\x00"])
def test_any_text_may_be_searched_for(store, text):
    store.add(["a"], [axis(0)], [{}], ["words"])
    assert store.search_text(text, 5).ids == []


def test_records_are_listed_as_they_were_added_or_by_a_key(store):
    store.put(a={"n": 2}, b={"n": 1}, c={}, d={"n": 3}, e={"n": 2})
    assert store.ids() == ["a", "b", "c", "d", "e"]
    assert [row["id"] for row in store.scan(descending=True)] == ["e", "d", "c", "b", "a"]
    assert [row["id"] for row in store.scan(order_by="n")] == ["b", "a", "e", "d", "c"]
    assert [row["id"] for row in store.scan(order_by="n", descending=True)] == ["d", "a", "e", "b", "c"]
    assert [row["id"] for row in store.scan({"n": 2}, order_by="n")] == ["a", "e"]
    assert [row["id"] for row in store.scan(order_by="n", limit=2, offset=1)] == ["a", "e"]
    assert store.scan(limit=0) == []
    assert store.scan(offset=9) == []
    assert store.scan(limit=1)[0]["metadata"]["n"] == 2


def test_records_are_counted_with_and_without_a_filter(store):
    add_many(store)
    assert store.count() == 24
    assert store.count({"even": True}) == 12
    assert store.count({"even": "true"}) == 0
