from __future__ import annotations

import importlib.metadata
import sys

import pytest

import atlas
from atlas.cli import main
from atlas.core.address import local_directory
from atlas.core.errors import ExtraMissing, StoreUnavailable
from atlas.core.imports.distribution import NAME, extra
from atlas.core.settings import Settings
from atlas.embedding.choice import BUNDLED


def test_the_version_is_that_of_the_installed_distribution():
    assert atlas.__version__ == importlib.metadata.version(NAME)


def test_a_missing_package_names_the_line_that_installs_it():
    with pytest.raises(ExtraMissing) as raised, extra("map", "the map"):
        import absent_package.part  # noqa: F401
    assert str(raised.value) == (
        f"the map needs the package absent_package, which is not installed; install it: pip install '{NAME}[map]'"
    )


def test_the_error_is_of_the_class_that_callers_expect():
    with pytest.raises(StoreUnavailable), extra("postgres", "a store in PostgreSQL", StoreUnavailable):
        import absent_package  # noqa: F401


def test_a_missing_module_of_our_own_is_no_missing_package():
    with pytest.raises(ModuleNotFoundError, match=r"atlas\.nowhere"), extra("map", "the map"):
        import atlas.nowhere  # noqa: F401


def test_a_command_that_lacks_a_package_names_the_line_that_installs_it(monkeypatch, tmp_path, capsys):
    atlas.open_memory(tmp_path / "store", settings=Settings(embedding_model=BUNDLED)).close()
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert main(["--store", str(tmp_path / "store"), "export", str(tmp_path / "all.jsonl")]) == 1
    assert capsys.readouterr().err == (
        f"atlas: this command needs the package tqdm, which is not installed; install it: pip install '{NAME}[all]'\n"
    )


def test_other_errors_of_an_import_pass():
    with pytest.raises(ZeroDivisionError), extra("map", "the map"):
        _ = 1 / 0


def test_directories_of_caches_and_state_keep_the_name_that_they_had_before_the_distribution(monkeypatch, tmp_path):
    for variable in ("ATLAS_CACHE", "ATLAS_LOCAL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert Settings().cache == tmp_path / "cache" / "atlas-memory"
    assert local_directory("postgresql://localhost/memories").parent == tmp_path / "state" / "atlas-memory"
