"""Lazy imports of a package's names, and of whole modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Mapping[str, Collection[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__all__`, `__getattr__` and `__dir__` of a package that imports its modules on first use.

    Args:
        modules: The names that the package takes from each module. For type checkers, the package also imports them
            under `TYPE_CHECKING`.
    """
    modules_by_name = {name: module for module, names in modules.items() for name in names}
    public_names = sorted(modules_by_name)

    def import_name(name: str) -> Any:
        if name not in modules_by_name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules_by_name[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return public_names, import_name, lambda: public_names


class LazyModule:
    """A module that is imported on first use, for slow imports that may not be needed.

    Type checkers read the import under `TYPE_CHECKING`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return a name of the module."""
        return getattr(import_module(self._name), attribute)
