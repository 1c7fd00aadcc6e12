"""MCP over standard input and output, for one client on this machine."""

from __future__ import annotations

import os
import sys

import anyio

from atlas.core.imports.distribution import extra
from atlas.core.settings import Settings
from atlas.server.mcp.opening import Opening
from atlas.server.mcp.server import make_server


def serve(settings: Settings) -> None:
    """Answer a client until it leaves: from the store's directory, or from the server that has the store."""
    if settings.server:
        with extra("mcp", "`atlas mcp` of a server"):
            from atlas.server.mcp.relay import relay  # which the other way does not need

        anyio.run(relay, settings.server, settings.key)
        return
    opening = Opening(settings)
    opening.begin()
    make_server(opening.memory, lambda: opening.is_warm).run("stdio")
    opening.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the usual way out would abort where a thread still makes the model ready
