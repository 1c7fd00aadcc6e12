"""Plug-ins of an installed distribution: each kind is used, and one that is broken costs only itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY

TOY = REPOSITORY / "tests/support/toy_distribution"

BROKEN = """Metadata-Version: 2.1
Name: atlas-broken
Version: 2
"""

NOT_THERE = """[atlas.importers]
broken = not_there:format
[atlas.indexes]
broken = not_there:Service
[atlas.success_updaters]
broken = not_there:Updater
[atlas.commands]
broken = not_there:declare
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a virtualenv of its own with the toy distribution and a broken one, over the packages here."""
    directory = tmp_path_factory.mktemp("plugins")
    venv.create(directory / "venv", with_pip=False, symlinks=True)
    [site] = (directory / "venv").glob("lib/python*/site-packages")
    here = sysconfig.get_path("purelib")
    (site / "here.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    source = shutil.copytree(TOY, directory / "source")
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", site)
    subprocess.run([sys.executable, "-m", "pip", "install", *options, source], check=True)
    (site / "atlas_broken-2.dist-info").mkdir()
    (site / "atlas_broken-2.dist-info/METADATA").write_text(BROKEN)
    (site / "atlas_broken-2.dist-info/entry_points.txt").write_text(NOT_THERE)
    return directory / "venv/bin/python"


def run(python: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(REPOSITORY), "COLUMNS": "200", **environment}
    command = [python, *map(str, arguments)]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def test_a_distribution_brings_an_importer_an_index_an_updater_primitives_and_a_command(python, tmp_path):
    done = run(python, TOY / "use_everything.py", tmp_path)
    assert done.returncode == 0, done.stderr
    used, printed = done.stdout.splitlines()
    assert json.loads(used) == {
        "imported": 6,
        "rejected": ["expected: task | done"],
        "found": "sort list 3",
        "indexed": 6,
        "concepts": ["toy_double"],
        "updater": "LatestOutcome",
    }
    assert printed == "2 OPERATIONS"


def test_help_lists_a_command_of_a_plug_in_without_importing_it(python):
    shown = run(python, "-m", "atlas", "--help").stdout
    assert re.search(r"toys +A toy plug-in of each kind \(atlas-toy 0\.1\)", shown)
    assert re.search(r"broken +\(atlas-broken 2\)", shown)


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (("broken",), {}),
        (("--index", "broken://here", "init"), {"ATLAS_EMBEDDING_MODEL": "all-MiniLM-L6-v2"}),
        (("init",), {"ATLAS_SUCCESS_UPDATER": "broken", "ATLAS_EMBEDDING_MODEL": "all-MiniLM-L6-v2"}),
    ],
)
def test_a_broken_plug_in_that_is_asked_for_is_named_with_its_distribution(python, tmp_path, arguments, environment):
    done = run(python, "-m", "atlas", "--store", tmp_path / "store", *arguments, **environment)
    assert done.returncode == 1
    assert "the plug-in 'broken' of atlas-broken 2 (not_there:" in done.stderr
    assert "ModuleNotFoundError: No module named 'not_there'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_importer_is_named_and_the_others_are_there(python):
    done = run(python, "-m", "atlas", "import", "--help")
    assert "the plug-in 'broken' of atlas-broken 2" in done.stderr
    assert "messages,toy}" in done.stdout


def test_an_unknown_updater_is_refused_with_those_that_there_are(python, tmp_path):
    done = run(python, "-m", "atlas", "--store", tmp_path, "init", ATLAS_SUCCESS_UPDATER="mean")
    assert "expected one of ema, average, bayesian, recency, broken, toy for ATLAS_SUCCESS_UPDATER" in done.stderr


@pytest.mark.parametrize("file", sorted((TOY / "atlas_toy").glob("[a-z]*.py")), ids=lambda file: file.name)
def test_the_page_on_plug_ins_shows_each_file_of_the_toy_distribution(file):
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 30
    assert f"```python\n{text}```" in (REPOSITORY / "docs/reference/plugins.md").read_text(encoding="utf-8")
