"""Which vectors a query compares: those of the store's model alone, and all of them while the records are few."""

from __future__ import annotations

import pytest

from atlas.core.errors import EmbeddingModelMismatch
from atlas.storage.following_index import IndexCheckpoint
from atlas.storage.maintenance.reembed import reembed
from atlas.storage.vectors.exact_search import MANY_QUERIES
from atlas.testing import HashEmbedder
from tests.support.storage.engines import every_engine
from tests.support.storage.ledgers import THINGS, vector_of

engine = every_engine


@pytest.mark.parametrize("dimension", [8, 16])
@pytest.mark.parametrize("where", [None, {"n": 1}])
@pytest.mark.parametrize("was_asked_before", [True, False])
def test_a_query_is_refused_once_another_process_has_reembedded_the_store(
    open_store, dimension, where, was_asked_before
):
    opened = open_store()
    opened.add("a", "b", n=1)
    things = opened.store.collection(THINGS)
    if was_asked_before:
        assert things.query(vector_of("a"), 1, where).ids == ["a"]
    reembed(open_store().store.ledger, HashEmbedder(dimension, "new"))
    expected = rf"has vectors of 'new' \({dimension}-d\), but the embedder is 'test' \(8-d\)"
    for _ in range(2):
        with pytest.raises(EmbeddingModelMismatch, match=expected):
            things.query(vector_of("a"), 1, where)


def test_a_store_reembedded_in_the_midst_of_a_query_is_seen_as_it_was(open_store):
    opened, other = open_store(), open_store()
    opened.add("a", "b")
    things = opened.store.collection(THINGS)
    ledger, follow = opened.store.ledger, opened.store.ledger.vector_changes

    def reembed_and_follow(*arguments):
        ledger.vector_changes = follow
        reembed(other.store.ledger, HashEmbedder(16, "new"))
        return follow(*arguments)

    ledger.vector_changes = reembed_and_follow
    assert things.query(vector_of("a"), 1).ids == ["a"]
    with pytest.raises(EmbeddingModelMismatch, match="has vectors of 'new'"):
        things.query(vector_of("a"), 1)


def test_a_store_of_few_records_with_many_writes_is_scanned_whole(open_store):
    opened = open_store(exact_max_rows=5, index_lag_rows=5)
    opened.add("a", "b", "c")
    for round_number in range(6):
        opened.edit("a", f"text {round_number}")
        opened.add(f"gone {round_number}")
        opened.delete(f"gone {round_number}")
    nearest = opened.store.collection(THINGS).parts.nearest
    opened.add("d", "e")
    assert opened.nearest("d") == ["d"]
    assert nearest.updater.checkpoint() == IndexCheckpoint()
    opened.add("f")
    assert nearest.index.count() == 6


def test_a_ledger_tells_whether_it_holds_more_records_than_a_number(open_store):
    opened = open_store()
    opened.add("a", "b", "c")
    opened.delete("c")
    assert [opened.store.ledger.has_more_than(THINGS, n) for n in (0, 1, 2, 3)] == [True, True, False, False]


def test_the_first_filtered_queries_of_a_large_store_read_no_more_than_passes(open_store):
    """Once they have read as much as there is, all of it is read in the background. What is written since is seen."""
    opened = open_store(exact_max_rows=5, index_lag_rows=10**6)
    opened.add(*"abcdefgh", n=1)
    opened.add(*"ijklmnop", n=2)
    things, nearest = opened.store.collection(THINGS), opened.store.collection(THINGS).parts.nearest
    found = [things.query(vector_of("a"), 3, {"n": 1}).ids for _ in range(2)]
    assert nearest.exact.memory.last_revision == 0
    nearest.exact.loading.wait()
    found.append(things.query(vector_of("a"), 3, {"n": 1}).ids)
    assert nearest.exact.memory.last_revision == 16
    assert all(ids == found[0] for ids in found)
    opened.add("z", n=1)
    assert things.query(vector_of("z"), 1, {"n": 1}).ids == ["z"]


def test_a_process_that_asks_often_holds_the_vectors_and_sees_what_others_write(open_store):
    opened, other = open_store(exact_max_rows=5, index_lag_rows=1), open_store(exact_max_rows=5, index_lag_rows=1)
    opened.add(*"abcdefghijkl")
    things, nearest = opened.store.collection(THINGS), opened.store.collection(THINGS).parts.nearest
    answers = [opened.nearest("a", 3) for _ in range(MANY_QUERIES - 1)]
    assert not nearest.exact.loading.is_running
    answers.append(opened.nearest("a", 3))
    nearest.exact.loading.wait()
    answers.append(opened.nearest("a", 3))
    assert nearest.exact.memory.last_revision == 12
    assert not nearest.index.is_open
    assert all(answer == answers[0] for answer in answers)
    other.add("new")
    other.edit("a", "another text")
    other.delete("b")
    assert opened.nearest("new") == ["new"]
    assert "b" not in opened.nearest("b", 11)
    assert things.query(vector_of("another text"), 1).ids == ["a"]


def test_a_store_that_is_closed_ends_what_reads_beside_queries(open_store):
    opened = open_store(exact_max_rows=5, index_lag_rows=1)
    opened.add(*"abcdefghijkl")
    nearest = opened.store.collection(THINGS).parts.nearest
    for _ in range(MANY_QUERIES):
        opened.nearest("a")
    opened.store.close()
    assert not nearest.exact.loading.is_running
