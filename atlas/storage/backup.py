"""A whole store in one file, and back, while other processes write.

The file is a zip of the ledger, as SQLite's online backup copies it at one instant, and of the names that people have
given to domains. Those that versions before schema 4 wrote also hold the marks, which were not in the ledger then.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atlas.core.codec import check_json
from atlas.core.errors import InvalidInput, StoreError, StoreUnavailable
from atlas.core.operations import Marks
from atlas.infra.fork_safety import InterProcessLock
from atlas.storage.damage import damaged
from atlas.storage.leftovers import in_use
from atlas.storage.marks.tinydb import MAX_BYTES, decode_marks, is_marks_by_table, marks_file
from atlas.storage.sqlite.database import Database
from atlas.storage.sqlite.history.erasing import Left, note_unfinished, unfinished
from atlas.storage.sqlite.history.tombstones import every_purged, purged_by
from atlas.storage.sqlite.ledger import SqliteLedger
from atlas.storage.sqlite.mark_tables import await_files, check_table
from atlas.storage.sqlite.records import read_revision
from atlas.storage.sqlite.schema import APPLICATION_ID, SCHEMA_VERSION, migrate
from atlas.storage.store import LABEL, LEDGER, Store

logger = logging.getLogger(__name__)

_MADE = "backup:"
"""Before the file of each backup in the ledger's `meta` table, whose value says when it was made."""

MARKS = "marks.json"
NAMES = "domain_names.json"
"""As `atlas.maps.labels` keeps it in the store; it reads what it finds with care, so it is not looked into here."""

_UNPACKING = (zipfile.BadZipFile, zlib.error, struct.error, KeyError, ValueError, EOFError, RuntimeError)
"""What `zipfile` and `json` raise for entries that are missing, damaged, encrypted or of an unknown kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """What a backup or a restore moved."""

    n_records: int
    n_bytes: int
    """Size of the backup file."""

    revived: tuple[str, ...] = ()
    """Ids of records that had been purged since the backup was made, and that restoring it brought back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup that was made of a store; it may have been moved or removed since."""

    path: str
    made_at: str
    """As ISO 8601."""


def read_backups(ledger: SqliteLedger) -> list[Backup]:
    """The backups that were made of a store, as far as it knows, the oldest first."""
    with ledger.database.read() as connection:
        rows = connection.execute(
            "SELECT name, value FROM meta WHERE substr(name, 1, ?) = ? ORDER BY value", (len(_MADE), _MADE)
        ).fetchall()
    return [Backup(path=name.removeprefix(_MADE), made_at=made_at) for name, made_at in rows]


def _note(ledger: SqliteLedger, backups: Sequence[Backup]) -> None:
    with ledger.database.write() as connection:
        connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)", [(_MADE + one.path, one.made_at) for one in backups]
        )


def _note_made(ledger: SqliteLedger, target: Path) -> None:
    try:
        _note(ledger, [Backup(path=str(target.resolve()), made_at=ledger.clock.now().isoformat())])
    except StoreError as error:  # the backup itself is done
        logger.warning("that %s was made is not noted, so a purge will not name it: %s", target, error)


def backup(store: Store, target: Path) -> BackupReport:
    """Write the whole store into one new file.

    Raises:
        InvalidInput: The file exists already.
        StoreUnavailable: It cannot be written; nothing is left behind.
        StoreDamaged: The ledger is damaged, so that the backup could not be restored; nothing is left behind.
    """
    if target.exists():
        raise InvalidInput(f"{target} exists already; choose another name, or remove it first")
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".atlas-backup-") as scratch, in_use(Path(scratch)):
            copy = Path(scratch) / LEDGER
            store.marks.settle()
            store.ledger.database.copy_to(copy)
            n_records = _count(copy, store.ledger.database.path)
            _pack(beside, copy, store.path / NAMES)
            beside.replace(target)
            if not store.read_only:
                _note_made(store.ledger, target)
            return BackupReport(n_records=n_records, n_bytes=target.stat().st_size)
    except StoreUnavailable:  # of the store itself
        raise
    except OSError as error:
        raise StoreUnavailable(f"the backup {target} cannot be written ({error}); nothing was left behind") from error
    finally:
        beside.unlink(missing_ok=True)


def restore(store: Store, source: Path) -> BackupReport:
    """Make the store what it was when the backup was taken; what it holds now is lost unless it is backed up too.

    Processes that have the store open see the restored records from their next call on.

    Raises:
        InvalidInput: The file is not a backup that this version can read; the store is unchanged.
        StoreUnavailable: It cannot be read, or the disk has no room to unpack it; the store is unchanged. Or the names
            of domains cannot be replaced, after all else was restored.
    """
    with tempfile.TemporaryDirectory(dir=store.path, prefix=".atlas-restore-") as scratch, in_use(Path(scratch)):
        copy = Path(scratch) / LEDGER
        names = _unpack(source, copy)
        backups, revived = [_restored(source), *read_backups(store.ledger)], _revived(store.ledger, copy)
        with store.marks.held():
            _prepare(copy, store.marks.ids_in_files(), unfinished(store.ledger))
            store.ledger.database.replace_with(copy)
    store.marks.settle()
    _note(store.ledger, backups)
    _replace_names(store.path / NAMES, names)
    _relabel(store)
    return BackupReport(n_records=_count_store(store), n_bytes=source.stat().st_size, revived=revived)


def _restored(source: Path) -> Backup:
    """A backup that a store is made of; when it was made is told by its file, where the store does not know."""
    made_at = datetime.fromtimestamp(source.stat().st_mtime, UTC)
    return Backup(path=str(source.resolve()), made_at=made_at.isoformat())


def _pack(target: Path, ledger: Path, names: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.write(ledger, LEDGER)
        with suppress(FileNotFoundError):
            file.writestr(NAMES, names.read_bytes())


def _unpack(source: Path, target: Path) -> bytes | None:
    """Unpack the ledger, bring it up to date, and read the names; all is checked before anything of it is used."""
    try:
        with zipfile.ZipFile(source) as file:
            _check_declared(file, target.parent)
            with file.open(LEDGER) as packed, target.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked, 1 << 20)
            entries = file.namelist()
            marks = _check_marks(json.loads(file.read(MARKS))) if MARKS in entries else None
            names = file.read(NAMES) if NAMES in entries else None
    except _UNPACKING as error:
        raise InvalidInput(
            f"{source} is not a backup that `atlas backup` wrote ({error}); the store is unchanged"
        ) from error
    except OSError as error:
        raise StoreUnavailable(f"{source} cannot be unpacked ({error}); the store is unchanged") from error
    _check_ledger(source, target, marks)
    return names


def _check_declared(file: zipfile.ZipFile, directory: Path) -> None:
    """Refuse entries that are too large; nothing unpacks to more than it declares."""
    ledger = file.getinfo(LEDGER)
    read = [file.getinfo(name) for name in (MARKS, NAMES) if name in file.namelist()]
    for entry in (ledger, *read):
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{entry.filename} is packed by method {entry.compress_type}")
    for entry in read:
        if entry.file_size > MAX_BYTES:
            raise ValueError(f"{entry.filename} unpacks to {entry.file_size / 2**20:,.0f} MB")
    free = shutil.disk_usage(directory).free
    if ledger.file_size > free:
        raise OSError(f"it unpacks to {ledger.file_size / 2**20:,.1f} MB, but the disk has {free / 2**20:,.1f} MB free")


def _check_marks(marks: Any) -> dict[str, dict[str, Marks]]:
    if not is_marks_by_table(marks):
        raise InvalidInput(f"{MARKS} should be an object of collections, of records, of tags, pinned and note")
    check_json(marks, MARKS)
    for collection in marks:
        marks_file(collection)
    return {name: {record_id: decode_marks(own) for record_id, own in every.items()} for name, every in marks.items()}


def _check_ledger(source: Path, ledger: Path, marks: Mapping[str, Mapping[str, Marks]] | None) -> None:
    """Refuse what cannot be used; bring a ledger of an older schema up to this one."""
    try:
        version = _check_whole(source, ledger)
        if version < SCHEMA_VERSION:
            _migrate(ledger, version, marks)
        with closing(sqlite3.connect(ledger)) as connection:
            _check_names(source, connection)
    except (sqlite3.DatabaseError, StoreError) as error:
        raise InvalidInput(f"the ledger in {source} is damaged ({error}); the store is unchanged") from error


def _check_whole(source: Path, ledger: Path) -> int:
    """The ledger's schema version, where it is a whole ledger of this version or an older one."""
    with closing(sqlite3.connect(ledger)) as connection:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        is_whole = connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    if application != APPLICATION_ID or not is_whole:
        raise InvalidInput(f"the ledger in {source} is damaged; the store is unchanged")
    if not 0 < version <= SCHEMA_VERSION:
        raise InvalidInput(
            f"{source} has schema {version}, but this version of ATLAS restores schemas up to {SCHEMA_VERSION}; "
            "the store is unchanged"
        )
    return version


def _migrate(ledger: Path, version: int, marks: Mapping[str, Mapping[str, Marks]] | None) -> None:
    database = Database(ledger, read_only=False, busy_timeout_seconds=0)
    try:
        with database.write() as connection:
            migrate(connection, version, lambda collection: None if marks is None else marks.get(collection, {}))
    finally:
        database.close()


def _check_names(source: Path, connection: sqlite3.Connection) -> None:
    """Refuse what would be written to a file of another name, or could not be read back."""
    try:
        for table in ("records", "changes", "marks", "pending_marks", "marks_files"):
            for (collection,) in connection.execute(f"SELECT DISTINCT collection FROM {table}"):
                marks_file(str(collection))
        check_table(connection)
    except InvalidInput as error:
        raise InvalidInput(f"the ledger in {source} cannot be used ({error}); the store is unchanged") from error


def _prepare(ledger: Path, held: Mapping[str, Iterable[str]], purges: Mapping[str, Left]) -> None:
    """Give the copy a new identity, so that every follower begins anew, and let all marks be pending.

    So are those of the store's files that it does not know: settling takes them off. What purges of the store have left
    to do in its files stays to be done.
    """
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute("UPDATE meta SET value = lower(hex(randomblob(16))) WHERE name = 'ledger_id'")
        revision = read_revision(connection)
        for collection, record_id in connection.execute("SELECT DISTINCT collection, record_id FROM marks").fetchall():
            await_files(connection, collection, [record_id], revision)
        for collection, ids in held.items():
            await_files(connection, collection, ids, revision)
        for operation_id, left in purges.items():
            note_unfinished(connection, operation_id, left)


def _replace_names(path: Path, names: bytes | None) -> None:
    """Put the names of the backup in place of the store's; a backup without any leaves none."""
    beside = path.with_name(f".{NAMES}.{os.getpid()}")
    try:
        with InterProcessLock(path.with_name("domain_names.lock")).held():
            if names is None:
                path.unlink(missing_ok=True)
            else:
                beside.write_bytes(names)
                beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StoreUnavailable(
            f"{path} cannot be replaced ({error}), so the names of domains are as before; all else was restored"
        ) from error


def _relabel(store: Store) -> None:
    """Let the label name the restored ledger's model, whose checksum only opening it with an embedder would tell."""
    model = store.model
    if model is None:
        (store.path / LABEL).unlink(missing_ok=True)
    else:
        store.relabel(model, checksum="")


def _revived(ledger: SqliteLedger, copy: Path) -> tuple[str, ...]:
    """The purged records of a ledger that a copy of it still holds, live or in its history."""
    with ledger.database.read() as connection:
        purged = every_purged(connection)
    with closing(sqlite3.connect(copy)) as connection:
        held = (
            record_id
            for collection, record_id in purged
            if purged_by(connection, collection, record_id) is None
            and connection.execute(
                "SELECT 1 FROM records WHERE collection = ? AND id = ?", (collection, record_id)
            ).fetchone()
        )
        return tuple(dict.fromkeys(held))


def _count(copy: Path, ledger: Path) -> int:
    """How many records the copy of a ledger holds, if it is one that could be restored."""
    with closing(sqlite3.connect(copy)) as connection:
        try:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
            count = int(connection.execute("SELECT count(*) FROM records WHERE deleted = 0").fetchone()[0])
        except sqlite3.DatabaseError as error:
            raise damaged(ledger, str(error)) from error
    if found != "ok":
        raise damaged(ledger, found)
    return count


def _count_store(store: Store) -> int:
    return sum(store.ledger.count(name) for name in store.ledger.collections())
