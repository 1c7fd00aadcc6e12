"""Small databases as Protea keeps them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

EARLY = {
    "id": "INTEGER PRIMARY KEY",
    "generation": "INTEGER",
    "entry_type": "TEXT",
    "content": "TEXT",
    "metadata": "TEXT DEFAULT '{}'",
    "timestamp": "TEXT DEFAULT CURRENT_TIMESTAMP",
}
LATE = {
    **EARLY,
    "importance": "REAL DEFAULT 0.5",
    "tier": "TEXT DEFAULT 'hot'",
    "keywords": "TEXT",
    "embedding": "TEXT",
}


def row(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": number,
        "generation": number,
        "entry_type": "task",
        "content": f"User asked: task {number}",
        "metadata": "{}",
        "timestamp": "2026-02-01 11:06:00",
        **changes,
    }


def protea(
    path: Path,
    rows: Sequence[dict[str, Any]] = ({},),
    links: Sequence[tuple[int, int, str]] | None = None,
    columns: dict[str, str] = EARLY,
    *,
    wal: bool = False,
) -> Path:
    """A database of rows, closed again."""
    with closing(sqlite3.connect(path)) as connection, connection:
        if wal:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"CREATE TABLE memory ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
        for number, given in enumerate(rows, 1):
            put(connection, {**row(number), **given}, columns)
        if links is not None:
            connection.execute("CREATE TABLE memory_links (source_id INTEGER, target_id INTEGER, link_type TEXT)")
            connection.executemany("INSERT INTO memory_links VALUES (?, ?, ?)", links)
    return path


def put(connection: sqlite3.Connection, values: dict[str, Any], columns: dict[str, str] = EARLY) -> None:
    held = {name: value for name, value in values.items() if name in columns}
    places = ", ".join("?" for _ in held)
    connection.execute(f"INSERT INTO memory ({', '.join(held)}) VALUES ({places})", tuple(held.values()))
