"""Modules that are slow to import, and so are imported once for all programs of a run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

SLOW_MODULES = frozenset(
    [
        *("networkx", "numpy", "pandas", "sympy", "PIL", "PIL.Image", "PIL.ImageDraw", "scipy", "skimage", "sklearn"),
        *(f"scipy.{part}" for part in ("interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial")),
        *("scipy.special", "scipy.stats", "skimage.measure", "skimage.morphology", "skimage.segmentation"),
        *(f"sklearn.{part}" for part in ("cluster", "linear_model", "metrics", "preprocessing")),
        *("ast", "asyncio", "calendar", "concurrent.futures", "dataclasses", "datetime", "decimal", "fractions"),
        *("http.client", "inspect", "logging", "pprint", "statistics", "unittest", "unittest.mock", "urllib.request"),
    ]
)
"""Well-known modules whose import takes 4 ms or more, and has no side effects. Others are imported only in forks."""

MAX_FILES = 64
"""Largest number of modules next to the programs whose imports are read."""

MAX_CHARACTERS = 1_000_000
MAX_NAME_CHARACTERS = 200
"""Longest module name. File systems permit no longer one."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w, \t]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)


def slow_modules(sources: Iterable[str], path: Sequence[str] = ()) -> frozenset[str]:
    """Return the modules of `SLOW_MODULES` that programs import, directly or through modules in `path`.

    Args:
        path: Directories of modules that the programs may import.
    """
    unread_sources = [*dict.fromkeys(sources)]
    read_modules = set[str]()
    slow = set[str]()
    while unread_sources:
        for name in _imported_names(unread_sources.pop()):
            if name in read_modules or len(read_modules) >= MAX_FILES:
                continue
            if (file := _find_module_file(name, path)) is not None:
                read_modules.add(name)
                unread_sources.append(_read_start(file))
            elif _find_module_file(name.partition(".")[0], path) is None:
                slow |= SLOW_MODULES & _with_packages(name)
    return frozenset(slow)


def _with_packages(name: str) -> set[str]:
    """Return a module's name and the names of its parent packages."""
    parts = name.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts) + 1)}


def _imported_names(source: str) -> Iterator[str]:
    for module, names, modules in _IMPORT.findall(source):
        if module and not module.startswith("."):  # a relative name does not identify a file
            yield module
            yield from (f"{module}.{name.split()[0]}" for name in names.split(",") if name.strip())
        yield from (name.split()[0] for name in modules.split(",") if name.strip())


def _find_module_file(name: str, path: Sequence[str]) -> Path | None:
    """Return the file of a module in one of the directories."""
    if len(name) > MAX_NAME_CHARACTERS:
        return None
    files = [
        file
        for directory in path
        for file in (
            Path(directory, f"{name.replace('.', os.sep)}.py"),
            Path(directory, *name.split("."), "__init__.py"),
        )
    ]
    return next((file for file in files if file.is_file()), None)


def _read_start(file: Path) -> str:
    """Return the beginning of a module's text, or an empty string if it cannot be read."""
    with suppress(OSError), file.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(MAX_CHARACTERS)
    return ""
