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
    return f"{atlas_command()} --store {shlex.quote(str(memory.storage.path.resolve()))} import PATH"


def atlas_command() -> str:
    """Return `atlas`, or its path if it is not on the PATH and the visitor may see paths."""
    path = Path(sys.executable).with_name("atlas")
    needs_path = shutil.which("atlas") is None and path.exists() and may_name_paths()
    return shlex.quote(str(path)) if needs_path else "atlas"
