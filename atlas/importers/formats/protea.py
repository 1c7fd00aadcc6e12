"""Protea's memory: an agent's log in a SQLite table, imported as entries of the journal.

Newer databases also have a table of links.

The database is opened read-only, and may be imported while Protea writes to it: it is copied first, and only the copy
takes a lock. An entry's id is derived from its row and its log (see `protea_logs`). So a second import adds no
duplicates, equal rows of two logs stay apart, and links resolve in any order. All columns are imported except two:
vectors, which ATLAS computes itself, and the time of a link, because links have none in ATLAS.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from atlas.core.errors import ImportFailed, InvalidInput
from atlas.core.journal_codec import LINK_TYPES, TIERS
from atlas.core.schema import decode_instant
from atlas.core.types import JournalEntry, Link
from atlas.importers.fields import abbreviate, as_object
from atlas.importers.files import parse_json, read_head
from atlas.importers.formats.protea_logs import IDENTIFYING_COLUMNS, entry_id, row_key
from atlas.importers.rows import Limits, Row, make_row, one_line
from atlas.memory.journal.entry_types import EntryTypes
from atlas.memory.journal.importance import importance_of
from atlas.memory.journal.records import RESERVED_KEYS
from atlas.memory.promotion import LOG

logger = logging.getLogger(__name__)

SQLITE_MARK = b"SQLite format 3\x00"

REQUIRED_COLUMNS = ("id", "entry_type", "content")
"""Columns that every entry has."""

COMMON_COLUMNS = ("generation", "metadata", "timestamp")
"""Columns of all versions of the table. A missing one is reported, and the others are imported."""

NEWER_COLUMNS = ("importance", "tier")
"""Columns of newer versions only."""

LOCK_TIMEOUT_SECONDS = 5.0
"""Timeout for a lock on the database."""

_LOCK_ERRORS = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

SKIPPED_COLUMNS = ("embedding",)
"""Columns that are not imported. All others become metadata, such as `protea_keywords`."""

ARCHIVED_IDS = "archived_ids"
"""Metadata key with the rows that Protea's compaction summarised in an entry."""

TABLE = """\
CREATE TABLE IF NOT EXISTS memory (
    id          INTEGER PRIMARY KEY,
    generation  INTEGER  NOT NULL,
    entry_type  TEXT     NOT NULL,
    content     TEXT     NOT NULL,
    metadata    TEXT     DEFAULT '{}',
    timestamp   TEXT     DEFAULT CURRENT_TIMESTAMP
)"""
"""Schema of the first version of the table. Protea itself adds the newer columns."""

_TIERS = {**{tier: tier for tier in TIERS}, "archive": "archived"}


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file is a SQLite database with a table of entries."""
    if not head.startswith(SQLITE_MARK):
        return False
    try:
        with closing(_open_read_only(path)) as connection:
            return set(REQUIRED_COLUMNS) <= _columns(connection, "memory")
    except (sqlite3.Error, ImportFailed):
        return False


def create_table(path: Path) -> bool:
    """Create the table of entries in the agent's SQLite file if it is missing, and return whether it has entries.

    Other tables stay unchanged. If the file cannot be written, or has a different table of that name, a warning is
    logged and nothing changes.

    Raises:
        ImportFailed: The file is not a SQLite file, or is damaged.
    """
    try:  # only SQLite may open it: closing a second file handle would drop the POSIX locks of the agent's connections
        with closing(_open_read_only(path)) as connection:
            if columns := _columns(connection, "memory"):
                return _has_entries(connection, columns, path.name)
        _make_table(path)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
            reason = "is not a SQLite file; give the path of a store or of a Protea database"
            raise ImportFailed(f"{path.name} {reason}") from error
        raise ImportFailed(f"{path.name} cannot be read: {one_line(str(error))}; check the file") from error
    return False


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the entries of a database, in the order of their ids.

    Raises:
        ImportFailed: The database cannot be read, or has no table of entries.
    """
    read_head(path, limits)
    position = 0
    try:
        with closing(_copy_in_memory(path)) as connection:
            columns = _columns(connection, "memory")
            if not set(REQUIRED_COLUMNS) <= columns:
                raise ImportFailed(f"{path.name} is a SQLite file without a Protea table `memory`; give another file")
            for name in COMMON_COLUMNS:
                if name not in columns:
                    yield Row(0, None, f"the table `memory` has no column `{name}`; entries are imported without it")
            log = _log_key(connection)
            ids = {raw["id"]: entry_id(row_key(raw), log) for raw in _identifying_values(connection)}
            links, warnings = _links(connection, ids)
            yield from (Row(0, None, reason) for reason in warnings)
            reader = _Reader(path.name, log, ids, links, limits.max_row_bytes)
            names = [*REQUIRED_COLUMNS, *sorted(columns - {*REQUIRED_COLUMNS, *SKIPPED_COLUMNS})]
            for position, values in enumerate(connection.execute(_select_statement(names)), start=1):
                raw = dict(zip(names, values, strict=True))
                yield make_row(position, partial(reader.entry, raw), n_bytes=_n_bytes(raw["content"]))
    except sqlite3.Error as error:  # keep the rows before
        raise ImportFailed(
            f"{path.name} cannot be read after row {position}: {one_line(str(error))}; check the file"
        ) from error


@dataclass(frozen=True, slots=True)
class _Reader:
    """Converts rows of a database, in which strings are still bytes, to entries."""

    file: str
    log: str
    ids: Mapping[int, str]
    links: Mapping[int, tuple[Link, ...]]
    max_bytes: int

    def entry(self, raw: Mapping[str, Any]) -> JournalEntry:
        if _n_bytes(raw["content"]) > self.max_bytes:
            raise InvalidInput(f"content exceeds the limit of {self.max_bytes} bytes; shorten it")
        entry_type, content = _text(raw["entry_type"], "entry_type"), _text(raw["content"], "content")
        tier = _optional_text(raw, "tier") or TIERS[0]
        if tier not in _TIERS:
            raise InvalidInput(f"expected one of {', '.join(_TIERS)} for tier, got {tier!r}")
        timestamp = _optional_text(raw, "timestamp")
        metadata = self._metadata(raw)
        importance = raw.get("importance")
        if importance is None:
            importance = importance_of(EntryTypes().of(entry_type), content, metadata)
        return JournalEntry(
            id=entry_id(row_key(raw), self.log),
            entry_type=entry_type,
            content=content,
            generation=raw.get("generation", 0),
            created_at=decode_instant(timestamp, "timestamp"),
            importance=importance,
            metadata=metadata,
            tier=_TIERS[tier],
            links=(*self.links.get(raw["id"], ()), *self._summary_links(raw["id"], metadata)),
        )

    def _metadata(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        text = _optional_text(raw, "metadata") or "{}"
        raw_metadata = as_object(parse_json(text.encode()), "metadata")
        agent_fields = {f"protea_{key}" if key in RESERVED_KEYS else key: value for key, value in raw_metadata.items()}
        extra_names = [
            name
            for name in raw
            if name not in (*REQUIRED_COLUMNS, *COMMON_COLUMNS, *NEWER_COLUMNS) and raw[name] not in (None, b"")
        ]
        extra_fields = {f"protea_{name}": _decode_text(raw[name], name) for name in extra_names}
        our_fields = {**extra_fields, "protea_file": self.file, "protea_row": raw["id"], LOG: self.log}
        for name in our_fields.keys() & agent_fields.keys():
            raise InvalidInput(
                f"metadata has the key {name!r}, which is reserved for the source of an entry; rename it"
            )
        return {**agent_fields, **our_fields}

    def _summary_links(self, row: int, metadata: Mapping[str, Any]) -> Iterator[Link]:
        """Yield links to the rows that Protea's compaction summarised in this row."""
        archived = metadata.get(ARCHIVED_IDS)
        numbers = [item for item in archived if isinstance(item, int)] if isinstance(archived, list) else []
        for number in dict.fromkeys(numbers):
            if number != row and number in self.ids:
                yield Link("summarises", self.ids[number])


def _log_key(connection: sqlite3.Connection) -> str:
    """Return the key of a log's first row. It identifies the log, even after the log was moved or has grown."""
    return row_key(next(_identifying_values(connection), {}))[:16]


def _links(connection: sqlite3.Connection, ids: Mapping[int, str]) -> tuple[dict[int, tuple[Link, ...]], list[str]]:
    """Return the links by source row, and warnings about links that cannot be imported."""
    if not {"source_id", "target_id", "link_type"} <= _columns(connection, "memory_links"):
        return {}, []
    by_row: dict[int, list[Link]] = {}
    warnings = []
    for source, target, kind in connection.execute("SELECT source_id, target_id, link_type FROM memory_links"):
        link_type = kind.decode("utf-8", "replace") if isinstance(kind, bytes) else str(kind)
        if source == target or source not in ids or target not in ids or link_type not in LINK_TYPES:
            warnings.append(
                one_line(f"the link {source!r} → {target!r} of type {link_type!r} joins no two entries; left out")
            )
        else:
            by_row.setdefault(source, []).append(Link(link_type, ids[target]))
    return {source: tuple(links) for source, links in by_row.items()}, warnings


def _identifying_values(connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """Yield the identifying columns of each row, ordered by id."""
    columns = _columns(connection, "memory")
    names = [name for name in IDENTIFYING_COLUMNS if name in columns]
    for values in connection.execute(_select_statement(names)):
        yield dict(zip(names, values, strict=True))


def _has_entries(connection: sqlite3.Connection, columns: set[str], name: str) -> bool:
    missing = sorted(set(REQUIRED_COLUMNS) - columns, key=REQUIRED_COLUMNS.index)
    if missing:
        logger.warning("%s is adopted without entries: its table `memory` has no %s", name, ", ".join(missing))
        return False
    return connection.execute("SELECT 1 FROM memory LIMIT 1").fetchone() is not None


def _make_table(path: Path) -> None:
    try:
        with closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT_SECONDS)) as connection, connection:
            connection.execute(TABLE)
    except sqlite3.OperationalError as error:
        reason = one_line(str(error))
        logger.warning("%s has no table `memory`, and it could not be created: %s", path.name, reason)


def _open_read_only(path: Path) -> sqlite3.Connection:
    """Return the database, opened read-only. Strings are returned as bytes, because they may be invalid UTF-8."""
    address = f"{path.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=LOCK_TIMEOUT_SECONDS)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode in _LOCK_ERRORS or Path(f"{path}-wal").exists():
            raise
        # In WAL mode on a read-only disk, and open in no other process: read it as an immutable file.
        connection = sqlite3.connect(f"{address}&immutable=1", uri=True, isolation_level=None)
    connection.text_factory = bytes
    return connection


def _copy_in_memory(path: Path) -> sqlite3.Connection:
    """Return a snapshot of the database, so that Protea can write while its rows are embedded."""
    copy = sqlite3.connect("")  # a private temporary database on disk, deleted when it is closed
    copy.text_factory = bytes
    try:
        with closing(_open_read_only(path)) as connection:
            connection.backup(copy, progress=_refuse_busy)
    except BaseException:
        copy.close()
        raise
    return copy


def _refuse_busy(status: int, remaining: int, total: int) -> None:
    """Raise `OperationalError` if a backup has waited too long for a lock on the database."""
    if status in _LOCK_ERRORS:
        raise sqlite3.OperationalError("database is locked; import it once that is done")


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {bytes(row[1]).decode() for row in connection.execute(f"PRAGMA table_info({table})")}


def _select_statement(names: Sequence[str]) -> str:
    quoted_names = ('"' + name.replace('"', '""') + '"' for name in names)
    return f"SELECT {', '.join(quoted_names)} FROM memory ORDER BY id"


def _decode_text(value: Any, name: str) -> Any:
    return _text(value, name) if isinstance(value, bytes) else value


def _optional_text(raw: Mapping[str, Any], name: str) -> str | None:
    return None if raw.get(name) is None else _text(raw[name], name)


def _n_bytes(content: Any) -> int:
    """Return the length of a string in bytes, or 0 for a value of another type, which SQLite permits in any column."""
    return len(content) if isinstance(content, bytes) else 0


def _text(value: Any, name: str) -> str:
    if not isinstance(value, bytes):
        raise InvalidInput(f"expected a string for {name}, got {abbreviate(value)}")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not UTF-8 at byte {error.start + 1}; convert it") from error
