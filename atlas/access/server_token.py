"""The token of a server on the local machine.

The server prints it as a part of its URL. The token is stored in the store's directory, in a file that only its owner
can read. A per-user file maps the server's port to that file, so that programs of the same user find the token by URL.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from atlas.core.imports.distribution import DIRECTORY
from atlas.infra.durable_files import replace_durably

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Loopback names and addresses."""

_SECRET = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """URL of a server, and the secret for its requests."""

    address: str
    secret: str = field(repr=False)
    """A key or the server's token, or empty for none."""

    is_local: bool
    """True for a local server, for which a proxy in the environment is ignored."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of every request."""
        return {"Authorization": f"Bearer {self.secret}"} if self.secret else {}


@dataclass(frozen=True, slots=True)
class _Server:
    """A running server of this user on this machine."""

    host: str
    token: str


def make_token() -> str:
    """Return a new token of 256 random bits."""
    return secrets.token_hex(32)


def token_file_name(port: int) -> str:
    """Return the name of the token file of the server on a port."""
    return f"token-{port}"


def local_address(host: str, port: int) -> str:
    """Return the URL of a local server."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def publish_token(token: str, store: Path, host: str, port: int) -> Iterator[Path]:
    """Write a server's token to a file that this user's programs can read. Yield the file, and remove it at the end.

    Files of an earlier server on the port are replaced, and those of a later one are not removed.

    Args:
        store: The store's directory, or the local directory for a store in a database.
        host: Address that the server listens on, not a name.
        port: Port that the server listens on, which no other process has.

    Raises:
        OSError: One of the files cannot be written.
    """
    file, entry = store / token_file_name(port), _entry_path(port)
    entry_text = json.dumps({"host": host, "pid": os.getpid(), "token_file": str(file.absolute())})
    try:
        replace_durably(file, token, mode=0o600)
        entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_durably(entry, entry_text, mode=0o600)
        yield file
    finally:
        for path, text in ((entry, entry_text), (file, token)):
            with suppress(OSError):
                if path.read_text(encoding="utf-8") == text:
                    path.unlink()


def remove_server_entry(port: int) -> None:
    """Remove the record of an earlier server on a port. A server without a token calls this when it starts."""
    with suppress(OSError):
        _entry_path(port).unlink()


def endpoint(address: str, key: str = "") -> Endpoint:
    """Return the endpoint of a server, with the key as its secret. Without a key, use the token of this user's server.

    The token is only sent to the address that the server listens on, as `localhost` may resolve to another program on
    the same port.

    Args:
        address: Such as `http://127.0.0.1:8501`.
        key: A key of the server, or an empty string.
    """
    try:
        parts = urlsplit(address)
        port = parts.port or 80
    except ValueError:
        return Endpoint(address, key, is_local=False)
    is_local = parts.scheme == "http" and parts.hostname in LOOPBACK
    server = _running_server(port) if is_local and not key else None
    if server is None or parts.hostname not in (server.host, "localhost"):
        return Endpoint(address, key, is_local)
    return Endpoint(local_address(server.host, port), server.token, is_local)


def _running_server(port: int) -> _Server | None:
    """Return the server of this user on a port, or None if no server with a token runs there."""
    with suppress(OSError, ValueError, TypeError, KeyError, OverflowError):
        entry = json.loads(_entry_path(port).read_text(encoding="utf-8"))
        os.kill(entry["pid"], 0)  # raises OSError if this user has no such process
        token = Path(entry["token_file"]).read_text(encoding="utf-8")
        if _SECRET.fullmatch(token) and entry["host"] in LOOPBACK:
            return _Server(entry["host"], token)
    return None


def _entry_path(port: int) -> Path:
    return platformdirs.user_state_path(DIRECTORY) / "servers" / f"{port}.json"
