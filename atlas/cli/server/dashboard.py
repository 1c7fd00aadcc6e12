"""The commands that open the dashboard on this machine, for the user's store or for sample data."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any, NoReturn

import platformdirs

from atlas.cli.common import add_command, open_local
from atlas.cli.server.dashboard_files import dashboard_directory, run_program, sample_directory
from atlas.core.imports.distribution import DIRECTORY, require_extra
from atlas.core.settings import Settings, settings_for_store
from atlas.embedding.choice import BUNDLED
from atlas.importers.sample import is_new, load_sample
from atlas.memory.open import open_storage


def add_commands(commands: Any) -> None:
    """Declare the commands."""
    for name, run in (("dashboard", _dashboard), ("demo", _demo)):
        command = add_command(commands, name, run)
        command.add_argument("--port", type=int, default=8501, help="port to serve it on (default: 8501)")


def _dashboard(options: argparse.Namespace, settings: Settings) -> int:
    require_extra("dashboard", "the dashboard")
    open_storage(settings=settings).close()  # print errors here, and not only on the page
    _show(settings, options.port)


def _demo(options: argparse.Namespace, settings: Settings) -> int:
    require_extra("dashboard", "the dashboard")
    if not options.store:
        directory = platformdirs.user_state_path(DIRECTORY) / "demo"
        settings = replace(settings_for_store(settings, str(directory)), index="", embedding_model=BUNDLED)
    with open_local(settings, create=True) as memory:
        if is_new(memory):
            print(f"filling {memory.storage.location} with sample data …", flush=True)
            load_sample(memory, sample_directory(), settings)
    _show(settings, options.port)


def _show(settings: Settings, port: int) -> NoReturn:
    """Serve the dashboard on 127.0.0.1 until it is stopped. Streamlit prints the URL."""
    run_program(settings, str(dashboard_directory() / "pages" / "alone"), "--server.port", str(port))
