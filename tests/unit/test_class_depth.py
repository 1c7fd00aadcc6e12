"""No class is more than three classes of ATLAS deep."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module

import atlas

MOST = 3


def test_no_class_is_more_than_three_classes_deep():
    assert {f"{one.__module__}.{one.__qualname__}": depth(one) for one in classes() if depth(one) > MOST} == {}


def classes() -> Iterator[type]:
    """Yield every class that a module of atlas defines."""
    for found in pkgutil.walk_packages(atlas.__path__, "atlas."):
        if not found.name.endswith("__main__"):
            module = import_module(found.name)
            yield from (one for _, one in inspect.getmembers(module, inspect.isclass) if one.__module__ == found.name)


def depth(one: type) -> int:
    """Return how many classes of atlas stand one upon the other up to this one, itself among them."""
    return one.__module__.startswith("atlas.") + max(map(depth, one.__bases__), default=0)
