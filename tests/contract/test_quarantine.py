"""Quarantine in every engine of ours: with an index or without, and in PostgreSQL."""

from __future__ import annotations

import pytest

from tests.support.storage.vector_stores import COLLECTION, STORES, axis, make_store

WHY = {"b": "planted by a web page"}


@pytest.fixture(params=[kind for kind in STORES if kind != "memory"])
def store(request, tmp_path):
    address = request.getfixturevalue("postgres_address") if request.param.endswith("PostgreSQL") else ""
    with make_store(request.param, tmp_path, address) as under_test:
        under_test.put(**{name: {} for name in "abcdef"})
        under_test.follow()
        yield under_test


def found(store) -> tuple[list[str], list[str]]:
    """What is found by vector and by words, with buried records."""
    collection = store.store.collection(COLLECTION)
    by_words = collection.search_text("document", 10, with_buried=True).ids
    return collection.query(axis(1), 10, with_buried=True).ids, by_words


def test_no_search_finds_a_record_in_quarantine_before_or_after_the_index_follows(store):
    everything = [sorted(ids) for ids in found(store)]
    collection = store.store.collection(COLLECTION)
    before = store.store.ledger.position(COLLECTION).revision
    scoped = collection.as_operation("quarantine")
    assert scoped.quarantine(WHY) == 1
    assert store.store.ledger.changed_ids(COLLECTION, before) == ["b"]
    for _ in range(2):
        assert all("b" not in ids for ids in found(store))
        assert sorted(found(store)[0]) == ["a", "c", "d", "e", "f"]
        store.follow()
    assert store.ids({"marks.quarantine": {"$gt": ""}}) == ["b"]
    assert collection.column("marks.quarantine") == WHY
    store.store.undo(scoped.operation_id)
    assert [sorted(ids) for ids in found(store)] == everything
    store.follow()
    assert [sorted(ids) for ids in found(store)] == everything
