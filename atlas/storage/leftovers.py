"""Files in a store's directory beside the ledger that may hold what records said."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from atlas.core.errors import PlanOutdated
from atlas.infra.forking import InterProcessLock
from atlas.storage.database import Database

LEDGER = "atlas.sqlite"
BUSY_SECONDS = 60.0

CACHE = "cache"
"""What was worked out from the records: safe to delete at any time."""

_COPIES = (
    *("atlas.schema-*.sqlite*", ".atlas.*.sqlite*", ".atlas-restore-*", ".atlas-backup-*"),
    "*_meta.unreadable-*.json",
)
"""The ledger as it was before a newer version took it over, what was left where that, or a restore, was killed, and
marks files that were set aside because nobody could read them."""

_BEGUN = (".*_meta.json.[0-9]*", ".domain_names.json.[0-9]*", ".store.json.[0-9]*")
"""Files that were to be put in place of others."""

_OURS = (
    *("atlas.sqlite", "atlas.sqlite-wal", "atlas.sqlite-shm", "atlas.sqlite-journal"),
    *("store.json", "domain_names.json", "*_meta.json", "*.lock", "chroma", CACHE, *_BEGUN, *_COPIES),
)


def copies(store: Path) -> list[Path]:
    """Return older copies of the ledger and marks files that were set aside, all of which a purge removes."""
    return _matching(store, _COPIES)


def strangers(store: Path) -> list[Path]:
    """What is in the directory and is not ours to remove, such as a backup that was written into it."""
    ours = set(_matching(store, _OURS))
    return sorted(path for path in store.iterdir() if path not in ours)


def remove_leftovers(store: Path) -> None:
    """Remove what is in the cache, every older copy, and what was begun and never put in place."""
    cache = store / CACHE
    with _lock(store).held():
        for path in [*_matching(store, (*_COPIES, *_BEGUN)), *(cache.iterdir() if cache.is_dir() else ())]:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


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
