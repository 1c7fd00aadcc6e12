"""Views are functions from a memory and what a person asked for: they start nothing and touch no file."""

from __future__ import annotations

import ast
from pathlib import Path

import atlas.views

PACKAGE = Path(atlas.views.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
FORBIDDEN_MODULES = {
    *("asyncio", "concurrent", "multiprocessing", "os", "shutil", "socket", "sqlite3", "subprocess"),
    *("sys", "tempfile", "threading", "time"),
}
FORBIDDEN_CALLS = {
    *("Path", "exists", "glob", "open", "mkdir", "read_bytes", "read_text", "rename", "rglob", "rmdir", "sleep"),
    *("stat", "touch", "unlink", "write", "write_bytes", "write_text"),
}
READS_ITS_OWN_SCRIPTS = "browser.py"
"""Reads the scripts and styles that lie in this package, and nothing else."""


def test_views_start_no_thread_and_touch_no_file():
    assert {str(module.relative_to(PACKAGE)): names for module in MODULES if (names := forbidden(module))} == {}


def forbidden(module: Path) -> set[str]:
    """What a module imports or calls that a view may not."""
    tree = ast.parse(module.read_text())
    calls = set() if module.name == READS_ITS_OWN_SCRIPTS else {*_called(tree)} & FORBIDDEN_CALLS
    return {*_imported(tree)} & FORBIDDEN_MODULES | calls


def _imported(tree: ast.AST):
    """The first part of the name of every module that is imported, wherever that is done."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def _called(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
