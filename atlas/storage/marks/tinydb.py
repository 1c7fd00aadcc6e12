"""Marks of one collection in a small, readable JSON file (TinyDB) that can be diffed and kept under version control."""

from __future__ import annotations

import copy
import json
import logging
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tinydb import TinyDB
from tinydb.storages import Storage
from tinydb.table import Table

from atlas.core.errors import InvalidInput, StoreDamaged
from atlas.core.json_values import check_json
from atlas.core.operations import Marks
from atlas.infra.durable_files import replace_durably
from atlas.infra.fork_safety import InterProcessLock
from atlas.storage.marks.codec import decode_marks, encode_marks, is_marks_by_table

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
"""The errors of reading a file that holds no marks, or does not show them. Any other may pass by itself."""


def marks_file(collection: str) -> str:
    """Return the name of a collection's marks file.

    Raises:
        InvalidInput: The collection's name could lead out of the store's directory.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", collection):
        raise InvalidInput(f"a collection's name should be of letters, digits, _ and - alone, but is {collection!r}")
    return FILES.get(collection, f"{collection}_meta.json")


def may_have_marks_file(collection: str) -> bool:
    """Return whether the collection's name is fit for a file's. Where not, the log says what is wrong with it."""
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
        """Write once, at the block's end, what the block wrote. Nothing if it failed."""
        self._batch = self.read() or {}
        try:
            yield
            batch, self._batch = self._batch, None
            self.write(batch)
        finally:
            self._batch = None

    def version(self) -> object:
        """Return another value whenever the file is replaced."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def read(self) -> dict[str, dict[str, Any]] | None:
        """Return the file's content, as a copy that the caller may change. None before the first write."""
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
        replace_durably(self._path, json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False))

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
    """Marks by record id. Many processes may replace marks at once. A crash leaves the old file or the new one."""

    def __init__(self, path: Path) -> None:
        self._storage = AtomicJSONStorage(path)
        self._threads = threading.RLock()
        self._lock = InterProcessLock(path.with_name(path.name + ".lock"))
        database = TinyDB(storage=lambda: self._storage)
        database.table_class = _RecordTable
        self._table = database.table(TABLE, cache_size=0)

    def get(self, ids: Sequence[str]) -> dict[str, Marks]:
        """Return the marks of the records that have any."""
        every = self.all()
        return {record_id: every[record_id] for record_id in ids if record_id in every}

    def all(self) -> dict[str, Marks]:
        """Return the marks of every record that has any."""
        with self._threads:
            return {str(document.doc_id): decode_marks(document) for document in self._table.all()}

    def replace(self, marks: Mapping[str, Marks]) -> None:
        """Set the marks of some records. Empty marks remove the record's entry."""
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
        """Return another value whenever any process has replaced marks."""
        return self._storage.version()
