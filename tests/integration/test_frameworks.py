"""The examples for frameworks run against the real packages, each in a virtualenv of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.environments import environment_with, run
from tests.support.repository import REPOSITORY

EXAMPLES = {
    "autogen_memory": (["autogen-agentchat", "autogen-ext"], "True I ask the manager first."),
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
