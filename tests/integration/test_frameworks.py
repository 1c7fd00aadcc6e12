"""The examples for frameworks run against the real packages, each in a virtualenv of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from tests.support.stores import MODEL

EXAMPLES = {
    "dspy_retrieval": (["dspy"], "  Noted: Refunds above 500 need a manager."),
    "langgraph_store": (
        ["langgraph", "langchain-core"],
        "[('preferences', 'ann'), ('preferences', 'bob')] ['journal']",
    ),
    "openai_agents_memory": (["openai-agents"], "True I ask the manager first."),
    "openai_client": (["openai"], "1 remembered. Refunds above 500 need a manager."),
    "pydantic_ai_memory": (["pydantic-ai-slim"], "<atlas-memory> True"),
}
"""What each example needs, and the last line that it prints."""


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_with_the_latest_release_of_its_framework(example: str, tmp_path: Path):
    packages, last_line = EXAMPLES[example]
    python = environment_with(packages, tmp_path / "environment")
    assert run([python, REPOSITORY / "examples" / f"{example}.py"], tmp_path).splitlines()[-1] == last_line


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
