"""Tests that hold for every engine: a module that says `engine = every_engine` runs with a store of each.

`make test` runs them on SQLite. That both engines do the same is shown there by the contract tests.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from atlas.core.address import read_address

ENGINES = ("sqlite", pytest.param("postgres", marks=pytest.mark.slow))

of_files = pytest.mark.parametrize("engine", ["sqlite"])
"""Marks a test about the files of a store in a directory, in a module that otherwise holds for every engine."""


@pytest.fixture(params=ENGINES)
def every_engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    return str(request.param)


def run_in(address: str, *statements: str) -> None:
    """Run statements in a store's schema, as somebody else does who has the server."""
    where = read_address(address)
    with psycopg.connect(where.conninfo, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {where.schema}, public")
        for statement in statements:
            connection.execute(statement)


def rows_of(place: Path | str, statement: str) -> list[tuple[Any, ...]]:
    """The rows that a statement gives in a store of either engine, which nothing has open."""
    if isinstance(place, Path):
        with closing(sqlite3.connect(place / "atlas.sqlite")) as connection:
            rows = connection.execute(statement).fetchall()
            connection.commit()
            return rows
    where = read_address(place)
    with psycopg.connect(where.conninfo, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {where.schema}, public")
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []
