"""Copilot CLI's events as attempts, one for each request."""

from __future__ import annotations

import pytest

from atlas.core.types import Step
from atlas.importers import detect


def event(kind, second, **data):
    return {"type": kind, "id": f"e{second}", "timestamp": f"2026-04-01T09:00:{second:02}.000Z", "data": data}


@pytest.fixture
def events():
    call = {"toolCallId": "t1", "name": "bash", "arguments": {"command": "pytest"}}
    return [
        event("session.start", 0, sessionId="s1", copilotVersion="1.0", context={"cwd": "/work", "branch": "main"}),
        event("user.message", 1, content="Fix the parser", transformedContent="<now/>Fix the parser"),
        event("assistant.turn_start", 2, turnId="0"),
        event("assistant.message", 3, content="I run it.", toolRequests=[call]),
        event("tool.execution_start", 4, toolCallId="t1", toolName="bash"),
        event(
            "tool.execution_complete", 5, toolCallId="t1", model="a-model", success=False, error={"message": "exit 1"}
        ),
        event("assistant.message", 6, content="It is fixed.", toolRequests=[]),
        event("user.message", 7, content="Now stop"),
        event("assistant.message", 8, content="I began.", toolRequests=[]),
        event("abort", 9, reason="user initiated"),
        event("user.message", 10, content="Not answered"),
    ]


def attempts(files, events):
    return [row.item for row in files.read("copilot", files.lines("s.jsonl", events)) if row.item]


def test_each_answered_request_is_an_attempt_of_unknown_outcome(files, events):
    assert detect(files.lines("s.jsonl", events)).name == "copilot"
    first, second = attempts(files, events)
    assert (first.task.description, first.task.context) == ("Fix the parser", {"directory": "/work", "branch": "main"})
    assert first.steps == (
        Step("I run it.", 'bash({"command": "pytest"})', "exit 1", {"observation_from": "tool bash", "failed": True}),
        Step("", "It is fixed."),
    )
    assert (first.outcome.success, first.agent_id, first.metadata["session"]) == (None, "a-model", "s1")
    assert first.timestamp.isoformat() == "2026-04-01T09:00:06+00:00"
    assert second.outcome.error_info == "user initiated"
    assert second.metadata["follows"] == first.id


BROKEN = {
    "cut off": '{"type": "user.mess',
    "a number": "5",
    "data of the wrong type": event("assistant.message", 5) | {"data": 5},
    "content of the wrong type": event("assistant.message", 5, content=5),
    "tool calls of the wrong type": event("assistant.message", 5, content="", toolRequests=5),
    "a call without a name": event("assistant.message", 5, content="", toolRequests=[{"toolCallId": "x"}]),
    "a time of the wrong type": event("assistant.message", 5, content="x") | {"timestamp": 5},
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_line_costs_itself_only(files, events, broken):
    rows = files.read("copilot", files.lines("s.jsonl", [*events[:3], broken, *events[3:]]))
    assert [row.position for row in rows if row.item is None] == [4]
    assert [row.item.task.description for row in rows if row.item] == ["Fix the parser", "Now stop"]


def test_an_answer_of_thoughts_alone_is_a_step(files, events):
    events[3] = event("assistant.message", 3, content="", reasoningText="Run the tests.", toolRequests=[])
    first, _ = attempts(files, events)
    assert first.steps[0].thought == "Run the tests."
