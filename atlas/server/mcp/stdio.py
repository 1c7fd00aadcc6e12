"""MCP over stdio, for one local client."""

from __future__ import annotations

import os
import sys
from functools import partial

from atlas.core.imports.distribution import extra
from atlas.core.settings import Settings
from atlas.server.mcp.handshake import Handshake, answer_handshake


def serve(settings: Settings) -> None:
    """Serve a client until it disconnects, from the local store or a remote server."""
    handshake = answer_handshake(announces_changes=not settings.server)
    if settings.server:
        _serve_remote_store(handshake, settings)
    else:
        _serve_local_store(handshake, settings)


def _serve_remote_store(handshake: Handshake, settings: Settings) -> None:
    with extra("mcp", "`atlas mcp`"):
        import anyio

        from atlas.server.mcp.relay import make_relay
        from atlas.server.mcp.streams import serve_after
    anyio.run(serve_after, handshake, make_relay(settings.server, settings.key))


def _serve_local_store(handshake: Handshake, settings: Settings) -> None:
    with extra("mcp", "`atlas mcp`"):
        import anyio

        from atlas.access.recall_sockets import listen_for_hooks
        from atlas.server.mcp.opening import MemoryOpener, recall_for_hook
        from atlas.server.mcp.server import make_server
    opening = MemoryOpener(settings)
    opening.begin()
    with listen_for_hooks(settings, partial(recall_for_hook, opening)):
        anyio.run(make_server(opening.wait_for_served).run_after, handshake)
    opening.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # a normal exit would abort while a thread is still loading the model
