"""Modules beside programs: imported and read where programs run, and nothing else with them."""

from __future__ import annotations

import os

import pytest

from atlas.learning.sandbox.confinement import FILES
from atlas.learning.sandbox.modules import PublicNames
from atlas.learning.sandbox.preloading import slow_modules
from atlas.learning.sandbox.runner import RunLimits, Sandbox

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")


@pytest.fixture
def path(tmp_path):
    """A directory with one module."""
    made = tmp_path / "modules"
    made.mkdir()
    (made / "common.py").write_text("import string\nSIZE = 3\n_hidden = 1\ndef double(x): return 2 * x\n", "utf-8")
    return made


@pytest.fixture(params=[True, False], ids=["confined", "guarded"])
def beside(request, path):
    """A sandbox whose programs import from it, with what the kernel refuses, and where it refuses nothing."""
    with Sandbox(path=[path], n_workers=1, is_confined=request.param) as sandbox:
        yield sandbox


@pytest.fixture
def confined(path):
    with Sandbox(path=[path], n_workers=1) as sandbox:
        if FILES not in sandbox.enforced:
            pytest.skip("here the kernel keeps programs from no files")
        yield sandbox


def test_programs_import_from_the_directories(beside):
    assert beside.run("from common import *\nprint(double(SIZE))").output == "6\n"


def test_a_module_of_the_directory_comes_before_one_that_is_installed(beside, path):
    (path / "packaging.py").write_text("here = True", "utf-8")
    assert beside.run("import packaging\nassert packaging.here").outcome == "passed"


@pytest.mark.parametrize("name", ["random", "json", "textwrap"])
def test_a_module_of_the_directory_comes_before_one_of_pythons_own_library(beside, path, name):
    (path / f"{name}.py").write_text("here = True", "utf-8")
    assert beside.run(f"import {name}\nassert {name}.here").outcome == "passed"
    assert beside.run("import tempfile, dataclasses\nassert 0").detail.startswith("AssertionError")


def test_a_package_of_the_directory_comes_first_and_a_directory_without_code_does_not(beside, path):
    (path / "json").mkdir()
    assert beside.run("import json\nassert json.loads('[1]') == [1]").outcome == "passed"
    (path / "json" / "__init__.py").write_text("here = True", "utf-8")
    assert beside.run("import json\nassert json.here").outcome == "passed"


def test_what_python_holds_from_its_start_stays(beside, path):
    (path / "os.py").write_text("here = True", "utf-8")
    assert beside.run("import os\nassert not hasattr(os, 'here')").outcome == "passed"


def test_a_directory_that_is_gone_holds_nothing(tmp_path):
    with Sandbox(path=[tmp_path / "gone"], n_workers=1) as sandbox:
        assert sandbox.run("import random\nassert random.random() < 1").outcome == "passed"


def test_the_directories_are_read_and_not_written(confined, path):
    place = path / "common.py"
    (path.parent / "secret").write_text("secret", "utf-8")
    assert confined.run(f"assert 'SIZE' in open({str(place)!r}).read()").outcome == "passed"
    assert confined.run(f"open({str(place)!r}, 'a')").detail.startswith("PermissionError")
    assert confined.run(f"open({str(path / 'new')!r}, 'w')").detail.startswith("PermissionError")
    assert confined.run(f"open({str(path.parent / 'secret')!r})").detail.startswith("PermissionError")
    assert sorted(file.name for file in path.iterdir()) == ["common.py"]


def test_a_module_is_asked_for_its_public_names_once(beside):
    asked: list[int] = []

    class Counting(Sandbox):
        def run_all(self, programs, **given):
            asked.append(len(programs))
            return beside.run_all(programs, **given)

    names = PublicNames(Counting())
    assert names(["common", "math"])["common"] == {"SIZE", "double", "string"}
    assert "pi" in names(["math"])["math"]
    assert sum(asked) == 2


def test_names_that_a_module_lists_may_begin_with_an_underscore(tmp_path):
    (tmp_path / "common.py").write_text("__all__ = ['_f', 'os']\nimport os, sys\n_f = 1\ng = 2", "utf-8")
    with Sandbox(path=[tmp_path], n_workers=1) as sandbox:
        assert PublicNames(sandbox)(["common"]) == {"common": {"_f", "os"}}


def test_slow_modules_are_found_where_programs_or_the_modules_beside_them_import_them(tmp_path):
    (tmp_path / "common.py").write_text("import helpers.deep\nimport torch, pandas as pd\n", "utf-8")
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "deep.py").write_text("from common import *\nfrom scipy import (ndimage,\n", "utf-8")
    sources = [
        "from common import *\n",
        "def f():\n    from numpy import array, ones as o\n",
        "# import sympy\nx = 'networkx'",
        "import math, asyncio",
    ]
    assert slow_modules(sources, [str(tmp_path)]) == {"asyncio", "numpy", "pandas", "scipy", "scipy.ndimage"}
    assert slow_modules(sources) == {"asyncio", "numpy"}


@pytest.mark.parametrize(
    "source",
    [
        "import numpy.f2py.__main__",  # it ends the process that imports it
        "from sklearn import conftest",
        f"import {'a' * 300}",
        "from . import a",
        "from .. import a",
        "import " + ".".join("ab" * 150),
    ],
)
def test_nothing_but_well_known_modules_is_imported_ahead_whatever_a_program_says(tmp_path, source):
    assert slow_modules([source], [str(tmp_path), "/"]) <= {"numpy", "sklearn"}


def test_a_package_beside_programs_is_not_imported_ahead(tmp_path):
    (tmp_path / "numpy.py").write_text("import pandas\n", "utf-8")
    assert slow_modules(["import numpy.linalg"], [str(tmp_path)]) == frozenset()
    assert slow_modules(["import numpy"], [str(tmp_path)]) == {"pandas"}


def test_what_is_slow_to_import_is_there_before_the_program_and_not_charged_to_it(tmp_path):
    (tmp_path / "common.py").write_text("from scipy import ndimage\nimport sys\n", "utf-8")
    source = (
        "import sys\nassert 'scipy.ndimage' in sys.modules\nfrom common import *\nprint(ndimage.label([1, 0, 1])[1])"
    )
    with Sandbox(RunLimits(memory_megabytes=100), path=[tmp_path], n_workers=1) as sandbox:
        assert sandbox.run(source).output == "2\n"
        assert sandbox.run("x = bytearray(150 * 2**20)").outcome == "memory"


def test_modules_beside_programs_are_never_imported_where_nothing_is_confined(confined, path):
    (path / "numpy.py").write_text(f"open({str(path / 'made')!r}, 'w')", "utf-8")
    assert confined.run("import numpy\nprint(numpy.ones(2).sum())").detail.startswith("PermissionError")
    assert sorted(file.name for file in path.iterdir()) == ["common.py", "numpy.py"]
