"""Modules that are slow to import, and are imported once for all programs of a run that name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

PACKAGES = frozenset({"networkx", "numpy", "pandas", "PIL", "scipy", "skimage", "sklearn", "sympy"})
"""Well-known packages, which do nothing but define when they are imported. No other is imported outside of a fork."""

IN_PARTS = frozenset({"PIL", "scipy", "skimage", "sklearn"})
"""Packages whose parts are modules that the package itself does not import, or not always."""

MAX_MODULES = 100
MAX_FILES = 64
"""Modules beside programs that are read for what they import."""

MAX_CHARACTERS = 1_000_000

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w, \t]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)


def slow_modules(sources: Iterable[str], path: Sequence[str] = ()) -> frozenset[str]:
    """Return those modules of `PACKAGES` that programs name in imports, with those that the modules beside them name.

    Some may not exist: what `from scipy import ndimage` brings may be a module, or not.

    Args:
        path: Directories of the modules beside the programs.
    """
    waiting, seen, found = [*dict.fromkeys(sources)], set[str](), set[str]()
    while waiting:
        for name in _imported(waiting.pop()):
            top = name.partition(".")[0]
            if top in PACKAGES:
                found.add(name)
            elif name not in seen and len(seen) < MAX_FILES and (file := _beside(name, path)) is not None:
                seen.add(name)
                waiting.append(_start_of(file))
    return frozenset(sorted(found)[:MAX_MODULES])


def _imported(source: str) -> Iterator[str]:
    for module, names, modules in _IMPORT.findall(source):
        if module:
            yield module
        if module.partition(".")[0] in IN_PARTS:
            yield from (f"{module}.{name.split()[0]}" for name in names.split(",") if name.strip())
        yield from (name.split()[0] for name in modules.split(",") if name.strip())


def _beside(name: str, path: Sequence[str]) -> Path | None:
    """Return the file of a module in one of the directories."""
    places = [Path(directory, *name.split(".")) for directory in path]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return next((file for file in files if file.is_file()), None)


def _start_of(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as opened:
        return opened.read(MAX_CHARACTERS)
