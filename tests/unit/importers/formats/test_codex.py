"""Codex's rollouts as attempts, one for each request."""

from __future__ import annotations

import json

import pytest

from atlas.core.types import Step
from atlas.importers import detect


def line(kind, second, **payload):
    return {"timestamp": f"2026-04-01T09:00:{second:02}.000Z", "type": kind, "payload": payload}


def message(role, text, second):
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return line("response_item", second, type="message", role=role, content=[part])


@pytest.fixture
def rollout():
    summary = [{"type": "summary_text", "text": "Run it."}]
    failed = json.dumps({"output": "1 failed", "metadata": {"exit_code": 1}})
    return [
        line("session_meta", 0, id="c1", cwd="/work", cli_version="0.9", git={"branch": "main"}),
        line("turn_context", 1, model="a-model"),
        message("user", "<environment_context>here</environment_context>", 2),
        message("user", "Fix the parser", 3),
        line("response_item", 4, type="reasoning", summary=summary, encrypted_content="x"),
        line("response_item", 5, type="function_call", name="shell", arguments='{"command": ["pytest"]}', call_id="1"),
        line("response_item", 6, type="function_call_output", call_id="1", output=failed),
        line("event_msg", 6, type="token_count"),
        line("event_msg", 6, type="token_count", info={"last_token_usage": {"input_tokens": 90, "output_tokens": 8}}),
        line("event_msg", 6, type="token_count", info={"last_token_usage": {"input_tokens": 90, "output_tokens": 8}}),
        message("assistant", "It is mended.", 7),
        message("user", "Now stop", 8),
        message("assistant", "I began.", 9),
        line("event_msg", 10, type="turn_aborted", reason="interrupted"),
    ]


def attempts(files, lines):
    return [row.item for row in files.read("codex", files.lines("rollout-1.jsonl", lines)) if row.item]


def test_each_request_is_an_attempt_of_unknown_outcome(files, rollout):
    assert detect(files.lines("rollout-1.jsonl", rollout)).name == "codex"
    first, second = attempts(files, rollout)
    assert first.task.description == "Fix the parser"
    assert first.steps == (
        Step(
            "Run it.",
            'shell({"command": ["pytest"]})',
            "1 failed",
            {"observation_from": "tool shell", "failed": True},
        ),
        Step("", "It is mended."),
    )
    assert (first.outcome.success, first.outcome.error_info, first.agent_id) == (None, None, "a-model")
    assert first.metadata["tokens"] == {"input": 90, "output": 8}  # the program repeats the event
    assert first.timestamp.isoformat() == "2026-04-01T09:00:07+00:00"
    assert (second.outcome.success, second.outcome.error_info) == (None, "interrupted")
    assert second.metadata["follows"] == first.id
    assert second.metadata["session"] == "c1"


def test_a_sub_agent_names_the_session_that_called_it(files, rollout):
    rollout[0]["payload"]["source"] = {"subagent": {"thread_spawn": {"parent_thread_id": "p1", "depth": 1}}}
    first, _ = attempts(files, rollout)
    assert first.metadata["called_by_session"] == "p1"


def test_lines_of_the_first_versions_are_read(files, rollout):
    bare = [{"id": "c1", "timestamp": "2025-06-01T00:00:00Z", "instructions": None}]
    bare += [one["payload"] for one in rollout if one["type"] == "response_item"]
    path = files.lines("rollout-0.jsonl", bare)
    assert detect(path).name == "codex"
    assert [one.task.description for one in attempts(files, bare)] == ["Fix the parser", "Now stop"]


BROKEN = {
    "cut off": '{"timestamp": "20',
    "a number": "5",
    "a payload of the wrong type": line("response_item", 5) | {"payload": 5},
    "a message without content": line("response_item", 5, type="message", role="user"),
    "content of the wrong type": line("response_item", 5, type="message", role="user", content=5),
    "a time of the wrong type": message("assistant", "x", 5) | {"timestamp": 5},
    "a type of the wrong type": line("response_item", 5, type=5),
    "a name of the wrong type": line("response_item", 5, type="function_call", name=5, call_id="2"),
    "deep nesting": '{"type": "response_item", "payload": ' + "[" * 10_000 + "]" * 10_000 + "}",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_line_costs_itself_only(files, rollout, broken):
    rows = files.read("codex", files.lines("rollout-1.jsonl", [*rollout[:6], broken, *rollout[6:]]))
    assert [row.position for row in rows if row.item is None] == [7]
    assert [row.item.task.description for row in rows if row.item] == ["Fix the parser", "Now stop"]
