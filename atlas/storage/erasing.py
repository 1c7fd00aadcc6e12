"""Removal of files that may contain purged records.

A note in the ledger marks an unfinished purge, which the next process to open the store resumes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from atlas.core.errors import PlanOutdated, StoreUnavailable
from atlas.infra.fork_safety import InterProcessLock
from atlas.storage.engine import LedgerEngine
from atlas.storage.frozen import PREFIX
from atlas.storage.history import UnfinishedPurge
from atlas.storage.marks.files import UNFINISHED_FILES, MarksFiles
from atlas.storage.sqlite.copies import read_ledger_id_at

LEDGER = "atlas.sqlite"

CACHE = "cache"
"""Name of the cache directory of derived results, which is safe to delete at any time."""

_COPIES = (
    *("atlas.schema-*.sqlite*", ".atlas.*.sqlite*", ".atlas-restore-*", ".atlas-backup-*"),
    *(f"{PREFIX}*", "*_meta.unreadable-*.json"),
)
"""Patterns of copies: ledgers before a migration, remains of a killed migration, backup or restore, frozen copies, and
unreadable marks files."""

_UPLOADS = "received"
"""The directory of uploads that a server has not stored yet."""

_REFUSED_TRACES = f"{_UPLOADS}/*/*.refused"
"""Directory of traces that a server could not convert to attempts, with any content."""

_UNFINISHED_NAMES, _UNFINISHED_LABEL = ".domain_names.json.[0-9]*", ".store.json.[0-9]*"
"""Patterns of half-written files: names of domains, and labels. A label contains no text of records."""

_OWN_FILES = (
    *("atlas.sqlite", "atlas.sqlite-wal", "atlas.sqlite-shm", "atlas.sqlite-journal"),
    *("store.json", "domain_names.json", "*_meta.json", "*.lock", "chroma", CACHE),
    *("keys.json", "people.json", "links.json", "audit.jsonl", "token-*"),
    *(".keys.json.[0-9]*", ".people.json.[0-9]*", ".links.json.[0-9]*", ".token-*"),
    *(UNFINISHED_FILES, _UNFINISHED_NAMES, _UNFINISHED_LABEL, *_COPIES),
)

WAIT_SECONDS = 60.0

WAL_IN_USE = (
    "another process has been reading the store since before the purge, so its -wal file still contains purged data: "
    "close all other processes that use the store, then run: atlas doctor --fix"
)


COPY_IN_USE = (
    "a running backup or restore uses a copy of the store that may be older than the purge: when it has finished, "
    "run: atlas doctor --fix"
)


def finish_purges(path: Path, ledger: LedgerEngine, files: MarksFiles, drop_index: Callable[[str], None]) -> str:
    """Finish all purges. Return why a purge is still unfinished, with a remedy, or an empty string.

    Args:
        path: The store's directory.
        drop_index: Removes the files of a collection's index.
    """
    with InterProcessLock(path / "purge.lock").locked(WAIT_SECONDS) as has_lock:
        if not has_lock:
            return "another process has been cleaning up after a purge for a minute; check again with: atlas doctor"
        try:
            return _finish_all(path, ledger, files, drop_index)
        except (StoreUnavailable, OSError) as error:
            return f"purged data may still be in files of the store ({error}); to continue, run: atlas doctor --fix"


def _finish_all(path: Path, ledger: LedgerEngine, files: MarksFiles, drop_index: Callable[[str], None]) -> str:
    """Do the unfinished steps of all purges. Return why a step has to be repeated later, or an empty string."""
    unfinished = ledger.purges.unfinished()
    files.write()  # it also removes unfinished copies from before the purge
    has_copies = False
    if any(map(_has_leftovers, unfinished.values())):  # otherwise the files are clean already
        has_copies = _remove_files_with_traces(path, ledger, drop_index, unfinished.values())
        ledger.purges.note_unfinished(dict.fromkeys(unfinished, UnfinishedPurge(has_copies=has_copies)))
    if not ledger.purges.truncate_wal():
        return WAL_IN_USE
    if has_copies:
        return COPY_IN_USE
    ledger.purges.note_finished(unfinished)
    return ""


def _has_leftovers(unfinished: UnfinishedPurge) -> bool:
    """Return whether files may still contain records of a purge."""
    return bool(unfinished.collections) or unfinished.has_copies


def _remove_files_with_traces(
    path: Path, ledger: LedgerEngine, drop_index: Callable[[str], None], purges: Iterable[UnfinishedPurge]
) -> bool:
    """Remove the files that may contain purged records, then rewrite the ledger. Return whether a copy is in use."""
    collections = sorted({name for purge in purges for name in purge.collections})
    for name in collections:
        drop_index(name)
    copies_in_use = remove_leftovers(path)
    if collections:
        ledger.purges.rewrite(collections)
    return bool(copies_in_use)


def find_ledger_copies(store: Path) -> list[Path]:
    """Return older copies of the ledger and of marks files. A purge removes all of them."""
    return _matching_paths(store, _COPIES)


def find_foreign_files(store: Path) -> list[Path]:
    """Return the files in the directory that ATLAS does not own, such as a backup."""
    own_paths = set(_matching_paths(store, _OWN_FILES))
    return sorted(path for path in store.iterdir() if path not in own_paths)


def list_own_paths(store: Path) -> list[Path]:
    """Return the paths of a store: the whole directory, or only ATLAS's own files if others are in it too."""
    own_paths = _matching_paths(store, (*_OWN_FILES, _UPLOADS))
    return [store] if {*store.iterdir()} <= {*own_paths} else own_paths


def remove_leftovers(store: Path) -> list[Path]:
    """Remove the content of the cache, all unused copies of the ledger, and files that were not finished.

    Returns:
        Copies of the ledger that are kept because a backup or restore is using them.
    """
    _remove(_matching_paths(store, [_REFUSED_TRACES]))
    with InterProcessLock(store / "domain_names.lock").locked():
        _remove(_matching_paths(store, [_UNFINISHED_NAMES]))
    cache = store / CACHE
    with _cache_lock(store).locked():
        _remove(cache.iterdir() if cache.is_dir() else ())
    return [path for path in _matching_paths(store, _COPIES) if not _remove_unless_in_use(path)]


@contextmanager
def lock_scratch(scratch: Path) -> Iterator[None]:
    """Lock a scratch directory during the block, so that no purge removes it."""
    with _scratch_lock(scratch).locked():
        yield


def _remove_unless_in_use(path: Path) -> bool:
    """Remove a copy of the ledger unless it is in use, and return whether it was removed."""
    if not path.is_dir() or path.is_symlink():
        _remove([path])
        return True
    try:
        with _scratch_lock(path).locked(0) as is_unused:
            if not is_unused:
                return False
    except StoreUnavailable:  # its user has just removed it
        return True
    _remove([path])
    return True


def _remove(paths: Iterable[Path]) -> None:
    """Remove files and whole directories, ignoring missing ones."""
    for path in paths:
        with suppress(FileNotFoundError):  # another process removed it
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _scratch_lock(scratch: Path) -> InterProcessLock:
    return InterProcessLock(scratch / "in_use.lock")


@contextmanager
def lock_cache_of_ledger(directory: Path, ledger_id: str) -> Iterator[None]:
    """Lock a store's cache for writing results computed from its ledger, or raise if the ledger was replaced.

    Args:
        directory: The store's cache. For any other directory, nothing is locked or checked.
        ledger_id: Id of the ledger that was read; '' if unknown.

    Raises:
        PlanOutdated: The store has been restored, re-embedded or purged since `ledger_id` was read.
    """
    ledger = directory.parent / LEDGER
    if directory.name != CACHE or not ledger_id or not ledger.exists():
        yield
        return
    with _cache_lock(directory.parent).locked():
        if read_ledger_id_at(ledger) != ledger_id:
            raise PlanOutdated(
                "the store was restored, re-embedded or purged during the computation, so the result was discarded; "
                "run it again"
            )
        yield


@contextmanager
def lock_cache(cache: Path) -> Iterator[None]:
    """Lock a store's cache, so that no purge empties it during the block."""
    with _cache_lock(cache.parent).locked():
        yield


def _cache_lock(store: Path) -> InterProcessLock:
    return InterProcessLock(store / "cache.lock")


def _matching_paths(store: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in store.glob(pattern)})
