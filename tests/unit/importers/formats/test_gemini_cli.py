"""Gemini CLI's sessions as attempts, one for each request, from both forms of its files."""

from __future__ import annotations

import pytest

from atlas.core.types import Step
from atlas.importers import detect
from atlas.importers.formats.agents.sessions import Request

FACTS = {
    "sessionId": "s1",
    "projectHash": "ab12",
    "startTime": "2026-04-01T09:00:00.000Z",
    "lastUpdated": "2026-04-01T09:00:09.000Z",
    "kind": "main",
}


def message(kind, second, content, **more):
    return {
        "id": f"m{second}",
        "timestamp": f"2026-04-01T09:00:{second:02}.000Z",
        "type": kind,
        "content": content,
    } | more


def tool_call(status="success", output="1 failed"):
    response = {"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"output": output}}}
    return {
        "id": "c1",
        "name": "run_shell_command",
        "args": {"command": "pytest"},
        "result": [response],
        "status": status,
        "timestamp": "2026-04-01T09:00:03.000Z",
    }


@pytest.fixture
def messages():
    thought = {"subject": "Tests", "description": "I run them.", "timestamp": "2026-04-01T09:00:02.000Z"}
    return [
        message("user", 0, [{"text": "<session_context>today</session_context>"}]),
        message("info", 1, "Update available"),
        message("user", 2, [{"text": "Fix the parser\n--- Content from a.py ---"}], displayContent="Fix the parser"),
        message(
            "gemini",
            3,
            "",
            model="gemini-x",
            thoughts=[thought],
            toolCalls=[tool_call("error")],
            tokens={"input": 100, "output": 7, "cached": 40, "thoughts": 3, "tool": 0, "total": 110},
        ),
        message("gemini", 4, [{"text": "It is fixed."}], model="gemini-x", tokens={"input": 120, "output": 5}),
        message("user", 5, "Now stop"),
        message("gemini", 6, "I began."),
        message("error", 7, "quota exceeded"),
        message("user", 8, "Not answered"),
    ]


@pytest.fixture(params=["document", "log"])
def path(request, files, messages):
    if request.param == "document":
        return files.json("session-1.json", {**FACTS, "messages": messages})
    return files.lines("session-1.jsonl", [FACTS, *messages, {"$set": {"lastUpdated": "2026-04-01T09:00:10.000Z"}}])


def attempts(files, path):
    rows = files.read("gemini-cli", path)
    assert [row.reason for row in rows if row.item is None] == []
    return [row.item for row in rows]


def test_each_answered_request_is_an_attempt_of_unknown_outcome(files, path):
    assert detect(path).name == "gemini-cli"
    first, second = attempts(files, path)
    assert first.task.description == "Fix the parser"
    call = 'run_shell_command({"command": "pytest"})'
    failed = {"observation_from": "tool run_shell_command", "failed": True}
    assert first.steps == (Step("Tests: I run them.", call, "1 failed", failed), Step("", "It is fixed."))
    assert (first.outcome.success, first.agent_id, first.metadata["session"]) == (None, "gemini-x", "s1")
    assert first.metadata["tokens"] == {"input": 220, "output": 12}
    assert first.timestamp.isoformat() == "2026-04-01T09:00:04+00:00"
    assert (second.outcome.error_info, second.metadata["follows"]) == ("quota exceeded", first.id)


def test_a_log_is_replayed(files, messages):
    path = files.lines(
        "session-1.jsonl",
        [
            FACTS,
            messages[2],
            message("gemini", 3, "First words"),
            message("gemini", 3, "First words, completed"),
            message("user", 5, "A slip"),
            message("gemini", 6, "Done with it"),
            {"$rewindTo": "m5"},
            message("user", 7, "The next task"),
            message("gemini", 8, "Done"),
        ],
    )
    first, second = attempts(files, path)
    assert [step.action for step in first.steps] == ["First words, completed"]
    assert second.task.description == "The next task"


def test_a_checkpoint_replaces_the_messages(files, messages):
    kept = [messages[2], message("gemini", 9, "Compressed")]
    path = files.lines("session-1.jsonl", [FACTS, *messages, {"$set": {"messages": kept}}])
    [attempt] = attempts(files, path)
    assert [step.action for step in attempt.steps] == ["Compressed"]


def test_a_rewind_to_an_unknown_message_removes_all(files, messages):
    assert attempts(files, files.lines("session-1.jsonl", [FACTS, *messages, {"$rewindTo": "gone"}])) == []


def test_a_request_has_the_id_that_the_hook_gave_it(files, path):
    hooked = Request(source="gemini-cli", text="Fix the parser", position=1, session="s1", key="s1")
    assert attempts(files, path)[0].id == hooked.id


def test_the_same_request_twice_is_two_attempts(files):
    log = [
        message("user", 1, "go on"),
        message("gemini", 2, "a"),
        message("user", 3, "go on"),
        message("gemini", 4, "b"),
    ]
    found = attempts(files, files.lines("session-1.jsonl", [FACTS, *log]))
    assert len({attempt.id for attempt in found}) == 2


BROKEN = {
    "cut off": '{"id": "m5", "type',
    "a number": "5",
    "no id": {"type": "gemini", "content": "x"},
    "content of the wrong type": message("gemini", 20, 5),
    "tool calls of the wrong type": message("gemini", 20, "", toolCalls=5),
    "a call without a name": message("gemini", 20, "", toolCalls=[{"id": "x"}]),
    "a result of the wrong type": message("gemini", 20, "", toolCalls=[tool_call() | {"result": 5}]),
    "a time of the wrong type": message("gemini", 20, "x") | {"timestamp": 5},
    "thoughts of the wrong type": message("gemini", 20, "x", thoughts=[5]),
    "a rewind of the wrong type": {"$rewindTo": 5},
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_line_costs_only_itself(files, messages, what):
    rows = files.read("gemini-cli", files.lines("session-1.jsonl", [FACTS, *messages, BROKEN[what]]))
    assert sum(row.item is None for row in rows) == 1
    assert sum(row.item is not None for row in rows) == 2


def test_an_answer_without_a_request_is_refused(files):
    [row] = files.read("gemini-cli", files.lines("session-1.jsonl", [FACTS, message("gemini", 2, "x")]))
    assert "answers a request that is not in the file" in row.reason
