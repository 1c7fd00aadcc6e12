"""Options that are read from the environment."""

from __future__ import annotations

import os
import re

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from tests.support.repository import REPOSITORY

READ = re.compile(r"""environ(?:\.get\(|\[)["'](ATLAS_[A-Z_]+)""")


def test_the_program_path_lists_directories(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    given = os.pathsep.join(["src", "", f" {tmp_path} "])
    assert Settings.from_environment({"ATLAS_PROGRAM_PATH": given}).program_path == (tmp_path / "src", tmp_path)
    assert Settings.from_environment({}).program_path == ()


def test_a_program_path_that_is_no_directory_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "common.py").touch()
    given = {"ATLAS_PROGRAM_PATH": str(tmp_path / "common.py")}
    with pytest.raises(
        InvalidInput,
        match=r"expected directories, .* for ATLAS_PROGRAM_PATH, got .*common.py', which is not a directory; ",
    ):
        Settings.from_environment(given)


def test_each_variable_that_the_benchmarks_read_may_be_set_beside_a_store():
    sources = [path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "benchmarks").rglob("*.py"))]
    names = {name for source in sources for name in READ.findall(source)} - {"ATLAS_STORE", "ATLAS_LOCAL"}
    assert len(names) >= 5
    Settings.from_environment(dict.fromkeys(names, "1"))
