"""A disk without room: a clear error, nothing half written, and writing works again once there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from atlas.core.errors import StoreUnavailable
from atlas.core.operations import Marks
from atlas.storage.records import Record
from atlas.storage.store import Store
from tests.support.lacking import lacking
from tests.support.storage.ledgers import MODEL, THINGS, Opened, vector_of, without_privileges


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A disk of its own, of 6 MB; only root may have one. Its tests are skipped elsewhere, but not in CI."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        lacking(f"no disk can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def records(*ids, size):
    return [Record(id=i, metadata={}, document=i, content="x" * size, vectors=np.stack([vector_of(i)])) for i in ids]


def leave_pages(ledger, n_pages):
    """Let this thread's connection write so many pages more, and no others."""
    with ledger.database.session() as connection:
        used = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {used + n_pages}")


def test_a_write_that_does_not_fit_is_refused_as_a_whole(open_store):
    opened = open_store()
    opened.add("old")
    ledger = opened.store.ledger
    leave_pages(ledger, 20)
    before = ledger.revision()
    with pytest.raises(StoreUnavailable, match=r"the disk of .*atlas\.sqlite is full .*nothing was written"):
        ledger.add(
            THINGS, records("a", "b", "c", size=200_000), ledger.new_operation("store", actor="t"), model=MODEL.name
        )
    assert opened.ids() == ["old"]
    assert ledger.revision() == before
    assert len(opened.store.history()) == 1
    assert opened.nearest("a") == ["old"]


def test_writing_goes_on_once_there_is_room(open_store):
    opened = open_store()
    opened.add("old")
    ledger = opened.store.ledger
    leave_pages(ledger, 5)
    draft = ledger.new_operation("store", actor="t")
    with pytest.raises(StoreUnavailable, match="full"):
        ledger.add(THINGS, records("a", size=200_000), draft, model=MODEL.name)
    leave_pages(ledger, 10_000)
    ledger.add(THINGS, records("a", size=200_000), draft, model=MODEL.name)
    assert opened.ids() == ["old", "a"]
    assert opened.store.undo(draft.id).counts == {"removed": 1}
    assert opened.ids() == ["old"]


def test_an_undo_that_does_not_fit_changes_nothing(open_store):
    opened = open_store()
    ledger = opened.store.ledger
    ledger.add(THINGS, records("a", size=200_000), ledger.new_operation("store", actor="t"), model=MODEL.name)
    deletion = opened.delete("a")
    with ledger.database.write() as connection:
        connection.execute("CREATE TABLE filler AS SELECT randomblob(300000) AS content")
    leave_pages(ledger, 2)
    with pytest.raises(StoreUnavailable, match="full"):
        opened.store.undo(deletion)
    assert opened.ids() == []
    assert [operation.kind for operation in opened.store.history()] == ["delete", "store"]
    leave_pages(ledger, 10_000)
    opened.store.undo(deletion)
    assert opened.ids() == ["a"]


def test_marks_that_cannot_reach_their_file_are_kept_in_the_ledger(open_directory, caplog):
    open_directory.chmod(0o777)
    with without_privileges(), Store.open(open_directory / "store") as store:
        opened = Opened(store)
        opened.add("a", "b")
        opened.mark(a=Marks(note="old"))
        store.marks_files.finish()
        file = store.path / f"{THINGS}_meta.json"
        store.path.chmod(0o500)
        opened.mark(a=Marks(note="new"))
        store.marks_files.finish()
        assert "the files of marks are not up to date" in caplog.text
        assert opened.marks("a") == Marks(note="new")
        assert "old" in file.read_text(encoding="utf-8")
        store.path.chmod(0o700)
        opened.mark(b=Marks(pinned=True))
        store.marks_files.finish()
        assert "new" in file.read_text(encoding="utf-8")
    with Store.open(open_directory / "store") as store:
        assert Opened(store).marks("a") == Marks(note="new")


def test_marks_that_cannot_be_copied_as_the_directory_cannot_be_reached_fail_no_closing(open_directory):
    open_directory.chmod(0o777)
    place = open_directory / "place"
    with without_privileges(), Store.open(place / "store") as store:
        Opened(store).add("a")
        store.marks_files.finish()
        place.chmod(0)
        store.marks_files.schedule()
        store.marks_files.finish()
        place.chmod(0o700)
    with Store.open(place / "store") as store:
        assert Opened(store).ids() == ["a"]


@pytest.mark.parametrize("n_kilobytes", [16, 64, 150])
def test_an_index_that_finds_no_room_says_so_and_nothing_else(open_store, small_disk, n_kilobytes, caplog, capfd):
    opened = open_store(small_disk / "store", exact_max_rows=10)
    opened.add(*[f"r{i}" for i in range(50)])
    status = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(bytes(status.f_bavail * status.f_frsize - n_kilobytes * 1024))
    assert opened.store.catch_up() == 0
    assert opened.nearest("r7") == ["r7"]
    assert "the index of things cannot be built" in caplog.text
    assert "full" in caplog.text or "No space left" in caplog.text
    assert "bindings" not in caplog.text + capfd.readouterr().err
    (small_disk / "filler").unlink()
    assert opened.store.catch_up() == 50
