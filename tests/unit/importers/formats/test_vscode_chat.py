"""VS Code's chats as attempts, one for each request."""

from __future__ import annotations

import json

import pytest

from atlas.core.types import Step
from atlas.importers import detect


def terminal(command, output, code):
    return {
        "kind": "toolInvocationSerialized",
        "toolId": "run_in_terminal",
        "toolCallId": "t1",
        "invocationMessage": {"value": f"Running {command}"},
        "toolSpecificData": {
            "kind": "terminal",
            "commandLine": {"original": command},
            "terminalCommandState": {"exitCode": code},
            "terminalCommandOutput": {"text": output},
        },
    }


@pytest.fixture
def chat():
    """A function from requests to a chat."""

    def document(*requests):
        return {"version": 3, "sessionId": "s1", "requesterUsername": "ann", "requests": list(requests)}

    return document


def request(text, *response, **fields):
    return {"requestId": f"r-{text}", "message": {"text": text}, "response": list(response), **fields}


def attempts(files, document):
    return [row.item for row in files.read("vscode-chat", files.json("chat.json", document)) if row.item]


def test_each_answered_request_is_an_attempt(files, chat):
    document = chat(
        request(
            "Fix the parser",
            {"kind": "thinking", "value": "Run the tests."},
            {"value": "I run "},
            {"kind": "inlineReference", "name": "a.py"},
            terminal("pytest", "1 failed", 1),
            {"value": "It is fixed."},
            modelId="a-model",
            timestamp=1_767_225_600_000,
            result={"timings": {"totalElapsed": 1_500}},
        ),
        request("Not answered"),
        request("Go on", {"kind": "markdownContent", "content": {"value": "Done."}}),
    )
    assert detect(files.json("chat.json", document)).name == "vscode-chat"
    first, second = attempts(files, document)
    assert first.steps == (
        Step(
            "Run the tests.\n\nI run a.py",
            "run_in_terminal(pytest)",
            "1 failed",
            {"observation_from": "tool run_in_terminal", "failed": True},
        ),
        Step("", "It is fixed."),
    )
    assert (first.outcome.success, first.agent_id) == (None, "a-model")
    assert first.timestamp.isoformat() == "2026-01-01T00:00:01.500000+00:00"
    assert (second.task.description, second.metadata["session"]) == ("Go on", "s1")


@pytest.mark.parametrize(("vote", "success"), [(1, True), (0, False), (None, None)])
def test_a_vote_decides_the_outcome(files, chat, vote, success):
    [found] = attempts(files, chat(request("Add", {"value": "2"}, vote=vote)))
    assert found.outcome.success is success
    assert found.outcome.verification_details.get("vote") == {1: "up", 0: "down"}.get(vote)


def test_an_edit_shows_its_file_and_text(files, chat):
    edit = {"kind": "textEditGroup", "uri": {"fsPath": "/a.py"}, "edits": [[{"text": "x = 1"}], [{"text": "y = 2"}]]}
    [found] = attempts(files, chat(request("Set them", edit)))
    assert found.steps[0].action == 'edit({"path": "/a.py", "text": "x = 1\\ny = 2"})'


def test_a_failed_mcp_tool_shows_its_output(files, chat):
    tool = {"kind": "toolInvocationSerialized", "toolId": "mcp_search", "invocationMessage": "Running search"}
    tool["resultDetails"] = {"input": "{}", "output": [{"value": "no server"}], "isError": True}
    [found] = attempts(files, chat(request("Search", tool)))
    assert found.steps[0] == Step(
        "",
        "mcp_search(Running search)",
        "no server",
        {"observation_from": "tool mcp_search", "failed": True},
    )


def test_a_cancelled_or_failed_answer_names_the_reason(files, chat):
    failed = request("A", {"value": "x"}, result={"errorDetails": {"message": "rate limited"}})
    cancelled = request("B", {"value": "x"}, isCanceled=True)
    found = attempts(files, chat(failed, cancelled))
    assert [attempt.outcome.error_info for attempt in found] == ["rate limited", "cancelled"]


BROKEN = {
    "a number": 5,
    "no message": {"response": []},
    "a response of the wrong type": request("x") | {"response": 5},
    "a part of the wrong type": request("x", 5),
    "a time out of range": request("x", {"value": "y"}, timestamp=1e300),
    "a time of the wrong type": request("x", {"value": "y"}, timestamp="now"),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_request_costs_itself_only(files, chat, broken):
    document = chat(request("A", {"value": "x"}), broken, request("B", {"value": "x"}))
    rows = files.read("vscode-chat", files.raw("chat.json", json.dumps(document)))
    assert [row.position for row in rows if row.item is None] == [2]
    assert [row.item.task.description for row in rows if row.item] == ["A", "B"]


def test_an_attempt_follows_the_last_answered_request(files, chat):
    document = chat(
        request("Fix the parser", {"value": "Done."}), request("Not answered"), request("Go on", {"value": "Done."})
    )
    first, second = attempts(files, document)
    assert second.metadata["follows"] == first.id


def test_a_vote_that_is_neither_up_nor_down_decides_nothing(files, chat):
    [attempt] = attempts(files, chat(request("Fix the parser", {"value": "Done."}, vote=0.5)))
    assert attempt.outcome.success is None
