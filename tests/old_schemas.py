"""Stores as older versions of ATLAS wrote them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

SCHEMA_1 = Path(__file__).with_name("schema_1.sql")


def make_version_1(path: Path) -> None:
    """Write a closed store's ledger anew as version 1 wrote it, with all that it holds."""
    ledger, newer = path / "atlas.sqlite", path / "newer.sqlite"
    for beside in path.glob("atlas.sqlite-*"):
        beside.unlink()
    ledger.rename(newer)
    with closing(sqlite3.connect(ledger)) as connection:
        connection.executescript(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;" + SCHEMA_1.read_text(encoding="utf-8")
        )
        connection.execute("ATTACH ? AS newer", (str(newer),))
        is_ours = "type = 'table' AND name NOT LIKE 'records_fts%' AND name NOT LIKE 'sqlite_%'"
        for (table,) in connection.execute(f"SELECT name FROM main.sqlite_master WHERE {is_ours}").fetchall():
            connection.execute(f"DELETE FROM {table}")
            connection.execute(f"INSERT INTO {table} SELECT * FROM newer.{table}")
        connection.commit()
    newer.unlink()
    label = path / "store.json"
    if label.exists():
        label.write_text(label.read_text(encoding="utf-8").replace('"schema_version": 2', '"schema_version": 1'))


def schema_version(ledger: Path) -> int:
    """The schema version that a ledger's file says."""
    with closing(sqlite3.connect(ledger)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
