"""ATLAS installed from its wheel, away from the repository."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.browser.server import GIVE_UP_SECONDS, free_port, wait_until_healthy
from tests.support.repository import REPOSITORY
from tests.support.stores import MODEL


@dataclass(frozen=True)
class Installation:
    """A virtualenv with ATLAS from a wheel. Everything else comes from this environment."""

    path: Path
    directory: Path
    """Working directory of its programs, empty at first."""

    def python(self, program: str) -> str:
        """Run a program and return what it printed."""
        return self._output("python", "-c", program)

    def atlas(self, *words: str) -> str:
        """Run a command and return what it printed."""
        return self._output("atlas", *words)

    @contextmanager
    def serving(self, *words: str) -> Iterator[tuple[int, Path]]:
        """Run a command that serves until the end of the block; its port and the file of what it prints."""
        port = free_port()
        printed = self.path / f"printed-{port}.txt"
        command = [str(self.path / "bin" / "atlas"), *words, "--port", str(port)]
        with printed.open("w") as written:
            process = subprocess.Popen(
                command, cwd=self.directory, env=self._environment(), stdout=written, stderr=written
            )
        try:
            wait_until_healthy(process, port)
            yield port, printed
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(GIVE_UP_SECONDS)

    def _output(self, program: str, *words: str) -> str:
        run = subprocess.run(
            [str(self.path / "bin" / program), *words],
            cwd=self.directory,
            env=self._environment(),
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ATLAS_STORE")}
        return {**kept, "ATLAS_EMBEDDING_MODEL": MODEL}


def install(path: Path) -> Installation:
    """Build the wheel, and install it into a new virtualenv."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(path), str(REPOSITORY)]
    subprocess.run([*pip, *build], check=True)
    [wheel] = path.glob("*.whl")
    environment = path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    subprocess.run([*pip, "--python", python, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    _lend_packages(Path(_site_packages(python)))
    (path / "empty").mkdir()
    return Installation(environment, path / "empty")


def _lend_packages(site_packages: Path) -> None:
    """Put the packages of this environment behind those of another one.

    Files that end in .pth are not read there, so the editable installation of ATLAS is not found through them.
    """
    (site_packages / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


def _site_packages(python: str) -> str:
    program = "import sysconfig; print(sysconfig.get_path('purelib'), end='')"
    return subprocess.run([python, "-c", program], check=True, capture_output=True, text=True).stdout
