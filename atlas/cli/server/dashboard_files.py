"""Location of the dashboard's files, and replacement of this process by one of the dashboard's programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import atlas
from atlas.core.errors import StoreUnavailable
from atlas.core.imports.distribution import NAME
from atlas.core.settings import Settings

_PACKAGE = Path(atlas.__file__).parent


def dashboard_directory() -> Path:
    """Return the directory that contains `app.py`, `pages` and `sample_data`, in the installed package or a checkout.

    Raises:
        StoreUnavailable: Neither contains these files.
    """
    directories = (_PACKAGE / "dashboard", _PACKAGE.parent)
    for directory in directories:
        if (directory / "app.py").is_file() and (directory / "pages").is_dir():
            return directory
    raise StoreUnavailable(
        f"expected the dashboard in {' or '.join(map(str, directories))}, but app.py and pages are in neither; "
        f"install it again: pip install --force-reinstall '{NAME}[dashboard]'"
    )


def sample_directory() -> Path:
    """Return the directory of the sample data."""
    return dashboard_directory() / "sample_data"


def run_program(settings: Settings, *arguments: str) -> NoReturn:
    """Replace this process by a Python program on a store. It imports nothing from the working directory (`-P`)."""
    os.environ["ATLAS_STORE"] = settings.address or str(settings.directory)
    if settings.index:
        os.environ["ATLAS_INDEX"] = settings.index
    os.execv(sys.executable, [sys.executable, "-P", *arguments])
