"""The command that fills a store, as a page shows it."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from atlas import MemorySystem
from atlas.views.shared.state import may_name_paths


def import_command(memory: MemorySystem) -> str:
    """Return the command that fills this store."""
    return f"{_atlas()} --store {shlex.quote(str(memory.storage.path.resolve()))} import PATH"


def _atlas() -> str:
    """Return the command by name if it is on the PATH, else by path."""
    beside = Path(sys.executable).with_name("atlas")
    is_found = shutil.which("atlas") or not beside.exists()
    return "atlas" if is_found or not may_name_paths() else shlex.quote(str(beside))
