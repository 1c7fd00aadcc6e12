"""Lists of chat messages as attempts."""

from __future__ import annotations

import pytest

from atlas.core.types import Step
from atlas.importers import detect

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 1}'}}
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is 1 + 1?"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "add", "content": "2"},
    {"role": "assistant", "content": "2"},
]


def test_a_list_is_an_attempt_at_its_first_request(files):
    path = files.json("a.json", MESSAGES)
    assert detect(path).name == "messages"
    [row] = files.read("messages", path)
    assert row.item.task.description == "What is 1 + 1?"
    assert row.item.steps == (
        Step("", 'add({"a": 1, "b": 1})', "2", {"observation_from": "tool add"}),
        Step("", "2"),
    )
    assert row.item.outcome.success is None


def test_each_line_of_jsonl_is_an_attempt_with_the_same_id_as_its_list_alone(files):
    other = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    path = files.lines("a.jsonl", [{"messages": MESSAGES, "model": "a-model"}, {"messages": other}])
    assert detect(path).name == "messages"
    first, second = (row.item for row in files.read("messages", path))
    assert (first.agent_id, second.task.description) == ("a-model", "Hello")
    [alone] = files.read("messages", files.json("b.json", MESSAGES))
    assert alone.item.id == first.id


BROKEN = {
    "messages of the wrong type": (
        {"messages": 5},
        "in the field 'messages', got type int",
    ),
    "no messages": ({"turns": []}, "in the field 'messages', got nothing"),
    "no answer": ({"messages": MESSAGES[:2]}, "an answer of the assistant"),
    "no request": ({"messages": MESSAGES[2:]}, "a user message before the first answer"),
    "a message without a role": ({"messages": [{"content": "x"}]}, "expected a string for messages[0].role"),
}


@pytest.mark.parametrize(("line", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_refused_with_the_field(files, line, reason):
    first, second = files.read("messages", files.lines("a.jsonl", [line, {"messages": MESSAGES}]))
    assert first.item is None
    assert reason in first.reason
    assert second.item is not None
