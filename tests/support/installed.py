"""ATLAS in a virtualenv of its own: from its wheel, or beside a choice of packages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from tests.support.browser.server import free_port, wait_until_healthy
from tests.support.repository import REPOSITORY
from tests.support.stores import MODEL
from tests.support.waiting import GIVE_UP_SECONDS


@dataclass(frozen=True)
class Installation:
    """A virtualenv with ATLAS."""

    path: Path
    command: tuple[str, ...]
    """Beginning of each command of `atlas`, in the directory of its programs."""

    directory: Path
    """Working directory of what is run, empty at first."""

    @property
    def site_packages(self) -> Path:
        """Directory of its packages."""
        [directory] = self.path.glob("lib/python*/site-packages")
        return directory

    def python(self, program: str) -> str:
        """Run a program and return what it printed."""
        return self._output("python", "-c", program)

    def atlas(self, *words: str) -> str:
        """Run a command and return what it printed."""
        return self._output(*self.command, *words)

    def refused(self, *words: str) -> str:
        """Run a command that fails, and return what it printed as its error."""
        run = self._run(*self.command, *words)
        assert run.returncode == 1, run.stdout
        return run.stderr

    @contextmanager
    def serving(self, *words: str) -> Iterator[tuple[int, Path]]:
        """Run a command that serves until the end of the block; its port and the file of what it prints."""
        port = free_port()
        printed = self.path / f"printed-{port}.txt"
        command = self._command(*self.command, *words, "--port", str(port))
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

    def _output(self, *words: str) -> str:
        run = self._run(*words)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*words), cwd=self.directory, env=self._environment(), capture_output=True, text=True
        )

    def _command(self, program: str, *words: str) -> list[str]:
        return [str(self.path / "bin" / program), *words]

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ATLAS_STORE")}
        return {**kept, "ATLAS_EMBEDDING_MODEL": MODEL, "XDG_STATE_HOME": str(self.path / "state")}


def install(path: Path) -> Installation:
    """Build the wheel, and install it into a new virtualenv. Everything else comes from this environment."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(path), str(REPOSITORY)]
    subprocess.run([*pip, *build], check=True)
    [wheel] = path.glob("*.whl")
    installation = _environment_in(path, "atlas")
    into = ["--python", str(installation.path / "bin" / "python"), "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, *into, str(wheel)], check=True)
    # Files that end in .pth are not read there, so the editable installation of ATLAS is not found.
    (installation.site_packages / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return installation


def lend(path: Path, distributions: Iterable[str]) -> Installation:
    """Make a virtualenv that has ATLAS from the repository, and of all other packages those of some distributions."""
    installation = _environment_in(path, "python", "-m", "atlas")
    files = {file for name in distributions for file in distribution(name).files or () if file.parts[0] != ".."}
    for name in {file.parts[0] for file in files} - {"__pycache__"}:
        source = Path(sysconfig.get_path("purelib")) / name
        (installation.site_packages / name).symlink_to(source)
    (installation.site_packages / "repository.pth").write_text(f"{REPOSITORY}\n", encoding="utf-8")
    return installation


def _environment_in(path: Path, *command: str) -> Installation:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(path / "environment")], check=True)
    (path / "empty").mkdir()
    return Installation(path / "environment", command, path / "empty")
