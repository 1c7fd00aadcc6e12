"""A damaged ledger is reported and never touched; a damaged index is rebuilt without a word."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import pytest

import atlas
from atlas.core.errors import EmbeddingModelMismatch, SchemaTooNew, StoreDamaged, StoreUnavailable
from atlas.core.settings import Settings
from atlas.storage.following_index import IndexCheckpoint
from atlas.storage.retrievals import RetrievalLog
from atlas.storage.store import EmbeddingModel, Store
from atlas.storage.vectors.updater import IndexUpdater
from atlas.storage.vectors.vector_search import VectorSearch
from atlas.testing import HashEmbedder
from tests.support.storage.ledgers import MODEL, THINGS, Opened, files_in

FEW = {"exact_max_rows": 10, "index_lag_rows": 5}
IDS = [f"r{i}" for i in range(40)]
AUDIT = "atlas.storage.location.audit"
"""Logger of the audit log. A server of an earlier test writes its refusals a minute late, when its store is gone."""


def make(open_store, ids=IDS):
    """A store, closed properly: its index holds every record."""
    opened = open_store(**FEW)
    opened.add(*ids)
    opened.store.close()
    return opened.store.path


def garbage(path):
    path.write_bytes(random.Random(7).randbytes(max(path.stat().st_size, 1_000)))


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def remove(path):
    path.unlink()


DAMAGES = [garbage, truncate, empty, remove]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_ledger_is_reported_and_left_as_it_is(open_store, damage):
    path = make(open_store)
    damage(path / "atlas.sqlite")
    before = files_in(path)
    for read_only in (False, True):
        with pytest.raises(StoreDamaged, match=r"atlas\.sqlite is damaged .*Nothing was changed"):
            open_store(read_only=read_only)
    assert files_in(path) == before


def test_a_ledger_whose_inside_is_garbage_is_reported_when_it_is_read(open_store):
    path = make(open_store, [f"r{i}" for i in range(200)])
    content = bytearray((path / "atlas.sqlite").read_bytes())
    content[8192:] = random.Random(1).randbytes(len(content) - 8192)
    (path / "atlas.sqlite").write_bytes(content)
    with pytest.raises(StoreDamaged, match="damaged"):
        open_store().ids()
    assert (path / "atlas.sqlite").read_bytes() == content


def test_a_store_of_a_newer_version_is_refused_and_left_as_it_is(open_store):
    path = make(open_store)
    connection = sqlite3.connect(path / "atlas.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = files_in(path)
    for read_only in (False, True):
        with pytest.raises(SchemaTooNew, match=r"has schema 99.*Update ATLAS; the store is unchanged"):
            open_store(read_only=read_only)
    assert files_in(path) == before


def test_a_database_of_another_program_is_refused_and_left_as_it_is(open_store, tmp_path):
    path = tmp_path / "store"
    path.mkdir()
    connection = sqlite3.connect(path / "atlas.sqlite")
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.commit()
    connection.close()
    before = files_in(path)
    for read_only in (False, True):
        with pytest.raises(StoreDamaged, match="the file belongs to another program"):
            open_store(read_only=read_only)
    assert files_in(path) == before


def test_a_directory_where_the_ledger_should_be_is_reported(open_store, tmp_path):
    (tmp_path / "store" / "atlas.sqlite").mkdir(parents=True)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        open_store()


def test_a_file_where_the_directory_should_be_is_reported(open_store, tmp_path):
    (tmp_path / "store").write_text("not a directory")
    with pytest.raises(StoreUnavailable, match="cannot be created"):
        open_store()


def test_an_opening_that_fails_keeps_no_file_open(open_store):
    path = make(open_store)
    truncate(path / "atlas.sqlite")
    with pytest.raises(StoreDamaged, match="damaged"):
        open_store()
    garbage(path / "atlas.sqlite")
    with pytest.raises(StoreDamaged, match="damaged"):
        atlas.open_memory(path, embedder=HashEmbedder())
    assert open_files(path) == []


def test_an_opening_with_another_embedder_keeps_no_file_open(open_store):
    path = make(open_store)
    with pytest.raises(EmbeddingModelMismatch, match="has vectors of 'test'"):
        atlas.open_memory(path, embedder=HashEmbedder())
    assert open_files(path) == []


def fail(*_, **__):
    raise StoreUnavailable("the disk is full")


@pytest.mark.parametrize("step", ["flush", "catch up", "close of an index"])
def test_a_store_lets_go_of_every_file_when_closing_it_fails(open_store, monkeypatch, step):
    path = make(open_store)
    opened = open_store(**FEW)
    assert opened.nearest("r1") == ["r1"]
    opened.add("r40")
    nearest = opened.store.collection(THINGS).parts.nearest
    owner, name = {
        "flush": (RetrievalLog, "flush"),
        "catch up": (IndexUpdater, "catch_up"),
        "close of an index": (VectorSearch, "close"),
    }[step]
    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        opened.store.close()
    assert open_files(path) == []
    monkeypatch.undo()
    if step != "close of an index":
        assert nearest.index._system is None


def test_an_error_of_the_callers_is_not_replaced_by_one_of_closing(open_store, monkeypatch, caplog):
    path = make(open_store)
    monkeypatch.setattr(RetrievalLog, "flush", fail)
    with pytest.raises(KeyError, match="the caller's"), Store.open(path):
        raise KeyError("the caller's")
    assert "the disk is full" in caplog.text
    with pytest.raises(StoreUnavailable, match="the disk is full"), Store.open(path):
        pass
    memory = atlas.open_memory(path.parent / "other", embedder=HashEmbedder())
    with pytest.raises(KeyError, match="the caller's"), memory:
        raise KeyError("the caller's")


def open_files(path):
    """Which of a ledger's files this process holds open."""
    targets = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
    return [target for target in targets if target.parent == path]


def test_a_label_that_cannot_be_written_is_reported(open_store):
    opened = open_store()
    label = opened.store.path / "store.json"
    label.unlink()
    label.mkdir()
    with pytest.raises(StoreUnavailable, match=r"store\.json cannot be written .*the records are unchanged"):
        opened.store.relabel(MODEL, checksum="")
    label.rmdir()
    opened.store.relabel(MODEL, checksum="")
    assert label.is_file()


def test_a_missing_label_is_written_anew(open_store):
    path = make(open_store)
    (path / "store.json").unlink()
    assert open_store().ids() == IDS
    assert (path / "store.json").exists()


def test_another_embedding_model_is_refused(open_store):
    path = make(open_store)
    for model in (EmbeddingModel("other", 8), EmbeddingModel("test", 9)):
        with pytest.raises(EmbeddingModelMismatch, match=r"vectors of 'test' \(8-d\), but the embedder is '.*reembed"):
            Store.open(path).bind(model)


def index_files(path):
    """Every file of the index, by a name that tells its kind."""
    return {file.name: file for file in sorted((path / "chroma").rglob("*")) if file.is_file()}


KINDS = ["chroma.sqlite3", "seal.json", "data_level0.bin", "header.bin", "length.bin", "link_lists.bin"]


@pytest.fixture(scope="module")
def large_store(tmp_path_factory):
    """A store whose index is large enough for ChromaDB to keep all kinds of files; copied by each test."""
    path = tmp_path_factory.mktemp("large") / "store"
    opened = Store.open(path, settings=Settings(**FEW))
    Opened(opened).add(*[f"r{i}" for i in range(1_100)])
    opened.close()
    return path


@pytest.mark.parametrize("kind", [*KINDS, "index_metadata.pickle"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_the_index_is_rebuilt_without_a_word(open_store, large_store, tmp_path, kind, damage, caplog):
    path = tmp_path / "store"
    shutil.copytree(large_store, path)
    damage(index_files(path)[kind])
    opened = open_store(**FEW)
    for record_id in ("r0", "r500", "r1099"):
        assert opened.nearest(record_id) == [record_id]
    opened.add("new")
    assert opened.nearest("new") == ["new"]
    opened.store.close()
    warnings = [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert [record for record in warnings if record.name != AUDIT] == []
    again = open_store(**FEW)
    assert again.store.collection(THINGS).parts.nearest.updater.checkpoint().n_keys == 1_101
    assert again.nearest("r77") == ["r77"]
    assert again.nearest("new") == ["new"]


@pytest.mark.parametrize(
    "text",
    [
        '{"ledger_id": "%s", "revision": "x"}',
        '{"ledger_id": "%s", "revision": null}',
        '{"ledger_id": "%s", "revision": 1.5}',
        '{"ledger_id": "%s", "revision": true}',
        '{"ledger_id": "%s", "revision": 99999999999999999999}',
        '{"ledger_id": "%s", "revision": -1}',
        '{"ledger_id": "%s", "revision": 40, "n_keys": "40"}',
        '{"ledger_id": "%s", "revision": 40, "files": []}',
        '{"ledger_id": ["%s"]}',
        '{"unheard of": "%s"}',
        "[%r]",
        "[" * 100_000 + "%s",
    ],
)
def test_a_checkpoint_that_nobody_could_have_set_counts_as_none(open_store, text):
    path = make(open_store)
    opened = open_store(**FEW)
    ledger_id = opened.store.ledger.position(THINGS).ledger_id
    (path / "chroma" / THINGS / "seal.json").write_text(text % ledger_id)
    assert opened.store.collection(THINGS).parts.nearest.updater.checkpoint() == IndexCheckpoint()
    assert [opened.nearest(record_id) for record_id in IDS] == [[record_id] for record_id in IDS]
    opened.store.close()
    assert open_store(**FEW).store.collection(THINGS).parts.nearest.updater.checkpoint().n_keys == len(IDS)


@pytest.mark.parametrize("kind", ["whole", "inside", "file in its place"])
def test_a_deleted_index_is_rebuilt(open_store, kind):
    path = make(open_store)
    shutil.rmtree(path / "chroma" / ("" if kind != "inside" else THINGS))
    if kind == "file in its place":
        (path / "chroma").write_text("not a directory")
    opened = open_store(**FEW)
    assert [opened.nearest(record_id) for record_id in IDS] == [[record_id] for record_id in IDS]
    opened.store.close()
    assert open_store(**FEW).store.collection(THINGS).parts.nearest.updater.checkpoint().n_keys == len(IDS)


def test_an_index_deleted_while_it_is_in_use_loses_nothing(open_store):
    path = make(open_store)
    opened = open_store(**FEW)
    assert opened.nearest("r1") == ["r1"]
    shutil.rmtree(path / "chroma")
    assert [opened.nearest(record_id) for record_id in IDS] == [[record_id] for record_id in IDS]
    opened.add("new")
    assert opened.nearest("new") == ["new"]
    opened.store.close()
    assert [open_store(**FEW).nearest(record_id) for record_id in ("r0", "new")] == [["r0"], ["new"]]


def test_the_index_of_another_store_is_not_believed(open_store, tmp_path):
    path = make(open_store)
    other = open_store(tmp_path / "other", **FEW)
    other.add(*[f"x{i}" for i in range(60)])
    other.store.close()
    shutil.rmtree(path / "chroma")
    shutil.copytree(tmp_path / "other" / "chroma", path / "chroma")
    opened = open_store(**FEW)
    assert [opened.nearest(record_id) for record_id in IDS] == [[record_id] for record_id in IDS]
