"""What is left to do after a purge has committed: index, cache, copies, words and the file's own free pages.

A row of the ledger says that it is not done yet, so whoever opens the store next goes on where a purge was stopped.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from atlas.core.errors import StoreUnavailable
from atlas.infra.fork_safety import InterProcessLock
from atlas.storage.leftovers import Versions, remove_leftovers
from atlas.storage.marks.book import MarksBook
from atlas.storage.sqlite.history.tombstones import has_pending_marks
from atlas.storage.sqlite.ledger import SqliteLedger
from atlas.storage.sqlite.words.fts_schema import make_word_table_anew

logger = logging.getLogger(__name__)

NAME = "unfinished_purge:"
"""Before the operation of each purge that is not done, in the ledger's `meta` table."""

_SET = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"

WAIT_SECONDS = 60.0

READ_ELSEWHERE = (
    "another process has been reading the store since before the purge, so its -wal file still holds what was purged: "
    "close what else has the store open, then run: atlas doctor --fix"
)


UNDER_WAY = (
    "a backup or a restore that is under way holds a copy of the store that may be of before the purge: when it is "
    "done, run: atlas doctor --fix"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What is left to do of a purge, besides cutting the -wal file off."""

    collections: Sequence[str] = ()
    """Those whose index and table of words have to go."""

    set_aside: Versions | None = None
    """Marks files that were set aside before it; None where no files have to be removed any more."""


def note_unfinished(connection: sqlite3.Connection, operation_id: str, left: Left) -> None:
    """Keep what of a purge is left to do."""
    connection.execute(_SET, (NAME + operation_id, json.dumps(asdict(left))))


def unfinished(ledger: SqliteLedger) -> dict[str, Left]:
    """The purges that are not done yet, by operation."""
    with ledger.database.read() as connection:
        return read_unfinished(connection)


def read_unfinished(connection: sqlite3.Connection) -> dict[str, Left]:
    """`unfinished`, as part of a transaction."""
    rows = connection.execute("SELECT name, value FROM meta WHERE substr(name, 1, ?) = ?", (len(NAME), NAME)).fetchall()
    return {name.removeprefix(NAME): Left(**json.loads(value)) for name, value in rows}


def finish(path: Path, ledger: SqliteLedger, marks: MarksBook, drop_index: Callable[[str], None]) -> str:
    """Do what purges have left to do; why that is not done yet, and what to do, empty where it is.

    Args:
        path: The store's directory.
        drop_index: Removes the files of a collection's index.
    """
    with InterProcessLock(path / "purge.lock").held(WAIT_SECONDS) as is_held:
        if not is_held:
            return "another process has been cleaning up after a purge for a minute; look again: atlas doctor"
        try:
            return _finish(path, ledger, marks, drop_index)
        except (StoreUnavailable, OSError) as error:
            return f"what was purged may still be in files of the store ({error}); to go on: atlas doctor --fix"


def _finish(path: Path, ledger: SqliteLedger, marks: MarksBook, drop_index: Callable[[str], None]) -> str:
    left = unfinished(ledger)
    marks.settle()
    in_use = False
    if any(map(_is_unclean, left.values())):  # that need not be done twice
        in_use = _clean(path, ledger, marks, drop_index, left.values())
        with ledger.database.write() as connection:
            for operation_id in left:
                note_unfinished(connection, operation_id, Left(set_aside={} if in_use else None))
    if not ledger.database.empty_journal():
        return READ_ELSEWHERE
    if in_use:
        return UNDER_WAY
    with ledger.database.read() as connection:
        if has_pending_marks(connection, left):
            return "the marks files cannot be written yet; to go on: atlas doctor --fix"
    with ledger.database.write() as connection:
        connection.executemany("DELETE FROM meta WHERE name = ?", [(NAME + operation,) for operation in left])
    return ""


def _is_unclean(left: Left) -> bool:
    return bool(left.collections) or left.set_aside is not None


def _clean(
    path: Path, ledger: SqliteLedger, marks: MarksBook, drop_index: Callable[[str], None], left: Iterable[Left]
) -> bool:
    """Remove the files that may hold what was purged, then write the ledger's anew; whether a copy of it is in use."""
    every = list(left)
    collections = sorted({name for one in every for name in one.collections})
    for name in collections:
        drop_index(name)
    with marks.held():  # nobody is in the middle of writing them
        aside = {name: version for one in every for name, version in (one.set_aside or {}).items()}
        in_use = remove_leftovers(path, aside)
    if collections:
        _clean_ledger(ledger, collections)
    return bool(in_use)


def _clean_ledger(ledger: SqliteLedger, collections: Iterable[str]) -> None:
    """Build the tables of words anew from what is there, and write the file anew."""
    with ledger.database.write() as connection:
        for name in collections:
            make_word_table_anew(connection, name)
    ledger.database.rewrite()
