"""Rotation of backups in a directory: the oldest are removed after a test restore of the newest."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from atlas.core.errors import InvalidInput, StoreDamaged
from atlas.core.settings import settings_for_store
from atlas.infra.actor import Role, acting, check_role, current_actor
from atlas.storage.erasing import lock_scratch
from atlas.storage.maintenance.backup import BackupReport, backup, forget_backup, move_backup, read_backups, restore
from atlas.storage.store import Store

ROTATION_MARK = "rotated"
"""Part of the names of backups that rotation may remove."""

UNTESTED_SUFFIX = ".untested"
"""Suffix of a backup that has not been tested yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationReport:
    """Result of a rotation."""

    backup: BackupReport
    path: Path
    """The new backup."""

    removed: tuple[Path, ...]
    """Older backups that were removed, the oldest first."""


def backup_name(store: Store, purpose: str = "backup") -> str:
    """Return the name of a new backup, such as `my-agent-backup-20260131-090507.zip` for the purpose `backup`."""
    name = store.path.resolve().name.lstrip(".")
    return f"{name}-{purpose}-{store.ledger.clock.now():%Y%m%d-%H%M%S}.zip"


def back_up_into(store: Store, directory: Path, n_kept: int | None = None) -> RotationReport:
    """Write a backup into a directory, which is created if it does not exist.

    Args:
        n_kept: As in `rotate_backups`, or None to skip the test and keep all backups.

    Raises:
        NotAllowed: The actor is not an admin.
        StoreError: As in `backup` and `rotate_backups`.
    """
    check_role(Role.ADMIN, "write a backup")
    directory.mkdir(mode=0o700, exist_ok=True)
    if n_kept is not None:
        return rotate_backups(store, directory, n_kept)
    path = directory / backup_name(store)
    return RotationReport(backup=backup(store, path), path=path, removed=())


def rotate_backups(store: Store, directory: Path, n_kept: int) -> RotationReport:
    """Write a backup into a directory, test it, and remove the oldest ones.

    Only backups that this function wrote for this store are removed. Until it is tested, the new backup has another
    name.

    Args:
        n_kept: Number of backups to keep, including the new one.

    Raises:
        NotAllowed: The actor is not an admin.
        InvalidInput: `n_kept` is less than 1, the directory does not exist, or it has a backup made in this second.
        StoreUnavailable: The backup cannot be written, or there is no room to restore it. Only this backup was removed.
        StoreDamaged: The backup cannot be restored. Only this backup was removed.
    """
    if n_kept < 1:
        raise InvalidInput(f"expected at least 1 backup to keep, got {n_kept}")
    if not directory.is_dir():
        raise InvalidInput(f"{directory} is not a directory; create it first: mkdir {directory}")
    path = directory.resolve() / backup_name(store, _unique_name_part(store))
    if path.exists():
        raise InvalidInput(f"{path} exists already; wait a second, then back up again")
    untested = path.with_name(path.name + UNTESTED_SUFFIX)
    try:
        report = backup(store, untested)
        _test_backup(store, untested, report.n_records)
        move_backup(store, untested, path)
    finally:
        leftovers = directory.resolve().glob(f"*-{_unique_name_part(store)}-*{UNTESTED_SUFFIX}")
        _remove_backups(store, [untested, *leftovers])
    return RotationReport(backup=report, path=path, removed=_remove_oldest(store, path, n_kept))


def _test_backup(store: Store, path: Path, n_records: int) -> None:
    """Restore a backup into a new store, and check that store.

    Raises:
        StoreDamaged: The restored store differs from the original.
    """
    try:
        with (
            tempfile.TemporaryDirectory(dir=path.parent, prefix=".atlas-backup-") as scratch,
            lock_scratch(Path(scratch)),
        ):
            problem = _restoration_problem(store, path, Path(scratch) / "store", n_records)
    except (InvalidInput, StoreDamaged) as error:
        problem = str(error)
    if problem:
        raise StoreDamaged(
            f"the new backup cannot be restored: {problem}. It was removed, and the older ones were kept. Check the "
            "store: atlas doctor"
        )


def _restoration_problem(store: Store, path: Path, scratch: Path, n_records: int) -> str:
    """Restore a backup into a new store at `scratch`. Return what is wrong with that store, or an empty string."""
    actor = current_actor()  # who may use this store may use its copy
    with (
        acting(replace(actor, store=scratch)) if actor is not None else nullcontext(),
        Store.open(scratch, settings=settings_for_store(store.settings, str(scratch))) as copy,
    ):
        n_restored = restore(copy, path).n_records
        if n_restored != n_records:
            return f"expected {n_records} records, got {n_restored}"
        return next((problem for check in copy.ledger.checks() if (problem := check.run())), "")


def _remove_oldest(store: Store, newest_backup: Path, n_kept: int) -> tuple[Path, ...]:
    """Remove the oldest recorded backups in the directory of the newest backup, and return their paths."""
    recorded_paths = [Path(backup.path) for backup in read_backups(store.ledger)]
    pattern = re.compile(rf".*-{_unique_name_part(store)}-\d{{8}}-\d{{6}}\.zip")
    older_backups = [
        path
        for path in recorded_paths
        if path.parent == newest_backup.parent and pattern.fullmatch(path.name) and path != newest_backup
    ]
    n_removed = max(0, len(older_backups) + 1 - n_kept)
    return _remove_backups(store, older_backups[:n_removed])


def _remove_backups(store: Store, paths: Iterable[Path]) -> tuple[Path, ...]:
    """Remove backups and their records in the ledger, and return the paths of those that existed."""
    removed = tuple(path for path in dict.fromkeys(paths) if path.exists())
    for path in removed:
        path.unlink(missing_ok=True)
        forget_backup(store, path)
    return removed


def _unique_name_part(store: Store) -> str:
    """Return the part of backup names that distinguishes stores with equal names in different directories."""
    digest = hashlib.sha256(str(store.path.resolve()).encode()).hexdigest()
    return f"{ROTATION_MARK}-{digest[:8]}"
