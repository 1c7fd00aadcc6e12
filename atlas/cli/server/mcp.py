"""The command by which an MCP client reaches the memory: over its standard input and output."""

from __future__ import annotations

import argparse
from typing import Any

from atlas.cli.common import add_command
from atlas.core.imports.distribution import require
from atlas.core.settings import Settings
from atlas.server.mcp import stdio


def add_commands(commands: Any) -> None:
    """Declare the command."""
    add_command(commands, "mcp", _mcp)


def _mcp(options: argparse.Namespace, settings: Settings) -> int:
    require("mcp", "`atlas mcp`")
    stdio.serve(settings)
    return 0
