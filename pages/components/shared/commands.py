"""Commands and the address of the server, as a page shows them."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

from atlas import MemorySystem
from atlas.views.shared.state import may_name_paths


def import_command(memory: MemorySystem) -> str:
    """Return the command that fills this store."""
    return f"{atlas_command()} --store {shlex.quote(str(memory.storage.path.resolve()))} import PATH"


def server_address() -> str:
    """Return the address that the visitor's browser opened, without a path."""
    here = urlsplit(st.context.url or "")
    return f"{here.scheme}://{here.netloc}"


def atlas_command() -> str:
    """Return `atlas`, or its path if it is not on the PATH and the visitor may see paths."""
    path = Path(sys.executable).with_name("atlas")
    needs_path = shutil.which("atlas") is None and path.exists() and may_name_paths()
    return shlex.quote(str(path)) if needs_path else "atlas"
