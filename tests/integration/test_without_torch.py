"""What an agent, the command line and every page ask by meaning is answered without torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BROUGHT_BY_TORCH = {"torch", "transformers", "sentence_transformers"}

PAGES = sorted(page.stem for page in (REPOSITORY / "pages").glob("*.py") if page.stem != "__init__")

COMMANDS = f"""
import contextlib, io, sys
from atlas.cli import main

def say(what):
    print(what, *sorted({BROUGHT_BY_TORCH} & {{*sys.modules}}))

for command in (
    ["init"],
    ["import", "sample_data/customer_support.jsonl"],
    ["search", "a customer wants to cancel a flight and get the money back"],
    ["concepts", "rotate the grid"],
    ["strategies", "a customer wants a refund"],
    ["journal", "search", "what went wrong with the build"],
):
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(command) == 0, command
    say(command[0])
"""

AGENT = """
import atlas
from atlas import Outcome, Step, Task, Trajectory

with atlas.open_memory() as memory:
    task = Task("t", "", "a customer wants to cancel a flight and get the money back")
    memory.store(Trajectory(task, (Step("look the booking up", "find(1)", "found"),), Outcome(True)))
    say("store")
    assert memory.query_sync(task).experiences
    say("query")
    memory.build_context(task)
    say("context")
"""

DASHBOARD = """
from tests.support.dashboard import page_at

asked = {"scope_text": "cancel a flight", "ask_text": "cancel a flight of a customer"}
for page in sys.argv[1:]:
    app = page_at(page, asked).run()
    assert not app.exception and not app.error, app
    say(page)
"""


def test_nothing_that_is_asked_imports_torch(tmp_path):
    environment = {**os.environ, "ATLAS_STORE": str(tmp_path / "store"), "ATLAS_EMBEDDING_MODEL": "all-MiniLM-L6-v2"}
    run = subprocess.run(
        [sys.executable, "-c", COMMANDS + AGENT + DASHBOARD, *PAGES],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n")[:-1] == [
        *("init", "import", "search", "concepts", "strategies", "journal"),
        *("store", "query", "context"),
        *PAGES,
    ]
