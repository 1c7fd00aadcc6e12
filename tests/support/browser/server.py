"""The dashboard as a server of its own, and commands as a person would run them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import atlas.cli
from tests.support.repository import REPOSITORY
from tests.support.stores import MODEL
from tests.support.waiting import GIVE_UP_SECONDS

ELSEWHERE = "memory.example"
"""Name of another machine. The test's browser takes it for this one."""

Serve = Callable[[Path], str]
"""Points the dashboard to a store; its address."""


@dataclass(frozen=True)
class AtlasServer:
    """A running `atlas serve`."""

    process: subprocess.Popen[bytes]
    port: int
    output: Path
    """File of its standard output and errors."""

    printed_address: str
    """Address with the token, or nothing for a server without one."""

    @property
    def address(self) -> str:
        """Address without the token."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        """Token in the address that it printed."""
        return self.printed_address.rpartition("=")[2]


@contextmanager
def atlas_serve(store: Path, *arguments: str, port: int = 0, **environment: str) -> Iterator[AtlasServer]:
    """Run `atlas serve` on a store until the end of the block.

    Args:
        arguments: Further ones of the command.
        port: Port to serve on, or 0 for a free one.
        environment: Further variables.
    """
    port = port or free_port()
    output = store.with_name(f"{store.name}-served-{port}.txt")
    command = [sys.executable, "-m", "atlas", "--store", str(store), "serve", "--port", str(port), *arguments]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    with output.open("w") as written:
        process = subprocess.Popen(command, cwd=REPOSITORY, env=surroundings, stdout=written, stderr=written)
    try:
        wait_until_healthy(process, port)
        yield AtlasServer(process, port, output, "".join(re.findall(r"http://\S+token=\S*", output.read_text())))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(GIVE_UP_SECONDS)


@contextmanager
def dashboard(store: Path, **environment: str) -> Iterator[str]:
    """Serve a dashboard of its own on a store; its address."""
    port = free_port()
    process = launch(store, port, environment)
    wait_until_healthy(process, port)
    yield f"http://127.0.0.1:{port}"
    process.send_signal(signal.SIGTERM)
    process.wait(GIVE_UP_SECONDS)


def launch(store: Path, port: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a dashboard on a port."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    surroundings = {**os.environ, "ATLAS_STORE": str(store), **environment}
    return subprocess.Popen(command, cwd=REPOSITORY, env=surroundings)


def wait_until_healthy(process: subprocess.Popen[bytes], port: int) -> None:
    """Return as soon as a dashboard answers."""
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "the dashboard ended before it answered; its output says why"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5):
                return
        except OSError:  # it does not listen yet, or has just begun to
            time.sleep(0.1)
    pytest.fail("the dashboard does not answer")


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def run_atlas(store: Path, *words: str) -> None:
    """Run a command as a person would on a store of the bundled embedding model."""
    with pytest.MonkeyPatch.context() as surroundings:
        surroundings.setenv("ATLAS_EMBEDDING_MODEL", MODEL)
        assert atlas.cli.main(["--store", str(store), *words]) == 0
