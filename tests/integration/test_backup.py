"""Backup and restore, with other writers about."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.core.types import Marks
from atlas.infra import aio
from atlas.storage.backup import backup, restore
from atlas.storage.store import EmbeddingModel, Store

COLLECTION = "atlas_experiences"
VECTORS = np.eye(8, dtype=np.float32)


def opened(path) -> Store:
    store = Store.open(path, settings=Settings(actor="tester"))
    store.bind(EmbeddingModel("test", 8))
    return store


def add(store: Store, *ids: str) -> None:
    collection = store.vector_store(COLLECTION)
    rows = [VECTORS[len(record_id) % 8] for record_id in ids]
    aio.run(collection.add(list(ids), rows, [{"title": record_id} for record_id in ids], list(ids)))


def ids_of(store: Store) -> list[str]:
    return [row["id"] for row in aio.run(store.vector_store(COLLECTION).scan())]


def test_a_restore_brings_records_marks_and_history_back(tmp_path):
    with opened(tmp_path / "store") as store:
        add(store, "a", "bb", "ccc")
        aio.run(store.vector_store(COLLECTION).mark({"a": Marks(tags=("kept",), pinned=True)}))
        report = backup(store, tmp_path / "backup.zip")
        assert report.n_records == 3

        aio.run(store.vector_store(COLLECTION).delete(["a", "bb"]))
        aio.run(store.vector_store(COLLECTION).mark({"ccc": Marks(note="made after the backup")}))
        assert restore(store, tmp_path / "backup.zip").n_records == 3

        assert ids_of(store) == ["a", "bb", "ccc"]
        marks = store.marks.read(COLLECTION, ["a", "ccc"])
        assert marks == {"a": Marks(tags=("kept",), pinned=True), "ccc": Marks()}
        assert [operation.kind for operation in store.history()] == ["mark", "store"]
        assert aio.run(store.vector_store(COLLECTION).query(VECTORS[1], 1)).ids == ["a"]


def test_a_restore_into_a_new_directory_makes_the_same_store(tmp_path):
    with opened(tmp_path / "one") as store:
        add(store, "a", "bb")
        backup(store, tmp_path / "backup.zip")
    with Store.open(tmp_path / "two", settings=Settings(actor="tester")) as other:
        restore(other, tmp_path / "backup.zip")
        assert other.model == EmbeddingModel("test", 8)
        assert ids_of(other) == ["a", "bb"]
        assert aio.run(other.vector_store(COLLECTION).query(VECTORS[2], 1)).ids == ["bb"]


def test_a_process_that_has_the_store_open_sees_what_was_restored(tmp_path):
    with opened(tmp_path / "store") as store, opened(tmp_path / "store") as other:
        add(store, "a")
        backup(store, tmp_path / "backup.zip")
        add(store, "bb")
        assert aio.run(other.vector_store(COLLECTION).query(VECTORS[2], 1)).ids == ["bb"]
        restore(store, tmp_path / "backup.zip")
        assert aio.run(other.vector_store(COLLECTION).query(VECTORS[2], 2)).ids == ["a"]
        add(other, "ccc")
        assert aio.run(store.vector_store(COLLECTION).query(VECTORS[3], 1)).ids == ["ccc"]


def test_marks_on_their_way_to_their_file_are_in_the_backup(tmp_path):
    with opened(tmp_path / "store") as store:
        add(store, "a")
        with store.ledger.database.write() as connection:
            connection.execute("INSERT INTO pending_marks VALUES (?, 'a', '{\"note\": \"waiting\"}')", (COLLECTION,))
        backup(store, tmp_path / "backup.zip")
        restore(store, tmp_path / "backup.zip")
        assert store.marks.read(COLLECTION, ["a"])["a"].note == "waiting"


def test_a_backup_never_replaces_a_file(tmp_path):
    (tmp_path / "backup.zip").write_text("something else")
    with opened(tmp_path / "store") as store, pytest.raises(InvalidInput, match="exists already"):
        backup(store, tmp_path / "backup.zip")
    assert (tmp_path / "backup.zip").read_text() == "something else"


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04 cut off"])
def test_what_is_not_a_backup_is_refused_and_the_store_stays(tmp_path, content):
    (tmp_path / "backup.zip").write_bytes(content)
    with opened(tmp_path / "store") as store:
        add(store, "a")
        with pytest.raises(InvalidInput, match="is not a backup"):
            restore(store, tmp_path / "backup.zip")
        assert ids_of(store) == ["a"]


def test_a_damaged_ledger_in_a_backup_is_refused_and_the_store_stays(tmp_path):
    with zipfile.ZipFile(tmp_path / "backup.zip", "w") as file:
        file.writestr("atlas.sqlite", b"garbage" * 1000)
        file.writestr("marks.json", "{}")
    with opened(tmp_path / "store") as store:
        add(store, "a")
        with pytest.raises(InvalidInput, match="damaged"):
            restore(store, tmp_path / "backup.zip")
        assert ids_of(store) == ["a"]
