"""OpenHands' events as attempts, one for each request."""

from __future__ import annotations

import pytest

from atlas.core.types import Step
from atlas.importers import detect


def event(number, source, **fields):
    return {"id": number, "timestamp": f"2026-04-01T09:00:{number:02}", "source": source, "message": "", **fields}


def asked(number, text):
    return event(number, "user", action="message", args={"content": text, "wait_for_response": False})


def called(name, arguments, thought):
    message = {"tool_calls": [{"id": "c1", "function": {"name": name, "arguments": arguments}}]}
    response = {
        "id": "r1",
        "usage": {"prompt_tokens": 100, "completion_tokens": 7},
        "model": "a-model",
        "choices": [{"message": message}],
    }
    metadata = {"function_name": name, "tool_call_id": "c1", "model_response": response}
    return {"tool_call_metadata": metadata, "args": {"command": "pytest", "thought": thought, "hidden": False}}


@pytest.fixture
def events():
    return [
        event(0, "environment", observation="agent_state_changed", content="", extras={"agent_state": "running"}),
        asked(1, "Fix the parser"),
        event(2, "agent", action="recall", args={"query": "Fix the parser"}),
        event(3, "agent", action="run", **called("execute_bash", '{"command": "pytest"}', "Run it.")),
        event(4, "agent", cause=3, observation="run", content="1 failed", extras={"metadata": {"exit_code": 1}}),
        event(5, "agent", action="finish", args={"thought": "It is fixed."}),
        asked(6, "Now stop"),
        event(7, "agent", action="think", args={"thought": "I wonder."}),
        event(8, "agent", action="edit", args={"path": "/a.py", "thought": "", "security_risk": -1}),
        event(9, "agent", cause=8, observation="error", content="no such file"),
        event(10, "environment", observation="agent_state_changed", extras={"agent_state": "error", "reason": "Stuck"}),
    ]


def attempts(files, events):
    return [row.item for row in files.read("openhands", files.json("run.json", events)) if row.item]


def test_each_request_is_an_attempt_of_unknown_outcome(files, events):
    assert detect(files.json("run.json", events)).name == "openhands"
    first, second = attempts(files, events)
    assert first.task.description == "Fix the parser"
    assert first.steps == (
        Step(
            "Run it.",
            'execute_bash({"command": "pytest"})',
            "1 failed",
            {"observation_from": "tool execute_bash", "failed": True},
        ),
        Step("", "It is fixed."),
    )
    assert (first.outcome.success, first.outcome.error_info, first.agent_id) == (None, None, "a-model")
    assert first.metadata["tokens"] == {"input": 100, "output": 7}
    assert first.timestamp.isoformat() == "2026-04-01T09:00:05+00:00"
    assert (second.outcome.success, second.outcome.error_info) == (None, "Stuck")
    assert second.metadata["follows"] == first.id


def test_an_action_without_a_tool_call_shows_the_arguments_of_the_agent(files, events):
    _, second = attempts(files, events)
    assert second.steps[0].thought == "I wonder."
    assert second.steps[1] == Step(
        "", 'edit({"path": "/a.py"})', "no such file", {"observation_from": "tool edit", "failed": True}
    )


BROKEN = {
    "a number": 5,
    "neither an action nor an observation": event(5, "agent"),
    "arguments of the wrong type": event(5, "agent", action="run", args=5),
    "extras of the wrong type": event(5, "agent", cause=3, observation="run", content="", extras=5),
    "content of the wrong type": event(5, "agent", cause=3, observation="run", content=5),
    "a time of the wrong type": event(5, "agent", action="run", args={}) | {"timestamp": 5},
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_event_costs_itself_only(files, events, broken):
    rows = files.read("openhands", files.json("run.json", [*events[:4], broken, *events[4:]]))
    assert [row.position for row in rows if row.item is None] == [5]
    assert [row.item.task.description for row in rows if row.item] == ["Fix the parser", "Now stop"]


def test_events_before_any_request_are_refused(files, events):
    [row] = files.read("openhands", files.json("run.json", [events[3]]))
    assert "answers a request that is not in the file" in row.reason
