"""Small inputs of each format, and a sink that keeps what it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.importing import Files, KeepingSink


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def sink() -> KeepingSink:
    return KeepingSink()


@pytest.fixture
def tau_row():
    """A function from what differs to a τ-bench row."""

    def row(**changes: Any) -> dict[str, Any]:
        called = {"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": '{"id": "R1"}'}}
        return {
            "task_id": 3,
            "reward": 1.0,
            "trial": 2,
            "info": {
                "task": {"user_id": "ann", "instruction": "Cancel booking R1.", "actions": [], "outputs": ["R1"]},
                "source": "user",
            },
            "traj": [
                {"role": "system", "content": "A long policy."},
                {"role": "user", "content": "Hello, please cancel."},
                {"role": "assistant", "content": "Which one?"},
                {"role": "user", "content": "R1"},
                {"role": "assistant", "content": "Let me do it.", "tool_calls": [called]},
                {"role": "tool", "name": "cancel", "tool_call_id": "c1", "content": "done"},
                {"role": "assistant", "content": "It is cancelled."},
                {"role": "user", "content": "###STOP###"},
            ],
        } | changes

    return row


@pytest.fixture
def mbpp_row():
    """A function from what differs to a row of Reflexion's MBPP log."""

    def row(**changes: Any) -> dict[str, Any]:
        return {
            "name": "mbpp_9_double",
            "language": "py",
            "prompt": 'def double(n: int) -> int:\n    """\n\tWrite a function to double n.\n\t"""\n',
            "entry_point": "double",
            "test": "assert double(2) == 4",
            "solution": "def double(n):\n    return 2 * n",
            "is_solved": True,
            "reflections": ["I added instead."],
        } | changes

    return row


@pytest.fixture
def inspect_log():
    """A function from samples and what differs to an Inspect log."""

    def log(*samples: Any, **changes: Any) -> dict[str, Any]:
        header = {"task": "sums", "model": "some/model", "created": "2025-02-11T15:17:00-05:00"}
        return {"version": 2, "status": "success", "eval": header, "plan": {}, "samples": list(samples)} | changes

    return log


@pytest.fixture
def sample():
    """A function from what differs to an Inspect sample."""

    def make(**changes: Any) -> dict[str, Any]:
        return {
            "id": 1,
            "epoch": 1,
            "input": "What is 1 + 1?",
            "target": "2",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "What is 1 + 1?", "source": "input"},
                {"role": "assistant", "content": "2", "source": "generate"},
            ],
            "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "2"}}]},
            "scores": {"match": {"value": "C", "answer": "2", "explanation": "exactly so"}},
        } | changes

    return make
