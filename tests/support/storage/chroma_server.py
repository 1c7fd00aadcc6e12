"""A ChromaDB server for tests: `chroma run`, on a port of its own that only this machine reaches."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UP_SECONDS = 60.0


class ChromaServer:
    """A server that may be killed and started again, over the same files and on the same port."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.address = f"chroma+http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = Path(sys.executable).with_name("chroma")
        place = ["--path", str(self.directory), "--host", "127.0.0.1", "--port", str(self.port)]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen([str(command), "run", *place], stdout=log, stderr=log, cwd=self.directory)
        until = time.monotonic() + UP_SECONDS
        while not self._answers():
            assert self._process.poll() is None, (self.directory / "log").read_text()
            assert time.monotonic() < until, "the server of ChromaDB does not start"
            time.sleep(0.05)

    def kill(self) -> None:
        """End it as a machine does that loses its power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def running(directory: Path) -> Iterator[ChromaServer]:
    """A server that runs as long as the block."""
    directory.mkdir(parents=True, exist_ok=True)
    server = ChromaServer(directory)
    server.start()
    try:
        yield server
    finally:
        server.kill()
