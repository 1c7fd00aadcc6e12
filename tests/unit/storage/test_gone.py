"""A store whose directory was removed, moved or cut off while it was open: it is said to be gone, and stays gone."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from atlas.core.errors import StoreDamaged, StoreUnavailable
from atlas.core.operations import Marks
from atlas.infra.fork_safety import InterProcessLock
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.doctor import examine
from atlas.storage.store import Store
from tests.support.storage.ledgers import THINGS

GONE = r"the store .*store has been removed or moved since it was opened, so .* was not written; restore the directory"
FEW = {"exact_max_rows": 10, "index_lag_rows": 5}
IDS = [f"r{i}" for i in range(200)]


def uses(opened):
    """Everything that reads or writes."""
    return (
        opened.ids,
        lambda: opened.nearest("r1"),
        lambda: opened.store.collection(THINGS).search_text("text", 3),
        lambda: opened.marks("r1"),
        lambda: opened.add("new"),
        lambda: opened.delete("r2"),
        lambda: opened.mark(r3=Marks(pinned=True)),
        opened.store.history,
        opened.store.catch_up,
        opened.store.ledger.revision,
        lambda: examine(opened.store, fix=True),
    )


@pytest.fixture
def used(open_store):
    """An open store that has used all of its files."""
    opened = open_store(**FEW)
    opened.add(*IDS)
    opened.mark(r1=Marks(note="n"))
    opened.store.catch_up()
    assert opened.nearest("r1") == ["r1"]
    return opened


def assert_all_refuse(opened, kind, match):
    for use in uses(opened):
        with pytest.raises(kind, match=match):
            use()


@pytest.mark.parametrize("how", ["removed", "moved"])
def test_a_store_whose_directory_is_gone_says_so_and_does_not_come_back(used, how, tmp_path):
    path = used.store.path
    shutil.rmtree(path) if how == "removed" else path.rename(tmp_path / "elsewhere")
    assert_all_refuse(used, StoreUnavailable, GONE)
    with pytest.raises(StoreUnavailable, match=GONE):
        used.store.close()
    assert not path.exists()


def test_a_reader_of_a_store_that_is_gone_says_so(used, open_store):
    reader = open_store(read_only=True, **FEW)
    assert reader.nearest("r1") == ["r1"]
    shutil.rmtree(used.store.path)
    for read in (reader.ids, lambda: reader.nearest("r1"), lambda: reader.marks("r1"), reader.store.history):
        with pytest.raises(StoreUnavailable, match=GONE):
            read()
    reader.store.close()
    assert not used.store.path.exists()


def test_a_store_that_is_put_back_is_used_again(used, tmp_path):
    used.store.path.rename(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable, match=GONE):
        used.ids()
    (tmp_path / "elsewhere").rename(used.store.path)
    assert used.ids() == IDS
    used.add("new")
    assert used.nearest("new") == ["new"]


def test_another_store_in_its_place_is_not_written_to(used, open_store):
    shutil.rmtree(used.store.path)
    other = open_store(**FEW)
    other.add("theirs")
    for use in (used.ids, lambda: used.add("mine")):
        with pytest.raises(StoreUnavailable, match=r"the file .*atlas\.sqlite has been replaced.*open it again"):
            use()
    assert other.ids() == ["theirs"]


def test_a_ledger_that_alone_was_removed_is_damage(used):
    for file in used.store.path.glob("atlas.sqlite*"):
        file.unlink()
    assert_all_refuse(used, StoreDamaged, "the file is missing or empty, though the store was in use")
    assert not (used.store.path / "atlas.sqlite").exists()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.5, 0.9])
@pytest.mark.parametrize("has_journal", [False, True])
def test_a_ledger_that_is_cut_off_while_it_is_open_is_damage_to_everyone(used, open_store, share, has_journal):
    ledger = used.store.path / "atlas.sqlite"
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if has_journal:
        used.mark(r2=Marks(note="in the journal"))
    used.ids()
    os.truncate(ledger, int(share * ledger.stat().st_size))
    content = ledger.read_bytes()
    assert_all_refuse(used, StoreDamaged, r"atlas\.sqlite is damaged")
    if has_journal:  # SQLite wrote it back when the file was let go of, beyond what is missing
        assert "or repaired" in damage_found_in(ledger.parent)
        return
    with pytest.raises(StoreDamaged, match="is damaged"):
        open_store(**FEW)
    assert ledger.read_bytes() == content


def damage_found_in(path) -> str:
    """What the doctor says of a store, or why it cannot look at it."""
    try:
        with Store.open(path, read_only=True) as store:
            return examine(store)[0].problem
    except StoreDamaged:
        return "or repaired"


def test_a_ledger_that_others_made_smaller_is_read_on(used, tmp_path):
    used.store.ledger.database.copy_to(tmp_path / "copy.sqlite")
    used.delete(*IDS[5:])
    with closing(sqlite3.connect(used.store.path / "atlas.sqlite", isolation_level=None)) as connection:
        connection.execute("DELETE FROM changes")
        connection.create_function("searchable", 1, str, deterministic=True)
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert used.ids() == IDS[:5]
    used.add("new")
    assert used.ids() == [*IDS[:5], "new"]


def test_a_store_that_never_was_there_is_created(tmp_path):
    with Store.open(tmp_path / "deep" / "store") as store:
        assert store.history() == []
    assert (tmp_path / "deep" / "store" / "atlas.sqlite").exists()


def test_a_lock_makes_no_directory(tmp_path):
    lock = InterProcessLock(tmp_path / "gone" / "some.lock")
    with pytest.raises(StoreUnavailable, match=r"gone has been removed or moved"), lock.locked():
        pass
    assert not (tmp_path / "gone").exists()


def test_a_backup_is_restored_into_a_store_that_is_open(used, tmp_path):
    backup(used.store, tmp_path / "copy")
    used.add("later")
    restore(used.store, tmp_path / "copy")
    assert used.ids() == IDS


def test_an_error_of_closing_a_store_that_is_gone_replaces_no_other(open_store, caplog):
    opened = open_store()
    opened.add("a")
    with pytest.raises(KeyError, match="the caller's"), opened.store:
        shutil.rmtree(opened.store.path)
        raise KeyError("the caller's")
    assert "has been removed or moved" in caplog.text
    assert not opened.store.path.exists()
