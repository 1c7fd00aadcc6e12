"""A purge beside others: it keeps what they are working with, and what is not of the purge."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count, takewhile
from pathlib import Path

import pytest

import atlas
from atlas.core.operations import Marks
from atlas.core.settings import Settings
from atlas.storage.erasing import lock_scratch
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.doctor import examine
from atlas.storage.sqlite import database
from atlas.testing import HashEmbedder
from tests.support.processes.purging import FORMS, SECRET, attempt, fill, holding, opened, purge, rows


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@contextmanager
def reading(store):
    """Somebody else reads the ledger as it is now."""
    with closing(sqlite3.connect(store / "atlas.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM records").fetchone()
        yield


def test_purges_and_marks_at_once_stop_neither(store):
    """What others are half way through writing is not removed."""
    with opened(store) as memory, opened(store) as other:
        *leaked, kept = fill(memory, 9)
        is_done = threading.Event()

        def mark() -> str:
            for note in takewhile(lambda _: not is_done.is_set(), map(str, count())):
                other.experience.change_marks([kept], note=note)
            return note

        with ThreadPoolExecutor(1) as pool:
            last = pool.submit(mark)
            try:
                problems = [memory.apply_purge(memory.plan_purge([one])).problem for one in leaked]
            finally:
                is_done.set()
            note = last.result()
        assert memory.experience.marks([kept])[kept].note == note
        assert all(problem == "" or problem.startswith("another process has been reading") for problem in problems)
        assert memory.storage.finish_purges() == ""


def test_a_backup_that_is_under_way_keeps_its_copy_and_the_purge_says_so(store):
    with opened(store) as memory:
        fill(memory, 2)
        leaked = memory.experience.store(attempt(SECRET))
        scratch = store / ".atlas-backup-x"
        scratch.mkdir()
        with lock_scratch(scratch):
            memory.storage.ledger.database.copy_to(scratch / "atlas.sqlite")
            done = memory.apply_purge(memory.plan_purge([leaked]))
            assert "a running backup or restore" in done.problem
            assert {*holding(store, *FORMS)} == {".atlas-backup-x/atlas.sqlite"}
        assert memory.storage.finish_purges() == ""
        assert holding(store, *FORMS) == {}
        assert not scratch.exists()


def test_another_record_that_says_the_same_keeps_its_hash_through_a_deletion(store):
    with opened(store) as memory:
        leaked, same = (memory.experience.store(attempt("the same")) for _ in range(2))
        memory.experience.record_use(same, True, task_id="t-the same")
        [[said]] = rows(memory, "SELECT content_hash FROM records WHERE id = ?", leaked)
        memory.experience.delete([same])
        deletion = memory.history(1)[0]
        purge(memory, leaked)
        memory.undo(deletion.id)
        assert rows(memory, "SELECT content_hash FROM records WHERE id = ?", same) == [(said,)]
        assert rows(memory, "SELECT task_id FROM events") == [("t-the same",)]


def test_the_rest_of_an_operation_can_be_undone_though_a_record_of_it_was_purged(store):
    with opened(store) as memory:
        leaked, *others = fill(memory, 4)
        memory.experience.change_marks([leaked, *others], add_tags=["bulk"])
        marked = memory.history(1)[0]
        memory.experience.delete([leaked, *others])
        deleted = memory.history(1)[0]
        purge(memory, leaked)
        undone = memory.undo(deleted.id)
        assert undone.reason == f"took back delete {deleted.id[:8]}; without 1 record that was purged later"
        assert {*memory.experience.ids()} == {*others}
        redone = memory.undo(undone.id)
        assert memory.experience.ids() == []
        memory.undo(redone.id)
        assert memory.undo(marked.id, reason="mine").reason == "mine; without 1 record that was purged later"
        assert {*memory.experience.marks(others).values()} == {Marks()}
        assert {*memory.experience.ids()} == {*others}
        assert memory.experience.get(leaked) is None


@pytest.mark.parametrize("n", [3, 12], ids=["exact", "indexed"])
def test_the_doctor_finds_nothing_to_mend_after_a_purge(store, n):
    with opened(store) as memory:
        leaked, *_ = fill(memory, n)
        memory.storage.catch_up()
        purge(memory, leaked)
        assert [finding.problem for finding in examine(memory.storage) if finding.problem] == []


def test_a_purge_names_the_backup_that_its_store_was_restored_from(store, tmp_path):
    with opened(store) as memory, opened(tmp_path / "new") as new:
        leaked, _ = fill(memory, 2)
        backup(memory.storage, tmp_path / "all.zip")
        restore(new.storage, tmp_path / "all.zip")
        assert [made.path for made in new.plan_purge([leaked]).backups] == [str(tmp_path / "all.zip")]
        known = memory.plan_purge([leaked]).backups
        restore(memory.storage, tmp_path / "all.zip")
        assert memory.plan_purge([leaked]).backups == known


def test_what_a_purge_has_left_to_do_outlasts_a_restore(store, tmp_path):
    with opened(store) as memory:
        leaked = memory.experience.store(attempt(SECRET))
        fill(memory, 2)
        empty = tmp_path / "empty.zip"
        with opened(tmp_path / "new") as new:
            fill(new, 1)
            backup(new.storage, empty)
        scratch = store / ".atlas-backup-x"
        scratch.mkdir()
        with lock_scratch(scratch):
            memory.storage.ledger.database.copy_to(scratch / "atlas.sqlite")
            assert memory.apply_purge(memory.plan_purge([leaked])).problem
            restore(memory.storage, empty)
            assert memory.storage.ledger.purges.unfinished()
        assert memory.storage.finish_purges() == ""
        assert holding(store, *FORMS) == {}


def test_a_backup_is_done_though_it_cannot_be_noted(store, tmp_path, caplog):
    with (
        atlas.open_memory(store, embedder=HashEmbedder(32), settings=Settings(busy_timeout_seconds=0.05)) as memory,
        closing(sqlite3.connect(store / "atlas.sqlite", isolation_level=None)) as other,
    ):
        fill(memory, 2)
        other.execute("BEGIN IMMEDIATE")
        assert backup(memory.storage, tmp_path / "all.zip").n_records == 2
        other.execute("ROLLBACK")
    assert (tmp_path / "all.zip").exists()
    assert "could not be recorded" in caplog.text


def test_the_cache_is_not_emptied_again_while_a_purge_waits_for_a_reader(store, monkeypatch):
    monkeypatch.setattr(database, "JOURNAL_SECONDS", 1)
    with opened(store) as memory:
        leaked, *_ = fill(memory, 3)
        with reading(store):
            assert memory.apply_purge(memory.plan_purge([leaked])).problem.startswith("another process")
            cached = store / "cache" / "made since"
            cached.parent.mkdir(exist_ok=True)
            cached.write_text("x")
            assert memory.storage.finish_purges().startswith("another process")
        assert memory.storage.finish_purges() == ""
        assert cached.exists()
