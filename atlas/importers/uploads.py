"""Imports of files that somebody sends instead of naming where they lie."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from atlas.core.settings import Settings
from atlas.importers.run import ImportReport, import_paths
from atlas.importers.sink import MemorySink


def import_contents(sink: MemorySink, files: Mapping[str, bytes], settings: Settings) -> ImportReport:
    """Import files given as their contents, by their names. A row that is refused stops no other."""
    with TemporaryDirectory() as scratch:
        paths = [Path(scratch) / (Path(name).name or "upload") for name in files]
        for path, content in zip(paths, files.values(), strict=True):
            path.write_bytes(content)
        return import_paths(sink, paths, settings=settings)
