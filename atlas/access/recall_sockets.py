"""Unix sockets through which hooks query a process that already has the store open.

Opening a store and its embedding model takes a second or more at each prompt, but a client's own `atlas mcp` has done
so already. Each such process listens on a socket in a directory that only its user can enter.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import platformdirs

from atlas.core.imports.distribution import DIRECTORY
from atlas.core.settings import Settings
from atlas.infra.actor import acting, actor_scope, current_actor

logger = logging.getLogger(__name__)

RequestHandler = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Function that returns the response to a request, both as JSON objects."""

TIMEOUT_SECONDS = 3.0
"""Total timeout of a hook for all responses."""

MAX_BYTES = 2**20
"""Maximum size of requests and responses."""


@contextmanager
def listen_for_hooks(settings: Settings, answer: RequestHandler) -> Iterator[None]:
    """Answer the hooks of a store on a socket, in background threads, until the block ends.

    If the socket cannot be created, this is logged, and the block runs without it.
    """
    path = socket_directory() / f"{_socket_name(settings, actor_scope())}-{os.getpid()}.sock"
    actor = current_actor()

    def answer_as_actor(request: Mapping[str, Any]) -> Mapping[str, Any]:
        with acting(actor) if actor is not None else nullcontext():
            return answer(request)

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        server = _Server(str(path), answer_as_actor)
    except (OSError, AttributeError) as error:
        logger.info("hooks cannot reach this process: %s", error)
        yield
        return
    threading.Thread(target=server.serve_forever, name="atlas-hooks", daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        path.unlink(missing_ok=True)


def query_open_process(
    settings: Settings, scope: Mapping[str, str], request: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Send a request to a process that has opened the store. Return its response, or None if none answers in time.

    Args:
        scope: Scope of the process, such as `{"project": "shop"}`. Empty for a process that reads all records.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    for path in sorted(socket_directory().glob(f"{_socket_name(settings, scope)}-*.sock"), key=_negative_mtime):
        if time.monotonic() >= deadline:
            break
        try:
            return _query_socket(path, request, deadline - time.monotonic())
        except (ConnectionRefusedError, FileNotFoundError):
            with suppress(OSError):
                path.unlink()  # left over from a killed process
        except (OSError, ValueError, AttributeError) as error:
            logger.info("%s does not answer: %s", path, error)
    return None


def _query_socket(path: Path, request: Mapping[str, Any], timeout_seconds: float) -> Mapping[str, Any]:
    """Send a request to the process that listens on a socket, and return its response."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(max(timeout_seconds, 0.01))
        connection.connect(str(path))
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as incoming:
            response = json.loads(incoming.readline(MAX_BYTES))
    if not isinstance(response, dict):
        raise ValueError(f"expected a JSON object for a response, got type {type(response).__name__}")
    return response


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A server with one request per connection."""

    address_family = getattr(socket, "AF_UNIX", socket.AF_UNSPEC)
    daemon_threads = True

    def __init__(self, path: str, answer: RequestHandler) -> None:
        self.answer = answer
        super().__init__(path, _Connection)  # type: ignore[arg-type]

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.warning("a hook could not be answered", exc_info=True)


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        request = json.loads(self.rfile.readline(MAX_BYTES))
        self.wfile.write(json.dumps(self.server.answer(request)).encode() + b"\n")


def socket_directory() -> Path:
    """Return the directory of the sockets, which only this user can enter."""
    return platformdirs.user_state_path(DIRECTORY) / "hooks"


def _socket_name(settings: Settings, scope: Mapping[str, str]) -> str:
    store = settings.address or str(settings.directory.expanduser().resolve())
    return hashlib.sha256(json.dumps([store, sorted(scope.items())]).encode()).hexdigest()[:16]


def _negative_mtime(path: Path) -> float:
    with suppress(OSError):
        return -path.stat().st_mtime
    return 0.0
