"""Marks change together and one by one, and what is buried is left out of every search, and of nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.exchange import decode_line, encode_line
from atlas.core.operations import NO_MARKS, Marks
from atlas.core.settings import Settings
from atlas.memory.experience.memory import COLLECTION
from atlas.storage import hybrid_search
from atlas.storage.store import EmbeddingModel, Store
from tests.support.memories import attempt, taken_back


def ids_of(hits):
    return [hit.item.id for hit in hits]


def test_a_change_leaves_alone_what_it_does_not_name(stored):
    first, second = stored.store_many([attempt("a"), attempt("b")])
    stored.mark({first: Marks(tags=("x", "y"), note="mine", pinned=True)})
    assert stored.change_marks([first, second], add_tags=["z", " y "], remove_tags=["x"], buried=True) == 2
    assert stored.marks([first, second]) == {
        first: Marks(tags=("y", "z"), note="mine", pinned=True, buried=True),
        second: Marks(tags=("z", "y"), buried=True),
    }
    assert stored.change_marks([first], pinned=False, note="") == 1
    assert stored.marks([first])[first] == Marks(tags=("y", "z"), buried=True)


def test_what_changes_nothing_is_no_operation(stored):
    first, second = stored.store_many([attempt("a"), attempt("b")])
    stored.mark({first: Marks(tags=("x",))})
    scoped = stored.as_operation("mark")
    assert scoped.change_marks([first], add_tags=["x"], pinned=False) == 0
    with pytest.raises(NotFound):
        stored._store._ledger.history.operation(scoped.operation_id)
    assert stored.change_marks([first, second], add_tags=["x"]) == 1
    assert stored.change_marks([]) == 0


def test_a_bulk_change_is_one_operation_with_one_undo(stored):
    ids = stored.store_many([attempt(f"task {i}") for i in range(10)])
    stored.mark({ids[0]: Marks(note="old")})
    scoped = stored.as_operation("mark")
    assert scoped.change_marks(ids, add_tags=["x"], note="new") == 10
    assert dict(stored._store._ledger.history.operation(scoped.operation_id).counts) == {"marked": 10}
    taken_back(stored, scoped.operation_id)
    assert stored.marks(ids) == {ids[0]: Marks(note="old")} | dict.fromkeys(ids[1:], NO_MARKS)


def test_a_change_of_a_record_that_is_not_there_changes_none(stored):
    [first] = stored.store_many([attempt("a")])
    with pytest.raises(NotFound, match="there is no record 'nobody'"):
        stored.change_marks([first, "nobody"], buried=True)
    assert stored.marks([first])[first] == NO_MARKS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"add_tags": [" "]}, "should not contain an empty tag"),
        ({"add_tags": "tag"}, "expected a list of tags for .*, got the string 'tag'"),
        ({"note": "\ud800"}, "lone surrogate"),
    ],
)
def test_impossible_marks_are_refused(stored, options, message):
    [first] = stored.store_many([attempt("a")])
    with pytest.raises(InvalidInput, match=message):
        stored.change_marks([first], **options)


def test_buried_records_are_left_out_of_searches_and_of_nothing_else(stored):
    ids = stored.store_many([attempt(f"sort list {i}", solution="sorted") for i in range(6)])
    stored.change_marks(ids[:4], buried=True)
    assert set(ids_of(stored.search_hits("sort list 0", 6))) == set(ids[4:])
    assert len(stored.search_hits("sort list 0", 6, with_buried=True)) == 6
    assert set(ids_of(stored.search_hits("sort list 0", 6, where={"source": "x"}))) == set()
    assert set(ids_of(stored.search_hits("sort list 0", 6, where={"success": True}))) == set(ids[4:])
    assert {e.id for e in stored.search_words("sorted", 6)} == set(ids[4:])
    assert len(stored.search_words("sorted", 6, with_buried=True)) == 6
    assert set(ids_of(stored.similar(ids[0], 6))) == set(ids[4:])
    assert set(ids_of(stored.similar(ids[0], 6, with_buried=True))) == set(ids[1:])
    assert len(stored) == len(stored.browse()) == 6
    assert stored.count({"marks.buried": True}) == 4
    assert stored.count({"marks.buried": False}) == 2
    stored.change_marks(ids[:4], buried=False)
    assert len(stored.search_hits("sort list 0", 6)) == 6


@pytest.mark.parametrize(
    ("n_buried", "exact_max_rows"), [(1, 10_000), (100, 10_000), (390, 10_000), (395, 20), (60, 20)]
)
def test_a_search_finds_k_that_are_not_buried_wherever_there_are_k(tmp_path, monkeypatch, n_buried, exact_max_rows):
    monkeypatch.setattr(hybrid_search, "N_SPARE_HITS", 16)
    rng = np.random.default_rng(n_buried)
    vectors = rng.standard_normal((400, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids, query = [f"r{i}" for i in range(400)], vectors[7]
    with Store.open(tmp_path / "store", settings=Settings(exact_max_rows=exact_max_rows)) as store:
        store.bind(EmbeddingModel("test", 8))
        things = store.collection(COLLECTION)
        things.add(ids, list(vectors), [{"even": i % 2 == 0} for i in range(400)], ids)
        store.catch_up()
        nearest = np.argsort(-(vectors @ query))
        buried = {ids[i] for i in nearest[:n_buried]}  # the worst case: all of the nearest
        things.change_marks(sorted(buried), lambda marks: Marks(buried=True))
        for k in (1, 5, 50):
            expected = [ids[i] for i in nearest if ids[i] not in buried][:k]
            assert things.query(query, k, with_buried=False).ids == expected
            even = [ids[i] for i in nearest if ids[i] not in buried and i % 2 == 0][:k]
            assert things.query(query, k, {"even": True}, with_buried=False).ids == even
            assert len(things.query(query, k).ids) == k


def test_burying_is_seen_at_once_by_other_openings_of_the_store(tmp_path):
    with Store.open(tmp_path / "store") as one, Store.open(tmp_path / "store") as other:
        one.bind(EmbeddingModel("test", 2))
        one.collection(COLLECTION).add(["a", "b"], [[1, 0], [0, 1]], [{}, {}], ["a", "b"])
        reader = other.collection(COLLECTION)
        for buried in (False, True, False, True):
            one.collection(COLLECTION).change_marks(["a"], lambda marks, b=buried: Marks(buried=b))
            found = reader.query([1, 0], 2, with_buried=False).ids
            assert found == (["b"] if buried else ["a", "b"])


def test_buried_marks_go_through_export_and_import(stored):
    [first] = stored.store_many([attempt("a")])
    stored.change_marks([first], buried=True)
    line = encode_line(stored.export([first])[0])
    assert decode_line(json.loads(line)).marks == Marks(buried=True)
    written_before = json.loads(line)
    del written_before["marks"]["buried"]
    assert decode_line(written_before).marks == NO_MARKS
    with pytest.raises(InvalidInput, match=r"expected true or false for line\.marks\.buried, got 'x'"):
        decode_line(written_before | {"marks": {"buried": "x"}})
