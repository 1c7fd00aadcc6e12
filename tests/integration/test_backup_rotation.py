"""Backups of which the oldest are removed, once the newest was restored as a test."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from atlas.core.errors import InvalidInput, StoreDamaged
from atlas.core.settings import Settings
from atlas.storage.maintenance import rotation
from atlas.storage.maintenance.backup import backup, inspect_backup, read_backups
from atlas.storage.maintenance.rotation import rotate_backups
from atlas.storage.store import EmbeddingModel, Store
from atlas.testing import FixedClock

COLLECTION = "atlas_experiences"
START = datetime(2026, 3, 1, 3, 15, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def directory(tmp_path) -> Path:
    path = tmp_path / "nightly"
    path.mkdir()
    return path


@pytest.fixture
def store(tmp_path, clock):
    with Store.open(tmp_path / "store", settings=Settings(actor="tester"), clock=clock) as store:
        store.bind(EmbeddingModel("test", 8))
        add(store, "first")
        yield store


def add(store: Store, record_id: str) -> None:
    vector = np.eye(8, dtype=np.float32)[0]
    store.collection(COLLECTION).add([record_id], [vector], [{"title": record_id}], [record_id])


def names_in(directory: Path) -> list[str]:
    """Names of files, where rotated ones lack the mark of their store."""
    return sorted(re.sub(r"rotated-[0-9a-f]{8}", "rotated", path.name) for path in directory.iterdir())


def test_the_newest_backups_are_kept(store, clock, directory):
    reports = []
    for number in range(4):
        reports.append(rotate_backups(store, directory, 2))
        add(store, f"record {number}")
        clock.advance(timedelta(days=1))
    assert [report.backup.n_records for report in reports] == [1, 2, 3, 4]
    assert names_in(directory) == ["store-rotated-20260303-031500.zip", "store-rotated-20260304-031500.zip"]
    assert [len(report.removed) for report in reports] == [0, 0, 1, 1]
    assert inspect_backup(store, reports[-1].path).counts == {COLLECTION: 4}


def test_a_purge_names_only_the_backups_that_are_left(store, clock, directory):
    for _ in range(3):
        rotate_backups(store, directory, 1)
        clock.advance(timedelta(days=1))
    assert [Path(each.path) for each in read_backups(store.ledger)] == list(directory.iterdir())


def test_files_of_others_are_left_alone(store, clock, directory, tmp_path):
    backup(store, directory / "store-backup-20200101-000000.zip")
    (directory / "other-rotated-20200101-000000.zip").write_text("another store's")
    (directory / "my-store-rotated-20200101-000000.zip").write_text("another store's")
    (directory / "notes.txt").write_text("mine")
    before = names_in(directory)
    rotate_backups(store, directory, 1)
    clock.advance(timedelta(days=1))
    rotate_backups(store, directory, 1)
    assert names_in(directory) == sorted([*before, "store-rotated-20260302-031500.zip"])


def test_stores_of_one_name_leave_each_others_backups(store, clock, directory, tmp_path):
    rotate_backups(store, directory, 1)
    clock.advance(timedelta(days=1))
    with Store.open(tmp_path / "elsewhere" / "store", settings=Settings(actor="tester"), clock=clock) as other:
        rotate_backups(other, directory, 1)
    assert names_in(directory) == ["store-rotated-20260301-031500.zip", "store-rotated-20260302-031500.zip"]


def test_a_clock_that_was_ahead_removes_no_new_backup(store, clock, directory):
    clock.advance(timedelta(days=1_000))
    rotate_backups(store, directory, 1)
    clock.advance(timedelta(days=-999))
    new = rotate_backups(store, directory, 1)
    assert [*directory.iterdir()] == [new.path]


def cut_short(store: Store, target: Path):
    report = backup(store, target)
    target.write_bytes(target.read_bytes()[: report.n_bytes // 2])
    return report


def killed(store: Store, path: Path, n_records: int):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("part", "fault", "error"), [("backup", cut_short, StoreDamaged), ("_test_backup", killed, KeyboardInterrupt)]
)
def test_a_backup_that_is_not_tested_removes_no_other(store, clock, directory, monkeypatch, part, fault, error):
    rotate_backups(store, directory, 1)
    clock.advance(timedelta(days=1))
    with monkeypatch.context() as broken, pytest.raises(error):
        broken.setattr(rotation, part, fault)
        rotate_backups(store, directory, 1)
    assert names_in(directory) == ["store-rotated-20260301-031500.zip"]
    assert [Path(each.path) for each in read_backups(store.ledger)] == list(directory.iterdir())


def test_what_a_killed_run_left_is_removed_by_the_next(store, clock, directory):
    first = rotate_backups(store, directory, 2)
    (directory / f"{first.path.name}.untested").write_text("half of a backup")
    clock.advance(timedelta(days=1))
    rotate_backups(store, directory, 2)
    assert names_in(directory) == ["store-rotated-20260301-031500.zip", "store-rotated-20260302-031500.zip"]


@pytest.mark.parametrize("n_kept", [0, -1])
def test_at_least_one_backup_is_kept(store, directory, n_kept):
    with pytest.raises(InvalidInput, match="at least 1"):
        rotate_backups(store, directory, n_kept)
    assert names_in(directory) == []


def test_a_directory_that_is_missing_is_named(store, tmp_path):
    with pytest.raises(InvalidInput, match="create it first"):
        rotate_backups(store, tmp_path / "absent", 2)


def test_two_backups_of_one_second_are_refused(store, directory):
    rotate_backups(store, directory, 1)
    with pytest.raises(InvalidInput, match="exists already"):
        rotate_backups(store, directory, 1)
    assert names_in(directory) == ["store-rotated-20260301-031500.zip"]


def test_a_store_that_is_only_read_can_be_backed_up(store, directory):
    with Store.open(store.path, settings=Settings(actor="tester"), read_only=True) as reader:
        new = rotate_backups(reader, directory, 1)
    assert [*directory.iterdir()] == [new.path]
    assert read_backups(store.ledger) == []
