"""The doctor finds what differs from the ledger, and mends it from there."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from atlas.core.operations import Marks
from atlas.core.settings import Settings
from atlas.storage.maintenance.doctor import examine
from atlas.storage.store import EmbeddingModel, Store

COLLECTION = "atlas_experiences"


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store", settings=Settings(actor="tester", exact_max_rows=5)) as opened:
        opened.bind(EmbeddingModel("test", 8))
        vectors = np.eye(8, dtype=np.float32)
        ids = [f"r{i}" for i in range(8)]
        metadatas = [{"outcome": "failed", "n": i} for i in range(8)]
        documents = [f"the task of number {i}" for i in range(8)]
        opened.collection(COLLECTION).add(ids, list(vectors), metadatas, documents)
        opened.catch_up()
        yield opened


def problems(store: Store, *, fix: bool = False) -> dict[str, str]:
    return {finding.check: finding.problem for finding in examine(store, fix=fix) if finding.problem}


def broken(store: Store, statement: str) -> None:
    with store.ledger.database.write() as connection:
        connection.execute(statement)


def test_a_sound_store_has_no_problems(store):
    assert problems(store) == {}


@pytest.mark.parametrize(
    ("statement", "check", "words"),
    [
        ("DELETE FROM attributes WHERE seq = 3", "filters", "filters of 1 records"),
        ("INSERT INTO vectors VALUES (999, 0, x'00000000')", "vectors", "1 vectors without a record"),
        ("INSERT INTO words_1 (words_1) VALUES ('delete-all')", "keyword search", "does not match"),
        ("DROP TRIGGER words_1_update", "keyword search", "no TRIGGER words_1_update"),
        ("DROP TABLE words_1", "keyword search", "no TABLE words_1"),
        ("DELETE FROM word_tables", "keyword search", "table of words is missing"),
    ],
)
def test_what_differs_is_found_and_mended(store, statement, check, words):
    broken(store, statement)
    assert words in problems(store)[check]
    assert [finding.check for finding in examine(store, fix=True) if finding.is_fixed] == [check]
    assert problems(store) == {}


def test_words_that_are_built_anew_leave_no_second_table_behind(store):
    store.collection("others").add(["o1"], [[1.0] * store.model.dimension], [{}], ["a text of another"])
    broken(store, "INSERT INTO words_1 (words_1) VALUES ('delete-all')")
    problems(store, fix=True)
    with store.ledger.database.read() as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%USING fts5(%'").fetchall()
        assert len(tables) == len(connection.execute("SELECT collection FROM word_tables").fetchall()) == 2


def test_a_missing_index_is_built_anew_where_queries_need_it(store):
    store.close()
    shutil.rmtree(store.path / "chroma")
    with Store.open(store.path, settings=Settings(exact_max_rows=100)) as exact:
        assert problems(exact, fix=True) == {}
        assert not (store.path / "chroma").exists()
    assert "has no index" in problems(store)["index"]
    assert [finding.check for finding in examine(store, fix=True) if finding.is_fixed] == ["index"]
    assert problems(store) == {}


def test_an_index_that_no_query_asks_any_more_may_be_behind(store):
    store.close()
    with Store.open(store.path, settings=Settings(exact_max_rows=100)) as exact:
        exact.collection(COLLECTION).delete(["r1"])
        assert problems(exact) == {}
    assert "1 revisions behind" in problems(store)["index"]


def test_an_index_that_is_behind_catches_up(store):
    store.collection(COLLECTION).delete(["r1"])
    assert "1 revisions behind" in problems(store)["index"]
    problems(store, fix=True)
    assert problems(store) == {}


def test_an_index_with_other_vectors_is_built_anew(store):
    index = store.collection(COLLECTION).parts.nearest.index
    checkpoint = index.checkpoint()
    index.remove(["1:0"])
    index.set_checkpoint(
        checkpoint.ledger_id, checkpoint.revision, change=checkpoint.change, change_name=checkpoint.change_name
    )
    assert "has 7 vectors, but the ledger 8" in problems(store)["index"]
    problems(store, fix=True)
    assert problems(store) == {}


def test_marks_of_records_that_never_were_are_mended_and_can_be_brought_back(store):
    store.collection(COLLECTION).mark({"r1": Marks(note="mine")})
    broken(store, f"INSERT INTO marks VALUES ('{COLLECTION}', 'stranger', 'note', 0, 'from elsewhere')")
    marks = store.ledger.marks.read(COLLECTION)
    assert "'stranger'" in problems(store)["marks"]
    assert [finding.check for finding in examine(store, fix=True) if finding.is_fixed] == ["marks"]
    assert store.ledger.marks.read(COLLECTION) == {"r1": Marks(note="mine")}
    store.undo(store.history(1)[0].id)
    assert store.ledger.marks.read(COLLECTION) == marks


def test_a_record_without_a_vector_is_named(store):
    broken(store, "DELETE FROM vectors WHERE seq = 2")
    assert "1 records without a vector, such as r1" in problems(store)["vectors"]
