"""The command that serves one MCP client over stdin and stdout."""

from __future__ import annotations

import argparse
from typing import Any

from atlas.cli.common import add_command, add_scope_option
from atlas.core.errors import InvalidInput
from atlas.core.filters import scope_metadata
from atlas.core.imports.distribution import require_extra
from atlas.core.settings import Settings
from atlas.infra.actor import acting_in_scope
from atlas.server.mcp import stdio


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "mcp", _mcp)
    add_scope_option(command, "let the client read and write only records of a scope")


def _mcp(options: argparse.Namespace, settings: Settings) -> int:
    require_extra("mcp", "`atlas mcp`")
    scope = scope_metadata(options.scope)
    if scope and settings.server:
        raise InvalidInput(
            "--scope is for a local store; give the server's key a scope instead: atlas keys add --scope"
        )
    with acting_in_scope(settings.actor, scope):
        stdio.serve(settings)
    return 0
