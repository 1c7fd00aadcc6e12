"""Backups into a directory, of which the oldest are removed once the newest was restored as a test."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from atlas.core.errors import InvalidInput, StoreDamaged
from atlas.core.settings import at
from atlas.storage.erasing import in_use
from atlas.storage.maintenance.backup import BackupReport, backup, forget_backup, restore
from atlas.storage.store import Store

ROTATED = "rotated"
"""Part of the names of backups that rotation may remove."""

FAILED = ".failed"
"""Suffix of a backup that could not be restored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationReport:
    """Result of a rotation."""

    backup: BackupReport
    path: Path
    """The new backup."""

    removed: tuple[Path, ...]
    """Older backups that were removed, the oldest first."""


def backup_name(store: Store, why: str = "backup") -> str:
    """Return the name of a new backup: `my-agent-backup-20260131-090507.zip`."""
    return f"{_stem(store, why)}-{store.ledger.clock.now():%Y%m%d-%H%M%S}.zip"


def rotate_backups(store: Store, directory: Path, n_kept: int) -> RotationReport:
    """Write a backup into a directory, test it, and remove the oldest ones.

    Only backups that this function wrote for this store are removed.

    Args:
        n_kept: Number of backups that are left, the new one among them.

    Raises:
        NotAllowed: The actor is not an admin.
        InvalidInput: Fewer than one are to be kept, there is no such directory, or it has a backup of this second.
        StoreUnavailable: The backup cannot be written, or there is no room to restore it. No backup was removed.
        StoreDamaged: The backup could not be restored. It was renamed, and no backup was removed.
    """
    if n_kept < 1:
        raise InvalidInput(f"expected at least 1 backup to keep, got {n_kept}")
    if not directory.is_dir():
        raise InvalidInput(f"{directory} is not a directory; create it first: mkdir {directory}")
    path = directory / backup_name(store, ROTATED)
    report = backup(store, path)
    _test(store, path, report.n_records)
    return RotationReport(backup=report, path=path, removed=_remove_oldest(store, directory, n_kept))


def _test(store: Store, path: Path, n_records: int) -> None:
    """Restore a backup into a new store, and check that store.

    Raises:
        StoreDamaged: It differs from what was backed up.
    """
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".atlas-backup-") as scratch, in_use(Path(scratch)):
            problem = _restoration_problem(store, path, Path(scratch) / "store", n_records)
    except (InvalidInput, StoreDamaged) as error:
        problem = str(error)
    if problem:
        failed = path.rename(path.with_name(path.name + FAILED))
        raise StoreDamaged(
            f"the new backup cannot be restored: {problem}. It is {failed} now. No older backup was removed. "
            "Check the store: atlas doctor"
        )


def _restoration_problem(store: Store, path: Path, scratch: Path, n_records: int) -> str:
    with Store.open(scratch, settings=at(store.settings, str(scratch))) as copy:
        n_restored = restore(copy, path).n_records
        if n_restored != n_records:
            return f"expected {n_records} records, got {n_restored}"
        return next((problem for check in copy.ledger.checks() if (problem := check.look())), "")


def _remove_oldest(store: Store, directory: Path, n_kept: int) -> tuple[Path, ...]:
    pattern = re.compile(re.escape(_stem(store, ROTATED)) + r"-\d{8}-\d{6}\.zip")
    backups = sorted(path for path in directory.iterdir() if pattern.fullmatch(path.name))
    removed = tuple(backups[:-n_kept])
    for path in removed:
        path.unlink(missing_ok=True)
        forget_backup(store.ledger, path)
    return removed


def _stem(store: Store, why: str) -> str:
    return f"{store.path.resolve().name.lstrip('.')}-{why}"
