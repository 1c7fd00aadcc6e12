"""All SQL stands in the engines, and nothing but the store knows which engine it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.support.repository import REPOSITORY

ENGINES = ("atlas/storage/sql/", "atlas/storage/sqlite/", "atlas/storage/postgres/")
OTHERS_FILES = "atlas/importers/"
"""It reads SQLite files that other programs wrote."""

KNOWS_THE_ENGINE = {"atlas/storage/store.py", "atlas/storage/erasing.py", "atlas/storage/location/access.py"}
"""One opens the ledger. One reads the id of the ledger that is at a path now, without opening a store. One finds where
the keys are that a server asks for before it opens a store."""

SQL = re.compile(
    r"\bSELECT\b.+\bFROM\b|\bINSERT (OR \w+ )?INTO\b|\bDELETE FROM\b|\bUPDATE\b.+\bSET\b|\bPRAGMA\b|"
    r"\bCREATE (VIRTUAL )?(TABLE|INDEX|VIEW|TRIGGER)\b",
    re.DOTALL,
)


def sources() -> Iterator[tuple[str, ast.Module]]:
    files = [REPOSITORY / "app.py", *(REPOSITORY / "pages").rglob("*.py"), *(REPOSITORY / "atlas").rglob("*.py")]
    for file in files:
        name = file.relative_to(REPOSITORY).as_posix()
        if not name.startswith((*ENGINES, OTHERS_FILES)):
            yield name, ast.parse(file.read_text(encoding="utf-8"))


def imported_by(tree: ast.Module) -> set[str]:
    """Every module that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def is_sql(node: ast.AST) -> bool:
    is_call = isinstance(node, ast.Attribute) and node.attr in ("execute", "executemany", "executescript")
    return is_call or (isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(SQL.search(node.value)))


def test_nothing_outside_the_engine_holds_sql_or_imports_sqlite_and_nothing_but_the_store_imports_the_engine():
    packages = ("atlas.storage.sql.", "atlas.storage.sqlite.", "atlas.storage.postgres.")
    holds_sql, knows_the_engine = set(), set()
    for name, tree in sources():
        modules = imported_by(tree)
        if "sqlite3" in modules or any(map(is_sql, ast.walk(tree))):
            holds_sql.add(name)
        if any(module.startswith(packages) for module in modules):
            knows_the_engine.add(name)
    assert holds_sql == set()
    assert knows_the_engine == KNOWS_THE_ENGINE


@pytest.mark.parametrize(
    "line",
    ['"SELECT id FROM records"', 'f"DELETE FROM {table}"', "connection.execute(statement)", '"PRAGMA user_version"'],
)
def test_what_is_looked_for_would_be_found(line):
    assert any(map(is_sql, ast.walk(ast.parse(line))))
