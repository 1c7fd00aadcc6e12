"""Marks of one collection in a small, readable JSON file (TinyDB) that can be diffed and kept under version control."""

from __future__ import annotations

import copy
import json
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tinydb import TinyDB
from tinydb.storages import Storage
from tinydb.table import Table

from atlas.core.codec import check_json
from atlas.core.errors import InvalidInput, StoreDamaged
from atlas.core.operations import Marks
from atlas.infra.fork_safety import InterProcessLock

logger = logging.getLogger(__name__)

TABLE = "marks"

FILES = {
    "atlas_experiences": "experiences_meta.json",
    "atlas_concepts": "concepts_meta.json",
    "atlas_strategies": "strategies_meta.json",
    "atlas_journal": "journal_meta.json",
}

MAX_BYTES = 256 * 2**20
"""A file of marks is read at once, and is none where it is larger."""

UNREADABLE = (StoreDamaged, PermissionError)
"""What reading raises where a file holds no marks, or does not show them; anything else may pass by itself."""


def marks_file(collection: str) -> str:
    """Return the name of a collection's marks file.

    Raises:
        InvalidInput: The collection's name could lead out of the store's directory.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", collection):
        raise InvalidInput(f"a collection's name should be of letters, digits, _ and - alone, but is {collection!r}")
    return FILES.get(collection, f"{collection}_meta.json")


def may_have_marks_file(collection: str) -> bool:
    """Return whether the collection's name is fit for a file's; where not, the log says what is wrong with it."""
    try:
        marks_file(collection)
    except InvalidInput as error:  # left where it is: one bad row keeps no other mark, and no store, from working
        logger.warning("the marks of a collection are skipped: %s", error)
        return False
    return True


class AtomicJSONStorage(Storage):
    """TinyDB's JSON file, replaced as a whole or not at all, and parsed again only when it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cached: dict[str, dict[str, Any]] | None = None
        self._cached_version: object = None
        self._batch: dict[str, dict[str, Any]] | None = None

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Write once, at the block's end, what the block wrote; nothing if it failed."""
        self._batch = self.read() or {}
        try:
            yield
            batch, self._batch = self._batch, None
            self.write(batch)
        finally:
            self._batch = None

    def version(self) -> object:
        """Changes whenever the file is replaced."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def read(self) -> dict[str, dict[str, Any]] | None:
        """The file's content, as a copy that the caller may change; None before the first write."""
        if self._batch is not None:
            return self._batch
        version = self.version()
        if version is None:
            return None
        if version != self._cached_version:
            self._cached, self._cached_version = self._parse(), version
        return copy.deepcopy(self._cached)

    def write(self, data: dict[str, dict[str, Any]]) -> None:
        """Replace the file: written beside it, flushed to the disk, then renamed."""
        if self._batch is not None:
            self._batch = data
            return
        text = json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False)
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            with temporary.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_directory(self._path.parent)

    def _parse(self) -> dict[str, dict[str, Any]]:
        if not self._path.is_file() or self._path.stat().st_size > MAX_BYTES:
            raise StoreDamaged(f"{self._path} should be a file of marks, of {MAX_BYTES / 2**20:,.0f} MB at most")
        try:
            parsed = json.loads(self._path.read_text(encoding="utf-8"))
            check_json(parsed, "it")
        except (ValueError, RecursionError) as error:
            raise StoreDamaged(f"the marks in {self._path} are not readable JSON ({error})") from error
        if not is_marks_by_table(parsed) or TABLE not in parsed:
            raise StoreDamaged(
                f"the marks in {self._path} should be a JSON object with a table {TABLE!r}, of records, of tags, "
                "pinned and note"
            )
        tables: dict[str, dict[str, Any]] = parsed
        return tables


class _RecordTable(Table):
    document_id_class = str  # type: ignore[assignment]  # record ids are texts; TinyDB allows any class here


class TinyMetadataStore:
    """Marks by record id. Many processes may replace marks at once; a crash leaves the old file or the new one."""

    def __init__(self, path: Path) -> None:
        self._storage = AtomicJSONStorage(path)
        self._threads = threading.RLock()
        self._lock = InterProcessLock(path.with_name(path.name + ".lock"))
        database = TinyDB(storage=lambda: self._storage)
        database.table_class = _RecordTable
        self._table = database.table(TABLE, cache_size=0)

    def get(self, ids: Sequence[str]) -> dict[str, Marks]:
        """The marks of those of the records that have any."""
        every = self.all()
        return {record_id: every[record_id] for record_id in ids if record_id in every}

    def all(self) -> dict[str, Marks]:
        """The marks of every record that has any."""
        with self._threads:
            return {str(document.doc_id): decode_marks(document) for document in self._table.all()}

    def replace(self, marks: Mapping[str, Marks]) -> None:
        """Set the marks of some records; empty marks remove the record's entry."""
        with self._threads, self._lock.held(), self._storage.batch():
            tables = self._storage.read() or {}
            # Past TinyDB's own methods, each of which reads and writes the whole table for a single record.
            table = tables.setdefault(TABLE, {})
            for record_id, value in marks.items():
                table[record_id] = encode_marks(value)
                if not table[record_id]:
                    del table[record_id]
            self._storage.write(tables)

    def version(self) -> object:
        """Changes whenever any process has replaced marks."""
        return self._storage.version()


def encode_marks(marks: Marks) -> dict[str, Any]:
    """Marks as JSON; empty ones as an empty object."""
    encoded = {"tags": list(marks.tags), "pinned": marks.pinned, "note": marks.note, "buried": marks.buried}
    return {name: value for name, value in encoded.items() if value}


def decode_marks(encoded: Mapping[str, Any]) -> Marks:
    """Marks from JSON; what is missing is empty."""
    return Marks(
        tags=tuple(encoded.get("tags", ())),
        pinned=bool(encoded.get("pinned")),
        note=encoded.get("note", ""),
        buried=bool(encoded.get("buried")),
    )


def is_marks_by_table(parsed: Any) -> bool:
    """Whether a JSON value is an object of objects of encoded marks: a marks file, or the marks in a backup."""
    return isinstance(parsed, dict) and all(
        isinstance(table, dict) and all(is_marks(marks) for marks in table.values()) for table in parsed.values()
    )


def is_marks(value: Any) -> bool:
    """Whether `decode_marks` can read a JSON value."""
    if not isinstance(value, dict):
        return False
    tags, note = value.get("tags", []), value.get("note", "")
    return isinstance(tags, list) and all(isinstance(tag, str) for tag in tags) and isinstance(note, str)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
