"""The command that serves the memory: the dashboard, the HTTP API and MCP on one port."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from atlas.cli.common import add_command
from atlas.cli.server.dashboard_files import dashboard_directory, run_program
from atlas.core.imports.distribution import require_extra
from atlas.core.settings import Settings, settings_for_store
from atlas.memory.open import open_storage


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "serve", _serve)
    command.add_argument("--host", default="127.0.0.1", help="address to serve on (default: 127.0.0.1, this machine)")
    command.add_argument("--port", type=int, default=8501, help="port to serve on (default: 8501)")
    command.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="further NAME or NAME:PORT that browsers ask"
    )
    command.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="further store to serve, such as research=/srv/atlas/research",
    )
    command.add_argument("--ask", action="store_true", help="let in keys and sign-ins alone: make no token")
    command.add_argument("--no-token", action="store_true", help="let every user of this machine in without a token")


def _serve(options: argparse.Namespace, settings: Settings) -> int:
    require_extra("server", "`atlas serve`")
    open_storage(settings=settings).close()  # report errors now, and not at the first request
    for text in options.also:  # do not create a store at a mistyped path
        directory = Path(text.rpartition("=")[2]).expanduser()
        open_storage(settings=settings_for_store(settings, str(directory)), create=False).close()
    arguments = ["--host", options.host, "--port", str(options.port)]
    arguments += [flag for flag, is_set in (("--ask", options.ask), ("--no-token", options.no_token)) if is_set]
    for option, values in (("--allow-host", options.allow_host), ("--also", options.also)):
        arguments += [f"{option}={value}" for value in values]
    run_program(settings, str(dashboard_directory() / "pages" / "server"), *arguments)
