"""Virtualenvs with the real packages of others, which are not installed for development."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.support.repository import REPOSITORY
from tests.support.stores import MODEL


def environment_with(packages: list[str], path: Path) -> Path:
    """Make a virtualenv with these packages. All others, such as ATLAS and its needs, come from this environment."""
    run([sys.executable, "-m", "venv", "--without-pip", path], path.parent)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", path / "bin/python"]
    run([*pip, "install", *packages], path.parent)
    [site_packages] = path.glob("lib/python*/site-packages")
    places = f"{REPOSITORY}\n{sysconfig.get_path('purelib')}\n"
    (site_packages / "others.pth").write_text(places, encoding="utf-8")  # read last, so the packages come first
    return path / "bin/python"


def run(command: list[str | Path], directory: Path) -> str:
    """Return what a program prints."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ATLAS_STORE")}
    environment = {**kept, "ATLAS_EMBEDDING_MODEL": MODEL}
    done = subprocess.run([*map(str, command)], cwd=directory, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
