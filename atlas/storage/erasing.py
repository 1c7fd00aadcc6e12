"""What is left to do after a purge has committed: index, cache, copies, words and the file's own free pages.

A row of the ledger says that it is not done yet, so whoever opens the store next goes on where a purge was stopped.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from atlas.core.errors import StoreUnavailable
from atlas.infra.forking import InterProcessLock
from atlas.storage.ledger import SqliteLedger
from atlas.storage.leftovers import remove_leftovers
from atlas.storage.marks import MarksBook
from atlas.storage.word_tables import make_word_table_anew

logger = logging.getLogger(__name__)

_NAME = "unfinished_purge:"
_SET = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"

WAIT_SECONDS = 60.0

READ_ELSEWHERE = (
    "another process has been reading the store since before the purge, so its -wal file still holds what was purged: "
    "close what else has the store open, then run: atlas doctor --fix"
)


def note_unfinished(connection: sqlite3.Connection, operation_id: str, collections: Iterable[str]) -> None:
    """Keep, as part of a purge, what of it is left to do."""
    connection.execute(_SET, (_NAME + operation_id, json.dumps(sorted(set(collections)))))


def unfinished(ledger: SqliteLedger) -> dict[str, list[str]]:
    """The purges that are not done yet, by operation, each with the collections that have to be cleaned."""
    with ledger.database.read() as connection:
        rows = connection.execute(
            "SELECT name, value FROM meta WHERE substr(name, 1, ?) = ?", (len(_NAME), _NAME)
        ).fetchall()
    return {name.removeprefix(_NAME): json.loads(value) for name, value in rows}


def finish(path: Path, ledger: SqliteLedger, marks: MarksBook, drop_index: Callable[[str], None]) -> str:
    """Do what purges have left to do; why that is not done yet, and what to do, empty where it is.

    Args:
        path: The store's directory.
        drop_index: Removes the files of a collection's index.
    """
    if not unfinished(ledger):
        return ""
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
    collections = sorted({name for names in left.values() for name in names})
    for name in collections:
        drop_index(name)
    remove_leftovers(path)
    if collections:
        _clean_ledger(ledger, left, collections)
    if not ledger.database.empty_journal():
        return READ_ELSEWHERE
    with ledger.database.read() as connection:
        if connection.execute("SELECT 1 FROM pending_marks LIMIT 1").fetchone():
            return "the marks files cannot be written yet; to go on: atlas doctor --fix"
    with ledger.database.write() as connection:
        connection.executemany("DELETE FROM meta WHERE name = ?", [(_NAME + operation,) for operation in left])
    return ""


def _clean_ledger(ledger: SqliteLedger, left: Mapping[str, list[str]], collections: Iterable[str]) -> None:
    """Build the tables of words anew from what is there, and write the file anew; that need not be done twice."""
    with ledger.database.write() as connection:
        for name in collections:
            make_word_table_anew(connection, name)
    ledger.database.rewrite()
    with ledger.database.write() as connection:
        connection.executemany(_SET, [(_NAME + operation, "[]") for operation in left])
