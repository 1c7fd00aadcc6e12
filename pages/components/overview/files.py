"""Size of a store on disk."""

from __future__ import annotations

from pathlib import Path


def n_bytes(directory: Path) -> int:
    """Return what the files of a directory take on disk."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # gone between being listed and being looked at
            continue
    return total
