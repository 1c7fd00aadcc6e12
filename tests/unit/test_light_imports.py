"""What is imported by importing the package, opening a memory, and running a command: what every user runs, no more."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.repository import REPOSITORY

SLOW_TO_IMPORT = {"anthropic", "chromadb", "plotly", "sentence_transformers", "streamlit", "torch", "umap"}

OPEN = "import tempfile, atlas; memory = atlas.open_memory(tempfile.mkdtemp(), announce=print)"


@pytest.mark.parametrize("module", ["atlas", "atlas.cli"])
def test_importing_it_loads_nothing_slow(module):
    assert SLOW_TO_IMPORT & packages(modules_loaded_by(f"import {module}")) == set()


def test_importing_atlas_imports_neither_numpy_nor_a_part_of_it():
    loaded = modules_loaded_by("import atlas")
    assert packages(loaded) & {"numpy", "httpx", "sqlite3", "asyncio"} == set()
    assert ours(loaded) == {"atlas", "atlas.core", "atlas.core.lazy_imports"}


def test_opening_a_memory_imports_no_learning_and_no_memory_that_is_not_asked_for():
    loaded = ours(modules_loaded_by(OPEN))
    assert len(loaded) <= 180
    assert within(loaded, "atlas.learning", "atlas.memory.journal", "atlas.storage.maintenance") == set()


def test_searching_experiences_imports_no_learning_and_no_other_memory():
    loaded = ours(modules_loaded_by(f"{OPEN}; memory.experience.retrieve_words('parse a date')"))
    assert within(loaded, "atlas.learning", "atlas.memory.journal", "atlas.memory.strategies") == set()


def modules_loaded_by(statements: str) -> set[str]:
    """Return the names of the modules in a fresh interpreter that has run some statements."""
    program = f"import sys; {statements}; print('loaded', *sys.modules, sep='\\n')"
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return set(run.stdout.partition("loaded\n")[2].split())


def packages(loaded: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in loaded}


def ours(loaded: set[str]) -> set[str]:
    return {name for name in loaded if name.partition(".")[0] == "atlas"}


def within(loaded: set[str], *names: str) -> set[str]:
    return {module for module in loaded if f"{module}.".startswith(tuple(f"{name}." for name in names))}
