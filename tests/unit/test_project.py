"""What holds for the project as a whole: how fast it is to import, and that its dependencies are locked."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

REPOSITORY = Path(__file__).resolve().parents[2]
ACCELERATOR_PACKAGES = ("cuda-", "nvidia-", "triton")
"""What builds of torch for graphics cards bring in; each build pins its own."""

SLOW_TO_IMPORT = {"anthropic", "chromadb", "plotly", "sentence_transformers", "streamlit", "torch", "umap"}


@pytest.mark.parametrize("module", ["atlas", "atlas.cli"])
def test_importing_it_loads_nothing_slow(module):
    assert SLOW_TO_IMPORT & modules_loaded_by(f"import {module}") == set()


def test_every_dependency_is_locked_at_the_version_installed():
    installed = installed_dependencies()
    locked = locked_versions()
    assert installed == {name: locked.get(name, "not locked") for name in installed}


def modules_loaded_by(statement: str) -> set[str]:
    """Names of the modules in a fresh interpreter that has run the statement."""
    program = f"import sys; {statement}; print(*sys.modules, sep='\\n')"
    command = [sys.executable, "-c", program]
    return set(subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout.split())


def locked_versions() -> dict[str, str]:
    """Name → version, as constraints.txt has them."""
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def installed_dependencies() -> dict[str, str]:
    """Name → public version of everything that atlas-memory and its dev extra bring in here."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [Requirement(line) for line in project["dependencies"] + project["optional-dependencies"]["dev"]]
    found: dict[str, str] = {}
    followed = set()
    while waiting:
        requirement = waiting.pop()
        if str(requirement) not in followed and not requirement.name.startswith(ACCELERATOR_PACKAGES):
            followed.add(str(requirement))
            found[canonicalize_name(requirement.name)] = Version(version(requirement.name)).public
            waiting += needs_of(requirement)
    return found


def needs_of(requirement: Requirement) -> Iterator[Requirement]:
    """What a requirement and its extras need in turn on this platform."""
    for line in requires(requirement.name) or []:
        need = Requirement(line)
        environments = [{"extra": extra} for extra in requirement.extras or {""}]
        if need.marker is None or any(need.marker.evaluate(environment) for environment in environments):
            yield need
