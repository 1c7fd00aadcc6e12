"""Backup of a whole store to one file, and restore, while other processes write.

The file is a zip of a consistent copy of the ledger, from SQLite's online backup, and of the names that people gave to
domains. Backups before schema 4 also contain the marks, which were not in the ledger then.
"""

from __future__ import annotations

import io
import json
import logging
import os
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput, StoreError, StoreUnavailable
from atlas.core.json_values import check_json
from atlas.core.operations import Marks
from atlas.infra.actor import Role, actor_name, check_role, check_store
from atlas.infra.permissions import create_private
from atlas.storage.engine import LedgerEngine
from atlas.storage.erasing import lock_scratch
from atlas.storage.location.audit import BACKED_UP, RESTORED
from atlas.storage.maintenance.names import NAMES as NAMES
from atlas.storage.maintenance.names import names_text
from atlas.storage.marks.codec import decode_marks, is_marks_by_table
from atlas.storage.marks.files import marks_file
from atlas.storage.marks.reading import MAX_BYTES
from atlas.storage.store import LABEL, LEDGER, Store
from atlas.storage.vectors.remote.notes import INDEX, restore_notes

logger = logging.getLogger(__name__)

_BACKUP_NOTE = "backup:"
"""Prefix of the ledger's notes on backups. The path and the time follow."""

MARKS = "marks.json"
_ENTRIES = {LEDGER, MARKS, NAMES}
_ALWAYS_ALLOWED_BYTES = 64 << 20
"""Number of bytes that may always be unpacked, whatever the compression ratio."""

_MAX_READ_BYTES = 4 << 20
"""Maximum number of bytes in one read from a backup, and so in the list of its entries."""

_CHUNK_BYTES = 1 << 20
"""Chunk size when an entry is unpacked."""

_UNPACK_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, KeyError, ValueError, EOFError, RuntimeError)
"""Errors that `zipfile` and `json` raise for entries that are missing, damaged, encrypted or of an unknown kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """Result of a backup or restore."""

    n_records: int
    n_bytes: int
    """Size of the backup file."""

    revived: tuple[str, ...] = ()
    """Ids of purged records that the restore has restored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A recorded backup of a store. The file may have been moved or removed since."""

    path: str
    made_at: str
    """Time of the backup, as ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupContents:
    """The content of a backup, compared with a store."""

    counts: Mapping[str, int]
    """Records by collection."""

    model: str
    """The backup's embedding model, or empty without a model."""

    revived: tuple[str, ...]
    """Ids of purged records that a restore would restore."""


def read_backups(ledger: LedgerEngine) -> list[Backup]:
    """Return the recorded backups of a store, the oldest first."""
    backups = [Backup(path=path, made_at=made_at) for path, made_at in ledger.notes.read(_BACKUP_NOTE).items()]
    return sorted(backups, key=lambda backup: backup.made_at)


def move_backup(store: Store, path: Path, target: Path) -> None:
    """Rename a backup and update its record, so that purges name the existing file."""
    path.rename(target)
    forget_backup(store, path)
    if not store.read_only:
        _record_backup(store.ledger, target)


def forget_backup(store: Store, path: Path) -> None:
    """Forget a recorded backup whose file was removed, so that purges do not name it."""
    if store.read_only:  # it records no backups either
        return
    store.ledger.notes.write({_BACKUP_NOTE + str(path.resolve()): None})


def _write_backup_times(ledger: LedgerEngine, made_at_by_path: dict[str, str]) -> None:
    """Store the times of backups in the ledger, keyed by path."""
    ledger.notes.write({_BACKUP_NOTE + path: made_at for path, made_at in made_at_by_path.items()})


def _record_backup(ledger: LedgerEngine, target: Path) -> None:
    """Store the path of a new backup and the current time. A failure is only logged."""
    try:
        _write_backup_times(ledger, {str(target.resolve()): ledger.clock.now().isoformat()})
    except StoreError as error:  # the backup itself is done
        logger.warning("the backup %s could not be recorded, so a purge will not list it: %s", target, error)


def backup(store: Store, target: Path) -> BackupReport:
    """Write the whole store into one new file.

    Raises:
        NotAllowed: The actor is not an admin.
        InvalidInput: The file exists already, or the ledger's schema has foreign objects.
        StoreUnavailable: The file cannot be written. The unfinished file is removed.
        StoreDamaged: The ledger is damaged, so that the backup could not be restored. The backup is removed.
    """
    check_role(Role.ADMIN, "write a backup")
    check_store(store.path)
    if target.exists():
        raise InvalidInput(f"{target} exists already; choose another name, or remove it first")
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with (
            tempfile.TemporaryDirectory(dir=target.parent, prefix=".atlas-backup-") as scratch,
            lock_scratch(Path(scratch)),
        ):
            copy = Path(scratch) / LEDGER
            n_records = store.ledger.copies.write(copy)
            _pack(temporary, copy, names_text(store).read())
            temporary.replace(target)
            if not store.read_only:
                _record_backup(store.ledger, target)
                store.audit.add_event(BACKED_UP, who=actor_name(store.settings.actor), about=str(target))
            return BackupReport(n_records=n_records, n_bytes=target.stat().st_size)
    except StoreUnavailable:  # the store itself is unavailable
        raise
    except OSError as error:
        raise StoreUnavailable(
            f"the backup {target} cannot be written ({error}); the unfinished file was removed. Check the disk, and "
            "the permissions of the directory"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def inspect_backup(store: Store, source: Path) -> BackupContents:
    """Return the contents of a backup, after all checks of a restore.

    Raises:
        NotAllowed: The actor is not an admin.
        InvalidInput: The file is not a backup that this version can read.
        StoreUnavailable: The file cannot be read, or the disk has no room to unpack it.
    """
    check_role(Role.ADMIN, "look into a backup")
    check_store(store.path)
    with tempfile.TemporaryDirectory(prefix="atlas-restore-") as scratch:
        copy = Path(scratch) / LEDGER
        _unpack(store, source, copy)
        contents = store.ledger.copies.contents(copy)
        return BackupContents(
            counts=contents.counts, model=contents.model, revived=store.ledger.copies.find_purged(copy)
        )


def restore(store: Store, source: Path) -> BackupReport:
    """Replace the store with a backup. The present content of the store is lost, so back it up first.

    Processes that have the store open see the restored records from their next call on.

    Raises:
        NotAllowed: The actor is not an admin.
        InvalidInput: The file is not a backup that this version can read; the store is unchanged.
        StoreUnavailable: The file cannot be read, or the disk has no room to unpack it; the store is unchanged. Or all
            else was restored, and the names of domains cannot be replaced.
    """
    check_role(Role.ADMIN, "restore a backup")
    check_store(store.path)
    with tempfile.TemporaryDirectory(dir=store.path, prefix=".atlas-restore-") as scratch, lock_scratch(Path(scratch)):
        copy = Path(scratch) / LEDGER
        domain_names = _unpack(store, source, copy)
        backup_times, revived = store.ledger.notes.read(_BACKUP_NOTE), store.ledger.copies.find_purged(copy)
        indexes = store.ledger.notes.read(INDEX)
        store.ledger.copies.restore(copy)
    _write_backup_times(store.ledger, _read_backup_time(source) | backup_times)
    restore_notes(store.ledger, indexes)
    _replace_names(store, domain_names)
    _relabel(store)
    store.audit.add_event(RESTORED, who=actor_name(store.settings.actor), about=str(source))
    return BackupReport(n_records=_count_records(store), n_bytes=source.stat().st_size, revived=revived)


def _read_backup_time(source: Path) -> dict[str, str]:
    """Return the modification time of a backup file as its time of backup, keyed by its path."""
    made_at = datetime.fromtimestamp(source.stat().st_mtime, UTC)
    return {str(source.resolve()): made_at.isoformat()}


def _pack(target: Path, ledger: Path, domain_names: bytes | None) -> None:
    """Write a new zip file with a copy of the ledger, and the names of domains as JSON, if any."""
    create_private(target)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(ledger, LEDGER)
        if domain_names is not None:
            archive.writestr(NAMES, domain_names)


class _BackupFile(io.FileIO):
    """A file that refuses large reads, so that a list of millions of entries does not exhaust memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most `size` bytes, or raise `BadZipFile` for more than `_MAX_READ_BYTES` bytes."""
        n_bytes = os.fstat(self.fileno()).st_size - self.tell() if size is None or size < 0 else size
        if n_bytes > _MAX_READ_BYTES:
            raise zipfile.BadZipFile(
                f"expected a list of entries of at most {_to_mb(_MAX_READ_BYTES)}, got {_to_mb(n_bytes)}"
            )
        return super().read(n_bytes) or b""


def _unpack(store: Store, source: Path, target: Path) -> bytes | None:
    """Unpack, validate and migrate the ledger of a backup. Return the names of domains in the backup, as JSON."""
    try:
        with _BackupFile(source) as raw, zipfile.ZipFile(raw) as archive:
            _check_entries(archive)
            _check_sizes(archive, source.stat().st_size, store.settings.restore_max_ratio)
            _check_room(archive.getinfo(LEDGER), target.parent)
            with archive.open(LEDGER) as packed, target.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked, _CHUNK_BYTES)
            entries = archive.namelist()
            marks = _decode_marks(json.loads(_read_entry(archive, MARKS))) if MARKS in entries else None
            domain_names = _read_entry(archive, NAMES) if NAMES in entries else None
    except _UNPACK_ERRORS as error:
        raise InvalidInput(
            f"{source} cannot be restored ({error}); the store is unchanged. Restore a file that `atlas backup` wrote"
        ) from error
    except OSError as error:
        raise StoreUnavailable(f"{source} cannot be unpacked ({error}); the store is unchanged") from error
    store.ledger.copies.check(target, source, marks)
    return domain_names


def _read_entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the unpacked content of an entry."""
    content = io.BytesIO()
    with archive.open(name) as packed:
        shutil.copyfileobj(packed, content, _CHUNK_BYTES)
    return content.getvalue()


def _check_entries(archive: zipfile.ZipFile) -> None:
    """Raise `ValueError` for unexpected entries: other names, duplicates, links, and other compression methods."""
    names = archive.namelist()
    if unexpected := next((name for name in names if name not in _ENTRIES or names.count(name) > 1), None):
        raise ValueError(f"expected only {LEDGER}, {MARKS} and {NAMES} in it, each at most once, got {unexpected!r}")
    for entry in archive.infolist():
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ValueError(f"{entry.filename} is not a plain file")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"expected ZIP method stored or deflated for {entry.filename}, got {entry.compress_type}")


def _check_sizes(archive: zipfile.ZipFile, n_packed: int, max_ratio: float) -> None:
    """Raise `ValueError` for a backup that unpacks to too many bytes.

    Args:
        n_packed: Size of the backup file in bytes.
        max_ratio: Maximum unpacked size, as a multiple of the packed size.
    """
    for entry in archive.infolist():
        if entry.filename != LEDGER and entry.file_size > MAX_BYTES:
            raise ValueError(f"{entry.filename} unpacks to {_to_mb(entry.file_size)}, over {_to_mb(MAX_BYTES)}")
    n_unpacked = sum(entry.file_size for entry in archive.infolist())
    if n_unpacked > max(_ALWAYS_ALLOWED_BYTES, max_ratio * n_packed):
        raise ValueError(
            f"the file unpacks to {_to_mb(n_unpacked)}, over {max_ratio:g} times its size of "
            f"{_to_mb(n_packed)}; if you trust its source, raise ATLAS_RESTORE_MAX_RATIO"
        )


def _check_room(ledger: zipfile.ZipInfo, directory: Path) -> None:
    """Raise `OSError` if the disk of a directory has too little space to unpack a ledger."""
    n_free = shutil.disk_usage(directory).free
    if ledger.file_size > n_free:
        raise OSError(
            f"the ledger unpacks to {_to_mb(ledger.file_size)}, but the disk has only {_to_mb(n_free)} free, "
            "so make room"
        )


def _to_mb(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.1f} MB"


def _decode_marks(marks: Any) -> dict[str, dict[str, Marks]]:
    """Return the marks in a backup, keyed by collection and record id."""
    if not is_marks_by_table(marks):
        raise InvalidInput(
            f"{MARKS} in this backup is damaged: expected {{collection: {{record id: {{tags, pinned, note}}}}}}, got "
            f"{marks!r:.120}; use another backup"
        )
    check_json(marks, MARKS)
    for collection in marks:
        marks_file(collection)  # refuses names that lead out of the store
    return {
        name: {record_id: decode_marks(encoded) for record_id, encoded in marks_of_collection.items()}
        for name, marks_of_collection in marks.items()
    }


def _replace_names(store: Store, domain_names: bytes | None) -> None:
    """Replace the store's names of domains with the backup's, or remove them if the backup has no names."""
    try:
        names_text(store).change(lambda _: domain_names)
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"the names of domains cannot be replaced ({error}), so they are unchanged; everything else was restored"
        ) from error


def _relabel(store: Store) -> None:
    """Write the restored ledger's model into the label. The next embedder that opens the store adds its checksum."""
    model = store.model
    if model is None:
        (store.path / LABEL).unlink(missing_ok=True)
    else:
        store.relabel(model, checksum="")


def _count_records(store: Store) -> int:
    return sum(store.ledger.count(name) for name in store.ledger.collections())
