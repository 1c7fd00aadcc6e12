"""The examples: each runs in an empty directory as a user would run it, and stores and prints what it promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import atlas
from tests.support.repository import REPOSITORY
from tests.support.stores import MODEL

EXAMPLES = REPOSITORY / "examples"
LONGEST = 60


def run(directory: Path, *command: str) -> str:
    """Return what a program prints that runs in a directory."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "ATLAS_EMBEDDING_MODEL": MODEL}
    done = subprocess.run([sys.executable, *command], cwd=directory, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def script(name: str) -> str:
    return str(EXAMPLES / f"{name}.py")


def test_an_agent_needs_fewer_tries_with_a_memory(tmp_path):
    lines = run(tmp_path, script("agent_loop")).splitlines()
    assert lines[1:4] == [f"month {month}: 12 tries without memory, 3 with it" for month in ("04", "05", "06")]
    assert lines[-1].endswith("strptime(date, '%Y/%m/%d')")
    with atlas.open_memory(tmp_path / "agent-memory", read_only=True) as memory:
        assert len(memory.experience) == 12


def test_a_graph_learns_from_its_failure(tmp_path):
    assert run(tmp_path, script("langgraph_agent")).splitlines() == [
        "Deploy billing to staging: ['deploy'] failed",
        "Deploy billing to staging: ['migrate', 'deploy'] succeeded",
        "Deploy search to staging: ['migrate', 'deploy'] succeeded",
    ]


def test_a_graph_finds_what_an_earlier_conversation_put(tmp_path):
    assert run(tmp_path, script("langgraph_store")).splitlines()[3:] == [
        "ann What would I like to drink? -> I like green tea.",
        "eve What would I like to drink? -> unknown",
        "[('preferences', 'ann'), ('preferences', 'bob')] ['journal']",
    ]


def test_an_mcp_client_recalls_what_it_stored(tmp_path):
    printed = run(tmp_path, script("mcp_client"))
    assert printed.startswith("tools: add_strategy edit forget history mark note read recall")
    assert "succeeded: Rotate the logs of the crawler before the disk is full" in printed
    assert "store by crawler: 1 added" in printed


def test_logs_are_imported_once_and_without_secrets(tmp_path):
    first, second = run(tmp_path, script("import_logs")), run(tmp_path, script("import_logs"))
    assert first.startswith("3 attempts added, 0 were there already")
    assert second.startswith("0 attempts added, 3 were there already")
    assert "finds:\nThe nightly import fails with 'database is locked'" in first
    with atlas.open_memory(tmp_path / "log-memory", read_only=True) as memory:
        stored = repr(memory.experience.get_many(memory.experience.ids()))
    assert "sk-ant" not in stored
    assert "/home/ann" not in stored


def test_the_notebook_ends_in_a_map_and_a_table(tmp_path):
    (tmp_path / "tour.ipynb").write_bytes((EXAMPLES / "tour.ipynb").read_bytes())
    run(tmp_path, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "executed", "tour.ipynb")
    cells = json.loads((tmp_path / "executed.ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = [output["data"] for cell in cells for output in cell.get("outputs", ()) if "data" in output]
    *_, chart, rates = outputs
    assert chart["application/vnd.plotly.v1+json"]["data"]
    assert rates["text/html"][0].startswith("<div>")
    assert sum("would be removed" in "".join(output.get("text/html", "")) for output in outputs) == 1


def test_the_notebook_is_kept_without_outputs():
    cells = json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))["cells"]
    assert [cell["id"] for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short_and_its_header_says_how_to_run_it(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert f"python {path.name}" in text.partition('"""\n')[0]


def test_the_list_of_examples_is_complete():
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    names = [path.name for path in sorted(EXAMPLES.iterdir()) if path.suffix in (".py", ".ipynb")]
    assert [name for name in names if f"({name})" not in listed] == []
