"""Running a module in a child process, without importing from the working directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module without importing from the working directory (`-P`)."""
    return [sys.executable, "-P", "-W", "ignore", "-m", module, *arguments]


def import_environment() -> dict[str, str]:
    """Return an environment in which a child imports from the same places as this process."""
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)
    return {**os.environ, "PYTHONPATH": path}
