"""The command by which an MCP client reaches the memory: over its standard input and output."""

from __future__ import annotations

import argparse
from typing import Any

from atlas.core.settings import Settings


def add_commands(commands: Any) -> None:
    """Declare it."""
    summary = "serve the memory to one MCP client, over standard input and output"
    command = commands.add_parser("mcp", help=summary, description=summary)
    command.set_defaults(run=_mcp)


def _mcp(options: argparse.Namespace, settings: Settings) -> int:
    from atlas.server.mcp import stdio  # which takes longer to import than all else here

    stdio.serve(settings)
    return 0
