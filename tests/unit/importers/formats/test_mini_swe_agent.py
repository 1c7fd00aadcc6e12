"""mini-SWE-agent's runs, in the shapes in which its three kinds of models answer."""

from __future__ import annotations

import re

import pytest

from atlas.core.types import Step
from atlas.importers import detect

PROMPT = "Please solve this issue: The parser fails.\n\nYou can execute bash commands and edit files."


def result(text, code, **more):
    return {"content": text, "extra": {"raw_output": text, "returncode": code, "timestamp": 1_767_225_601.5}, **more}


@pytest.fixture
def run():
    """A function from the messages after the prompt to a run's document."""

    def document(*messages, **info):
        model = {"model_name": "a-model"}
        stats = {"instance_cost": 0.02, "api_calls": 2}
        return {
            "info": {"model_stats": stats, "config": {"model": model}, "mini_version": "2.4.6"} | info,
            "messages": [
                {"role": "system", "content": "You have a shell."},
                {"role": "user", "content": PROMPT},
                *messages,
                {"role": "exit", "content": "a diff", "extra": {"exit_status": "Submitted", "submission": "a diff"}},
            ],
            "trajectory_format": "mini-swe-agent-1.1",
        }

    return document


def attempt(files, document):
    path = files.json("a.traj.json", document)
    assert detect(path).name == "mini-swe-agent"
    [row] = files.read("mini-swe-agent", path)
    assert row.reason == ""
    return row.item


def test_commands_in_code_blocks_are_actions_and_the_rest_is_thought(files, run):
    answer = {"role": "assistant", "content": "THOUGHT: Run it.\n\n```mswea_bash_command\npytest -q\n```"}
    failed = {"role": "user", "content": "<returncode>1</returncode>\n<output>\n1 failed\n</output>"}
    found = attempt(files, run(answer, failed, exit_status="Submitted", submission="a diff\n"))
    assert found.task.description == "The parser fails."
    [step] = found.steps
    assert (step.thought, step.action) == ("Run it.", "pytest -q")
    assert step.metadata == {"observation_from": "user", "failed": True}
    assert (found.outcome.success, found.outcome.error_info, found.agent_id) == (None, None, "a-model")
    assert found.metadata["submission"] == found.metadata["solution"] == "a diff"
    assert found.metadata["cost_usd"] == 0.02


def test_tool_calls_are_their_commands(files, run):
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    answer = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Look around.",
        "tool_calls": [call],
        "extra": {
            "actions": [{"command": "ls", "tool_call_id": "c1"}],
            "timestamp": 1_767_225_600.0,
            "response": {"usage": {"prompt_tokens": 100, "completion_tokens": 7}},
        },
    }
    found = attempt(files, run(answer, result("a.py", 0, role="tool", tool_call_id="c1")))
    assert found.steps == (Step("Look around.", "ls", "a.py", {"observation_from": "tool"}),)
    assert found.metadata["tokens"] == {"input": 100, "output": 7}
    assert found.timestamp.isoformat() == "2026-01-01T00:00:01.500000+00:00"


def test_answers_of_the_responses_api_have_no_role(files, run):
    answer = {
        "object": "response",
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look around."}]},
            {"type": "message", "content": [{"type": "output_text", "text": "I list the files."}]},
            {"type": "function_call", "name": "bash", "arguments": '{"command": "ls"}', "call_id": "c1"},
        ],
        "extra": {"actions": [{"command": "ls", "tool_call_id": "c1"}]},
    }
    output = {"type": "function_call_output", "call_id": "c1", "output": "a.py", "extra": {"returncode": 2}}
    [step] = attempt(files, run(answer, output)).steps
    assert (step.thought, step.action, step.observation) == ("Look around.\n\nI list the files.", "ls", "a.py")
    assert step.metadata["failed"] is True


def test_a_run_that_ended_early_names_the_reason(files, run):
    found = attempt(files, run({"role": "assistant", "content": "Hm."}, exit_status="LimitsExceeded"))
    assert (found.outcome.success, found.outcome.error_info) == (None, "LimitsExceeded")


def test_the_same_run_has_the_same_id_in_both_forms(files, run):
    answer = {"role": "assistant", "content": "```mswea_bash_command\nls\n```"}
    document = run(answer)
    bare = files.json("bare.traj.json", document["messages"][:-1])
    assert detect(bare).name == "mini-swe-agent"
    assert files.read("mini-swe-agent", bare)[0].item.id == attempt(files, document).id


BROKEN = {
    "messages of the wrong type": ({"messages": 5}, "expected a list for messages"),
    "a message of the wrong type": ({"messages": [5]}, r"expected an object for messages\[0\]"),
    "no task": ({"messages": [{"role": "assistant", "content": "x"}]}, "a user message with the task"),
    "actions of the wrong type": (
        {"messages": [{"role": "assistant", "content": "x", "extra": {"actions": 5}}]},
        r"expected a list for messages\[0\]\.extra\.actions",
    ),
    "a time out of range": (
        {"messages": [{"role": "user", "content": "x", "extra": {"timestamp": 1e300}}]},
        r"seconds since 1970 for extra\.timestamp, got 1e\+300",
    ),
    "info of the wrong type": ({"info": 5, "messages": []}, "expected an object for info"),
}


@pytest.mark.parametrize(("document", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_run_is_refused_with_the_field(files, document, reason):
    [row] = files.read("mini-swe-agent", files.json("a.traj.json", document))
    assert row.item is None
    assert re.search(reason, row.reason)
