"""The layout keeps its limits: how deep classes stand upon each other, and how wide a folder is."""

from __future__ import annotations

import inspect
import pkgutil
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
