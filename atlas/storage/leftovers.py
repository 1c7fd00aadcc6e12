"""Files in a store's directory beside the ledger that may hold what records said."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from atlas.core.errors import PlanOutdated, StoreUnavailable
from atlas.infra.fork_safety import InterProcessLock
from atlas.storage.sqlite.database import Database

LEDGER = "atlas.sqlite"
BUSY_SECONDS = 60.0

CACHE = "cache"
"""What was worked out from the records: safe to delete at any time."""

_LEDGERS = ("atlas.schema-*.sqlite*", ".atlas.*.sqlite*", ".atlas-restore-*", ".atlas-backup-*")
"""The ledger as it was before a newer version took it over, and what was left where that, a backup or a restore was
killed."""

_SET_ASIDE = "*_meta.unreadable-*.json"
"""Marks files that were set aside because nobody could read them."""

_BEGUN_MARKS, _BEGUN_NAMES, _BEGUN_LABEL = ".*_meta.json.[0-9]*", ".domain_names.json.[0-9]*", ".store.json.[0-9]*"
"""Files that are to be put in place of others, each while its lock is held; a label holds nothing of records."""

_OURS = (
    *("atlas.sqlite", "atlas.sqlite-wal", "atlas.sqlite-shm", "atlas.sqlite-journal"),
    *("store.json", "domain_names.json", "*_meta.json", "*.lock", "chroma", CACHE),
    *(_BEGUN_MARKS, _BEGUN_NAMES, _BEGUN_LABEL, *_LEDGERS, _SET_ASIDE),
)

Versions = Mapping[str, list[int]]
"""Files of a store's directory by name, each with when it was written last, in nanoseconds, and its size."""


def copies(store: Path) -> list[Path]:
    """Return older copies of the ledger and marks files that were set aside, all of which a purge removes."""
    return _matching(store, (*_LEDGERS, _SET_ASIDE))


def set_aside(store: Path, names: Iterable[str]) -> Versions:
    """Return those of some files that are marks files that were set aside, as they are now."""
    wanted = set(names)
    return {path.name: _version(path) for path in _matching(store, [_SET_ASIDE]) if path.name in wanted}


def strangers(store: Path) -> list[Path]:
    """What is in the directory and is not ours to remove, such as a backup that was written into it."""
    ours = set(_matching(store, _OURS))
    return sorted(path for path in store.iterdir() if path not in ours)


def remove_leftovers(store: Path, aside: Versions) -> list[Path]:
    """Remove what is in the cache, every copy of the ledger, and what was begun and never put in place.

    Nobody else may change the marks files meanwhile.

    Args:
        aside: Marks files that go too, unless others have these names by now.

    Returns:
        Copies of the ledger that a backup or a restore is using right now, and that stay.
    """
    held = set_aside(store, aside)
    _remove([store / name for name in held if held[name] == aside[name]])
    _remove(_matching(store, [_BEGUN_MARKS]))
    with InterProcessLock(store / "domain_names.lock").held():
        _remove(_matching(store, [_BEGUN_NAMES]))
    cache = store / CACHE
    with _lock(store).held():
        _remove(cache.iterdir() if cache.is_dir() else ())
    return [path for path in _matching(store, _LEDGERS) if not _removed(path)]


@contextmanager
def in_use(scratch: Path) -> Iterator[None]:
    """Let no purge remove a directory inside the block."""
    with _scratch_lock(scratch).held():
        yield


def _removed(path: Path) -> bool:
    """Whether a copy of the ledger is gone: one in use is kept."""
    if not path.is_dir() or path.is_symlink():
        _remove([path])
        return True
    try:
        with _scratch_lock(path).held(0) as is_unused:
            if not is_unused:
                return False
    except StoreUnavailable:  # whoever used it has just removed it
        return True
    _remove([path])
    return True


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(FileNotFoundError):  # somebody else removed it, or something in it
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _version(path: Path) -> list[int]:
    status = path.lstat()
    return [status.st_mtime_ns, status.st_size]


def _scratch_lock(scratch: Path) -> InterProcessLock:
    return InterProcessLock(scratch / "in_use.lock")


@contextmanager
def caching(directory: Path, ledger_id: str) -> Iterator[None]:
    """Let the block write what was worked out from a ledger into a store's cache, unless another ledger is there now.

    Args:
        directory: The cache; anything may be written into other directories.
        ledger_id: Of the ledger as it was read; empty where that is not known.

    Raises:
        PlanOutdated: The store was restored, embedded anew or purged of a record meanwhile.
    """
    ledger = directory.parent / LEDGER
    if directory.name != CACHE or not ledger_id or not ledger.exists():
        yield
        return
    with _lock(directory.parent).held():
        if _ledger_id(ledger) != ledger_id:
            raise PlanOutdated(
                "the store was restored, embedded anew or purged of a record while this was worked out, so it is not "
                "kept; do it anew"
            )
        yield


def _lock(store: Path) -> InterProcessLock:
    return InterProcessLock(store / "cache.lock")


def _ledger_id(ledger: Path) -> str:
    database = Database(ledger, read_only=True, busy_timeout_seconds=BUSY_SECONDS)
    try:
        with database.read() as connection:
            return str(connection.execute("SELECT value FROM meta WHERE name = 'ledger_id'").fetchone()[0])
    finally:
        database.close()


def _matching(store: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in store.glob(pattern)})
