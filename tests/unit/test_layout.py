"""The layout keeps its limits: how deep classes stand upon each other, how wide a folder is, what tests import."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import atlas
from tests.support.repository import REPOSITORY

MOST = 3
WIDEST = 16


def test_no_class_is_more_than_three_classes_deep():
    assert {f"{one.__module__}.{one.__qualname__}": depth(one) for one in classes() if depth(one) > MOST} == {}


def test_no_folder_of_modules_is_wider_than_sixteen():
    folders = {path.parent for top in ("atlas", "benchmarks", "pages") for path in (REPOSITORY / top).rglob("*.py")}
    assert {str(folder): width(folder) for folder in folders if width(folder) > WIDEST} == {}


def test_the_page_on_architecture_lists_the_layers_that_the_import_rules_check():
    page = REPOSITORY / "docs/explanation/architecture.md"
    listed = re.findall(r"^\d+\. \*\*([^*]+)\*\*", page.read_text(encoding="utf-8"), re.MULTILINE)
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    [rule] = [contract for contract in contracts["contracts"] if contract["id"] == "layers"]
    layers = [{name.strip(" ()") for name in layer.split("|")} - {"testing"} for layer in rule["layers"]]
    assert [set(row.split(" · ")) for row in listed] == layers


def test_tests_import_nothing_of_each_other():
    """What several of them need is in `tests/support`."""
    files = sorted((REPOSITORY / "tests").rglob("*.py"))
    imported = [(file.relative_to(REPOSITORY).as_posix(), module) for file in files for module in find_imports(file)]
    assert [(file, module) for file, module in imported if is_of_a_test(module)] == []


def test_a_conftest_holds_fixtures_and_hooks_only():
    """Functions and classes that tests call or name are in `tests/support`."""
    files = sorted((REPOSITORY / "tests").rglob("conftest.py"))
    defined = [(file.parent.name, node) for file in files for node in ast.parse(file.read_text(encoding="utf-8")).body]
    defined = [(where, node) for where, node in defined if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert [(where, node.name) for where, node in defined if not is_fixture_or_hook(node)] == []


def is_fixture_or_hook(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return node.name.startswith("pytest_") or any(
        ast.unparse(decorator).startswith("pytest.fixture") for decorator in node.decorator_list
    )


def find_imports(file: Path) -> list[str]:
    """Return the modules that a file imports, also in programs that it holds as text."""
    return re.findall(r"^ *(?:from|import) +([\w.]+)", file.read_text(encoding="utf-8"), re.MULTILINE)


def is_of_a_test(module: str) -> bool:
    """Return whether a module is a test, a conftest, or anything of the tests but their support."""
    parts = module.split(".")
    is_named_as_one = any(part == "conftest" or part.startswith("test_") for part in parts)
    return is_named_as_one or (parts[0] == "tests" and parts[1:2] != ["support"])


def width(folder: Path) -> int:
    """Return how many modules a folder holds beside its `__init__`."""
    return sum(path.name != "__init__.py" for path in folder.glob("*.py"))


def classes() -> Iterator[type]:
    """Yield every class that a module of atlas defines."""
    for found in pkgutil.walk_packages(atlas.__path__, "atlas."):
        if not found.name.endswith("__main__"):
            module = import_module(found.name)
            yield from (one for _, one in inspect.getmembers(module, inspect.isclass) if one.__module__ == found.name)


def depth(one: type) -> int:
    """Return how many classes of atlas stand one upon the other up to this one, itself among them."""
    return one.__module__.startswith("atlas.") + max(map(depth, one.__bases__), default=0)
