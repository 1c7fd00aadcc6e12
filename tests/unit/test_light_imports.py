"""What is imported by importing the package, opening a memory, and running a command: what every user runs, no more."""

from __future__ import annotations

import subprocess
import sys

import pytest

import atlas
from tests.support.repository import REPOSITORY

BUNDLED = atlas.Settings(embedding_model="all-MiniLM-L6-v2")
"""The model that comes with ATLAS."""

SLOW_TO_IMPORT = {"anthropic", "chromadb", "plotly", "sentence_transformers", "streamlit", "torch", "umap"}

RUN = "import atlas.cli; atlas.cli.main({})"

OPEN = "import tempfile, atlas; memory = atlas.open_memory(tempfile.mkdtemp(), announce=print)"


@pytest.mark.parametrize("module", ["atlas", "atlas.cli"])
def test_importing_it_loads_nothing_slow(module):
    assert SLOW_TO_IMPORT & packages(modules_loaded_by(f"import {module}")) == set()


def test_importing_atlas_imports_neither_numpy_nor_a_part_of_it():
    loaded = modules_loaded_by("import atlas")
    assert packages(loaded) & {"numpy", "httpx", "sqlite3", "asyncio"} == set()
    assert ours(loaded) == {"atlas", "atlas.core", "atlas.core.imports", "atlas.core.imports.lazy"}


def test_opening_a_memory_imports_no_learning_and_no_memory_that_is_not_asked_for():
    loaded = ours(modules_loaded_by(OPEN))
    assert len(loaded) <= 180
    assert within(loaded, "atlas.learning", "atlas.memory.journal", "atlas.storage.maintenance") == set()


def test_searching_experiences_imports_no_learning_and_no_other_memory():
    loaded = ours(modules_loaded_by(f"{OPEN}; memory.experience.retrieve_words('parse a date')"))
    assert within(loaded, "atlas.learning", "atlas.memory.journal", "atlas.memory.strategies") == set()


def test_help_imports_no_command():
    loaded = modules_loaded_by(RUN.format(["--help"]))
    assert len(within(loaded, "atlas.cli")) == 1
    assert packages(loaded) & {"numpy", "sqlite3", "asyncio", "tqdm"} == set()


def test_searching_by_words_on_the_command_line_imports_no_other_memory(tmp_path):
    atlas.open_memory(tmp_path, settings=BUNDLED).close()
    loaded = modules_loaded_by(RUN.format(["--store", str(tmp_path), "search", "--words", "parse a date"]))
    assert within(loaded, "atlas.learning", "atlas.importers", "atlas.maps", "atlas.memory.journal") == set()
    assert (
        within(loaded, "atlas.llm.concurrency", "atlas.memory.experience.merging", "atlas.storage.vectors.remote")
        == set()
    )
    assert packages(loaded) & {*SLOW_TO_IMPORT, "asyncio", "ssl", "subprocess"} == set()
    assert "numpy.ma" not in loaded


def test_planning_to_prune_imports_no_learning(tmp_path):
    atlas.open_memory(tmp_path, settings=BUNDLED).close()
    loaded = modules_loaded_by(RUN.format(["--store", str(tmp_path), "prune", "--max-count", "1", "--dry-run"]))
    assert within(loaded, "atlas.learning", "atlas.importers", "atlas.maps") == set()


def test_backing_up_and_checking_a_store_import_no_importer_and_no_evaluation(tmp_path):
    atlas.open_memory(tmp_path / "store", settings=BUNDLED).close()
    for command in (["backup", str(tmp_path / "backup.tar")], ["doctor"]):
        loaded = modules_loaded_by(RUN.format(["--store", str(tmp_path / "store"), *command]))
        assert "atlas.cli.store" in loaded
        assert within(loaded, "atlas.importers", "atlas.evaluation") == set()


def modules_loaded_by(statements: str) -> set[str]:
    """Return the names of the modules in a fresh interpreter that has run some statements."""
    report = "print('loaded', *sys.modules, sep='\\n')"
    program = f"import atexit, sys; atexit.register(lambda: {report}); {statements}"
    run = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return set(run.stdout.partition("loaded\n")[2].split())


def packages(loaded: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in loaded}


def ours(loaded: set[str]) -> set[str]:
    return {name for name in loaded if name.partition(".")[0] == "atlas"}


def within(loaded: set[str], *names: str) -> set[str]:
    return {module for module in loaded if f"{module}.".startswith(tuple(f"{name}." for name in names))}
