"""A store opened for reading only, and directories that cannot be written."""

from __future__ import annotations

import pytest

from atlas.core.errors import ReadOnlyStore, StoreUnavailable
from atlas.core.operations import NO_MARKS, Marks
from tests.support.storage.engines import every_engine, of_files
from tests.support.storage.ledgers import THINGS, files_in, without_privileges

engine = every_engine

IDS = [f"r{i}" for i in range(12)]


def make(open_store, path, **options):
    opened = open_store(path, **options)
    opened.add(*IDS, n=1)
    opened.mark(r1=Marks(tags=("a",)))
    opened.store.close()


def use(opened):
    """Everything that reads."""
    assert opened.ids() == IDS
    assert opened.ids({"marks.tags": "a"}) == ["r1"]
    assert opened.ids({"usage.n_uses": 0}) == IDS
    assert opened.nearest("r3") == ["r3"]
    assert opened.marks("r1") == Marks(tags=("a",))
    assert opened.marks("r2") == NO_MARKS
    assert opened.store.collection(THINGS).search_text("text", 3).ids
    opened.store.collection(THINGS).count_retrievals(["r1"])
    assert [operation.kind for operation in opened.store.history()] == ["mark", "store"]


@of_files
def test_reading_changes_no_file(open_store, tmp_path):
    make(open_store, tmp_path / "store", exact_max_rows=3, index_lag_rows=1)
    before = files_in(tmp_path / "store")
    opened = open_store(read_only=True, exact_max_rows=3, index_lag_rows=1)
    use(opened)
    opened.store.catch_up()
    opened.store.close()
    assert files_in(tmp_path / "store") == before


@of_files
def test_a_store_that_another_process_is_creating_is_not_called_damaged(open_store, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "atlas.sqlite").touch()
    with pytest.raises(ReadOnlyStore, match="is empty: another process is creating the store now"):
        open_store(read_only=True)
    make(open_store, tmp_path / "store")


@of_files
def test_every_write_is_refused(open_store, tmp_path):
    make(open_store, tmp_path / "store")
    before = files_in(tmp_path / "store")
    opened = open_store(read_only=True)
    things = opened.store.collection(THINGS)
    operation = opened.store.history()[-1].id
    for write in (
        lambda: opened.add("new"),
        lambda: opened.edit("r1", "other"),
        lambda: opened.delete("r1"),
        lambda: opened.mark(r1=Marks(pinned=True)),
        lambda: things.record_use("r1", True),
        lambda: things.delete_unchanged(["r1"], 10**6),
        lambda: opened.store.undo(operation),
    ):
        with pytest.raises(ReadOnlyStore, match="was opened for reading only; open it without read_only"):
            write()
    assert files_in(tmp_path / "store") == before


def test_a_store_that_is_not_there_is_not_created(open_store, tmp_path):
    with pytest.raises(ReadOnlyStore, match=r"there is no store at .*creates none"):
        open_store(read_only=True)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_reader_sees_what_a_writer_adds_meanwhile(open_store):
    writer = open_store()
    writer.add("a")
    reader = open_store(read_only=True)
    assert reader.nearest("b") == ["a"]
    writer.add("b")
    writer.mark(b=Marks(pinned=True))
    assert reader.nearest("b") == ["b"]
    assert reader.ids({"marks.pinned": True}) == ["b"]
    writer.delete("b")
    assert reader.nearest("b") == ["a"]


def test_a_directory_that_cannot_be_written_can_be_read(open_store, open_directory):
    make(open_store, open_directory / "store")
    for file in (open_directory / "store").iterdir():
        file.chmod(0o555 if file.is_dir() else 0o444)
    (open_directory / "store").chmod(0o555)
    before = files_in(open_directory / "store")
    with without_privileges():
        with pytest.raises(StoreUnavailable, match="cannot be written; open it with ATLAS_READ_ONLY=1"):
            open_store(open_directory / "store")
        opened = open_store(open_directory / "store", read_only=True)
        use(opened)
        opened.store.close()
    assert files_in(open_directory / "store") == before


def test_a_store_cannot_be_created_where_nothing_may_be_written(open_store, open_directory):
    open_directory.chmod(0o555)
    with without_privileges(), pytest.raises(StoreUnavailable, match=r"cannot be created .*--store"):
        open_store(open_directory / "store")
    assert list(open_directory.iterdir()) == []


@pytest.mark.parametrize("read_only", [False, True])
def test_a_ledger_that_may_not_be_read_is_reported(open_store, open_directory, read_only):
    make(open_store, open_directory / "store")
    (open_directory / "store").chmod(0o777)
    (open_directory / "store" / "store.lock").chmod(0o666)
    (open_directory / "store" / "atlas.sqlite").chmod(0o000)
    with without_privileges(), pytest.raises(StoreUnavailable, match=r"atlas\.sqlite cannot be opened"):
        open_store(open_directory / "store", read_only=read_only)


def test_a_ledger_that_may_not_be_written_is_reported(open_store, open_directory):
    make(open_store, open_directory / "store")
    (open_directory / "store").chmod(0o777)
    (open_directory / "store" / "store.lock").chmod(0o666)
    (open_directory / "store" / "atlas.sqlite").chmod(0o444)
    with without_privileges(), pytest.raises(StoreUnavailable, match=r"cannot be opened for writing .*permissions"):
        open_store(open_directory / "store").add("new")
