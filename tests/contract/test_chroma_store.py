"""A collection of ChromaDB as a vector store of the specification's methods."""

from __future__ import annotations

from uuid import uuid4

import chromadb
import pytest
from chromadb.config import Settings

from atlas.core.errors import InvalidInput, NotFound
from atlas.infra.bridge import run
from atlas.memory.storage import ChromaVectorStore, QueryResult
from tests.support.storage.vector_stores import axis


@pytest.fixture(scope="module")
def client():
    return chromadb.EphemeralClient(Settings(anonymized_telemetry=False))


@pytest.fixture
def store(client):
    made = ChromaVectorStore(client, f"things-{uuid4().hex}")
    metadatas = [{"n": 1, "kind": "red"}, {"n": 2, "kind": "red"}, {"n": 3, "kind": "blue"}]
    run(made.add(["a", "b", "c"], [axis(i) for i in range(3)], metadatas, ["first", "second", "third"]))
    return made


def test_the_nearest_come_first_with_their_distance(store):
    found = run(store.query(3 * axis(1), k=10))
    assert isinstance(found, QueryResult)
    assert (found.ids[0], found.documents[0], found.metadatas[0]) == ("b", "second", {"n": 2, "kind": "red"})
    assert found.distances == pytest.approx([0, 1, 1], abs=1e-6)
    assert run(store.query(axis(1), k=0)).ids == []


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({"kind": "red"}, {"a", "b"}),
        ({"kind": "red", "n": 2}, {"b"}),
        ({"n": {"$in": [1, 3]}}, {"a", "c"}),
        ({"$or": [{"n": 1}, {"kind": "blue"}]}, {"a", "c"}),
        ({}, {"a", "b", "c"}),
    ],
)
def test_a_filter_holds_for_queries_and_counts(store, where, ids):
    assert set(run(store.query(axis(0), 10, where)).ids) == ids
    assert run(store.count(where)) == len(ids)


def test_records_are_got_in_the_order_asked_for_and_deleted(store):
    rows = run(store.get(["c", "nobody", "a", "c"]))
    assert [(row["id"], row["document"], row["metadata"]["n"]) for row in rows] == [
        ("c", "third", 3),
        ("a", "first", 1),
        ("c", "third", 3),
    ]
    assert rows[0]["embedding"] == pytest.approx(axis(2))
    run(store.delete(["a", "nobody"]))
    run(store.delete([]))
    assert (run(store.count()), run(store.get(["a"])), run(store.get([]))) == (2, [], [])


def test_what_is_there_already_is_refused_and_nothing_is_added(store):
    with pytest.raises(InvalidInput, match="'b' exists already"):
        run(store.add(["d", "b"], [axis(3), axis(4)], [{"n": 4}, {"n": 5}], ["x", "y"]))
    assert run(store.count()) == 3


def test_more_than_chromadb_takes_at_once_is_added_in_parts(client):
    n = client.get_max_batch_size() + 1
    many = ChromaVectorStore(client, f"many-{uuid4().hex}")
    run(many.add([str(i) for i in range(n)], [axis(i) for i in range(n)], [{"n": i} for i in range(n)], ["x"] * n))
    assert run(many.count()) == n
    assert len(run(many.get([str(i) for i in range(n)]))) == n


def test_a_collection_with_another_measure_is_refused(client):
    client.create_collection(name := f"squared-{uuid4().hex}")
    with pytest.raises(
        InvalidInput, match=r"expected the distance 'cosine' for the collection .*, got 'l2'; choose another"
    ):
        ChromaVectorStore(client, name)


def test_a_record_is_replaced_as_a_whole_and_none_is_made(store):
    run(store.update(["b", "a"], [axis(5), axis(6)], [{"m": 5}, {"n": 6}], ["fifth", "sixth"]))
    rows = run(store.get(["a", "b", "c"]))
    assert [(row["document"], row["metadata"]) for row in rows] == [
        ("sixth", {"n": 6}),
        ("fifth", {"m": 5}),
        ("third", {"n": 3, "kind": "blue"}),
    ]
    assert rows[1]["embedding"] == pytest.approx(axis(5))
    assert run(store.query(axis(6), 1)).ids == ["a"]
    with pytest.raises(NotFound, match="there is no record 'nobody'"):
        run(store.update(["a", "nobody"], [axis(7)] * 2, [{"n": 7}] * 2, ["seventh"] * 2))
    assert run(store.get(["a"]))[0]["document"] == "sixth"
    assert run(store.count()) == 3
