"""TinyDB files with a readable copy of each collection's marks and uses, which is never read back.

A file has a row for each record: id, title, time of creation, marks, uses and success rate. A background thread writes
it soon after a write of the ledger. The first line of a file contains the state of the copied ledger, and a checksum
of the rows. So a copy that a crash prevented is made when the store is opened next, and a file that somebody has
changed is replaced.

A lock between processes covers both reading the ledger and replacing the file. So no file is replaced by an older
state of the ledger. An unlocked, unfinished file is the remains of a killed process.

To change marks in a file, edit a copy of it, and import that: `atlas import FILE`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tinydb import TinyDB
from tinydb.storages import Storage
from tinydb.table import Document

from atlas.core.errors import InvalidInput, StoreError, StoreUnavailable
from atlas.core.operations import NO_MARKS
from atlas.infra import fork_safety
from atlas.infra.durable_files import replace_atomically
from atlas.infra.fork_safety import InterProcessLock
from atlas.protocols.infra import Where
from atlas.storage.engine import LedgerEngine
from atlas.storage.marks.codec import encode_marks
from atlas.storage.records import RecordDescription

logger = logging.getLogger(__name__)

TABLE = "marks"
STATE_TABLE = "copied"
"""The tables of a file: the rows of records, and the state of the copied ledger."""

FILES = {
    "atlas_experiences": "experiences_meta.json",
    "atlas_concepts": "concepts_meta.json",
    "atlas_strategies": "strategies_meta.json",
    "atlas_journal": "journal_meta.json",
}

MAX_ROWS = 20_000
"""Number of records up to which each has a row. In a larger collection, only marked or used records have one."""

IS_MARKED_OR_USED: Where = {
    "$or": [
        {"usage.n_uses": {"$gt": 0}},
        *({f"marks.{name}": {"$gt": ""}} for name in ("tags", "note", "held_for", "quarantine")),
        *({f"marks.{name}": True} for name in ("pinned", "buried")),
    ]
}
"""The filter of records that were marked or used."""

PAUSE_SECONDS = 1.0
"""Debounce time between a write of the ledger and its copy."""

BUSY_SHARE = 0.05
"""Maximum share of time spent copying under constant writes."""

SETTLING_SECONDS = 2.0
"""Time to wait for another process to copy its writes."""

POLL_SECONDS = 0.1

WAIT_SECONDS = 30.0
"""Time to wait for another process that is writing the files."""

UNFINISHED_FILES = ".*_meta.json.[0-9]*"
"""Pattern of temporary files that will replace marks files."""


def marks_file(collection: str) -> str:
    """Return the name of a collection's file.

    Raises:
        InvalidInput: The collection's name could lead out of the store's directory.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", collection):
        raise InvalidInput(f"expected only letters, digits, _ and - for a collection's name, got {collection!r}")
    return FILES.get(collection, f"{collection}_meta.json")


def has_file(collection: str) -> bool:
    """Return whether a collection's name allows a marks file."""
    try:
        marks_file(collection)
    except InvalidInput:
        return False
    return True


class MarksFiles:
    """Marks files of a store, and the thread that writes them. A forked child has no such thread."""

    _lock: threading.Lock
    _closing: threading.Event
    _thread: threading.Thread | None
    _is_stale: bool
    """True if the ledger has changed since the files were written, or writing them failed."""

    def __init__(self, directory: Path, ledger: LedgerEngine) -> None:
        self._directory = directory
        self._ledger = ledger
        self._files_lock = InterProcessLock(directory / "marks.lock")
        self._pause = PAUSE_SECONDS
        self._reset()
        if ledger.is_file:
            ledger.after_write(self.schedule)
            fork_safety.register(self)

    def schedule(self) -> None:
        """Write the files soon, in the background thread."""
        with self._lock:
            self._is_stale = True
            if self._thread is not None and self._thread.is_alive():
                return
            thread = threading.Thread(target=self._work, args=[self._closing], name="atlas-marks-files", daemon=True)
            with suppress(RuntimeError):  # too many threads, or Python is about to end: the next write tries again
                thread.start()
                self._thread = thread

    def write(self) -> None:
        """Write all files now, and remove the temporary files of killed processes.

        Raises:
            StoreUnavailable: A file cannot be written, or another process is writing. The marks in the ledger are safe.
        """
        if not self._ledger.is_file:
            return
        try:
            with self._files_lock.locked(WAIT_SECONDS) as has_lock:
                if not has_lock:
                    raise StoreUnavailable(
                        f"another process has been writing the files of marks for {WAIT_SECONDS:.0f} seconds; try again"
                    )
                for collection in self._collections():
                    self._write_if_outdated(collection)
                for path in self._unfinished_files():
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(
                f"the files of marks in {self._directory} cannot be written ({error}); no marks are lost, as they are "
                "in the ledger. Check the directory's permissions, then run: atlas doctor --fix"
            ) from error

    def outdated(self) -> list[str]:
        """Return the names of the files that are missing, or differ from the ledger.

        This process's pending changes are written first, and other processes get two seconds to write theirs.
        """
        self.finish()
        deadline = time.monotonic() + SETTLING_SECONDS
        while (names := self._outdated_files()) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return names

    def leftovers(self) -> list[str]:
        """Return the names of temporary files of killed processes. Empty while a process is writing."""
        if not self._unfinished_files():
            return []
        with self._files_lock.locked(0) as has_lock:
            return [path.name for path in self._unfinished_files()] if has_lock else []

    def finish(self) -> None:
        """Write pending changes to the files, and stop the thread. A later write starts a new one."""
        with self._lock:
            thread, closing = self._thread, self._closing
            self._thread, self._closing = None, threading.Event()
        closing.set()
        if thread is not None:
            thread.join()
        if self._is_stale:
            self._write_or_warn()

    def before_fork(self) -> None:
        """Do nothing, because the parent process continues to use the files."""

    def after_fork(self, *, in_child: bool) -> None:
        """Forget the thread in a child process, where it does not run."""
        if in_child:
            self._reset()

    def _reset(self) -> None:
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._thread, self._is_stale = None, False

    def _work(self, closing: threading.Event) -> None:
        """Write the files until the ledger has no new changes, or `finish` takes over."""
        while not closing.wait(self._pause):
            started_at = time.monotonic()
            is_written = self._write_or_warn()
            self._pause = max(PAUSE_SECONDS, (time.monotonic() - started_at) / BUSY_SHARE)
            with self._lock:
                if not (is_written and self._is_stale):
                    if self._thread is threading.current_thread():
                        self._thread = None
                    return

    def _write_or_warn(self) -> bool:
        """Write all files, and return whether that succeeded. A failure is logged, and retried by the next write."""
        self._is_stale = False
        try:
            self.write()
        except StoreError as error:
            self._is_stale = True
            # The error for a missing or unreachable directory is raised elsewhere.
            level = logging.WARNING if os.access(self._directory, os.F_OK) else logging.INFO
            logger.log(level, "the files of marks are not up to date, and are written later: %s", error)
            return False
        except BaseException:
            self._is_stale = True
            raise
        return True

    def _write_if_outdated(self, collection: str) -> None:
        """Write the file of a collection, unless it is a copy of the current state of the ledger."""
        if self._is_current(collection):
            return
        with self._ledger.reading():
            state, rows = self._ledger.marks.change_token(), self._rows(collection)
        _write_file(self._directory / marks_file(collection), state, rows)

    def _outdated_files(self) -> list[str]:
        """Return the names of the files that are missing, or differ from the ledger."""
        return [marks_file(name) for name in self._collections() if not self._is_current(name)]

    def _unfinished_files(self) -> list[Path]:
        """Return the temporary files of a process that is writing, or was killed while it was."""
        return sorted(self._directory.glob(UNFINISHED_FILES))

    def _collections(self) -> list[str]:
        """Return the collections that have a file."""
        return list(filter(has_file, self._ledger.collections())) if self._ledger.is_file else []

    def _is_current(self, collection: str) -> bool:
        """Return whether a file is a copy of the current state of the ledger."""
        try:
            first_line, _, body = (self._directory / marks_file(collection)).read_bytes().partition(b"\n")
        except OSError:
            return False
        return first_line == _first_line(self._ledger.marks.change_token(), body).encode()

    def _rows(self, collection: str) -> dict[int, dict[str, Any]]:
        """Return the rows of a marks file, keyed by record number."""
        ledger = self._ledger
        where = IS_MARKED_OR_USED if ledger.has_more_than(collection, MAX_ROWS) else None
        records = ledger.read_descriptions(ledger.matching_seqs(collection, where).tolist())
        marks = ledger.marks.read(collection)
        uses, successes = (ledger.columns.column(collection, f"usage.{name}") for name in ("n_uses", "n_successes"))
        return {
            seq: {
                **_describe_record(record),
                "tags": [],
                "pinned": False,
                "note": "",
                **encode_marks(marks.get(record.id, NO_MARKS)),
                **_describe_usage(uses.get(record.id, 0), successes.get(record.id, 0)),
            }
            for seq, record in sorted(records.items())
        }


class _WriteOnCloseStorage(Storage):
    """TinyDB storage that writes the file once, on close, with one row per line."""

    def __init__(self, path: Path, state: str) -> None:
        self._path = path
        self._state = state
        self._tables: dict[str, dict[str, Any]] = {}

    def read(self) -> dict[str, dict[str, Any]]:
        """Return the tables that were written last."""
        return self._tables

    def write(self, data: dict[str, dict[str, Any]]) -> None:
        """Keep the tables until the file is closed."""
        self._tables = data

    def close(self) -> None:
        """Replace the file."""
        rows = ",\n".join(f"{json.dumps(key)}: {_to_json(row)}" for key, row in self._tables.get(TABLE, {}).items())
        body = f'"{TABLE}": {{\n{rows}\n}}}}\n'
        replace_atomically(self._path, f"{_first_line(self._state, body.encode())}\n{body}")


def _write_file(path: Path, state: str, rows: Mapping[int, Mapping[str, Any]]) -> None:
    """Replace a file by one with these rows, keyed by record number, and the state of the ledger."""
    database = TinyDB(storage=lambda: _WriteOnCloseStorage(path, state))
    database.table(TABLE).insert_multiple(Document(row, doc_id=seq) for seq, row in rows.items())
    database.close()


def _first_line(state: str, body: bytes) -> str:
    """Return the first line of a file with this body. TinyDB reads the line as a table with one row."""
    table = {"1": {"state": state, "sha256": hashlib.sha256(body).hexdigest()}}
    return f'{{"{STATE_TABLE}": {_to_json(table)},'


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _describe_record(record: RecordDescription) -> dict[str, Any]:
    fields = {name: record.metadata.get(name, "") for name in ("title", "created_at")}
    return {"id": record.id, **fields}


def _describe_usage(n_uses: int, n_successes: int) -> dict[str, Any]:
    return {"n_uses": n_uses, "success_rate": round(n_successes / n_uses, 4) if n_uses else None}
