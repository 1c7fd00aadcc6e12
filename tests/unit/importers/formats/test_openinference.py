"""Spans of OpenInference as JSON: the forms that Phoenix and OpenTelemetry's SDK write give the same attempt."""

from __future__ import annotations

from datetime import datetime

import pytest

from atlas.core.types import Step
from atlas.importers import detect

TRACE = "0af7651916cd43dd8448eb211c80319c"


def span(number, kind, name, attributes, **more):
    """A span as Phoenix's API gives it."""
    return {
        "id": f"U3Bhbjo{number}",
        "name": name,
        "context": {"trace_id": TRACE, "span_id": f"{number:016x}"},
        "span_kind": kind,
        "parent_id": f"{1:016x}" if number > 1 else None,
        "start_time": f"2026-01-02T10:00:0{number}.000000+00:00",
        "end_time": f"2026-01-02T10:00:0{number}.500000+00:00",
        "status_code": "OK",
        "status_message": "",
        "attributes": attributes,
        "events": [],
    } | more


@pytest.fixture
def spans():
    call = {"tool_call.function.name": "search", "tool_call.function.arguments": '{"q": "Mars"}'}
    asked = {f"llm.output_messages.0.message.tool_calls.0.{key}": value for key, value in call.items()}
    question = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "How far is Mars?"}
    answered = {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "54 million km.",
    }
    costs = {"llm.model_name": "m-1", "llm.token_count.prompt": 10, "llm.token_count.completion": 5}
    return [
        span(
            3,
            "TOOL",
            "search",
            {"tool.name": "search", "input.value": '{"q": "Mars"}', "output.value": "54 million km"},
        ),
        span(4, "LLM", "chat", {**question, **answered, **costs}),
        span(
            1,
            "AGENT",
            "agent",
            {"input.value": "How far is Mars?", "output.value": "54 million km.", "session.id": "s"},
        ),
        span(2, "LLM", "chat", {**question, **asked, **costs}),
    ]


def nested(flat):
    """Attributes as a tree, as some exports have them."""
    tree = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return tree


def of_data_frame(each):
    """A row of a data frame, as pandas writes it by default: times in milliseconds."""
    times = {name: int(datetime.fromisoformat(each[name]).timestamp() * 1_000) for name in ("start_time", "end_time")}
    columns = {f"attributes.{key}": value for key, value in each["attributes"].items()}
    context = {f"context.{key}": value for key, value in each["context"].items()}
    kept = {name: each[name] for name in ("name", "span_kind", "parent_id", "status_code", "status_message", "events")}
    return {**kept, **times, **columns, **context, "attributes.metadata": None}


def of_sdk(each):
    """A span as OpenTelemetry's SDK writes it."""
    return {
        "name": each["name"],
        "context": {name: f"0x{value}" for name, value in each["context"].items()} | {"trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": each["parent_id"] and f"0x{each['parent_id']}",
        "start_time": each["start_time"].replace("+00:00", "Z"),
        "end_time": each["end_time"].replace("+00:00", "Z"),
        "status": {"status_code": "OK"},
        "attributes": {**each["attributes"], "openinference.span.kind": each["span_kind"]},
        "events": [],
    }


FORMS = {
    "a page of the API": lambda files, spans: files.json("spans.json", {"data": spans, "next_cursor": None}),
    "a list": lambda files, spans: files.json("spans.json", spans),
    "lines": lambda files, spans: files.lines("spans.jsonl", spans),
    "a tree of attributes": lambda files, spans: files.lines(
        "spans.jsonl", [each | {"attributes": nested(each["attributes"])} for each in spans]
    ),
    "a data frame": lambda files, spans: files.json("spans.json", [of_data_frame(each) for each in spans]),
    "lines of the SDK": lambda files, spans: files.lines("spans.jsonl", [of_sdk(each) for each in spans]),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_spans_of_a_trace_are_one_attempt_of_unknown_outcome(files, spans, form):
    path = FORMS[form](files, spans)
    assert detect(path).name == "openinference"
    attempt = files.only("openinference", path)
    assert attempt.task.description == "How far is Mars?"
    assert attempt.steps == (
        Step(action='search({"q": "Mars"})', metadata={"span": "chat", "seconds": 0.5}),
        Step(action='search({"q": "Mars"})', observation="54 million km", metadata={"span": "search", "seconds": 0.5}),
        Step(action="54 million km.", metadata={"span": "chat", "seconds": 0.5}),
    )
    assert (attempt.outcome.success, attempt.agent_id, attempt.metadata["session"]) == (None, "m-1", "s")
    assert (attempt.metadata["source"], attempt.metadata["tokens"]) == ("openinference", {"input": 20, "output": 10})
    assert attempt.timestamp.isoformat() == "2026-01-02T10:00:04.500000+00:00"


def test_an_error_is_kept(files, spans):
    del spans[0]["attributes"]["output.value"]
    spans[0] |= {"status_code": "ERROR", "status_message": "no such place"}
    attempt = files.only("openinference", files.lines("spans.jsonl", spans))
    failed = next(step for step in attempt.steps if step.metadata["span"] == "search")
    assert (failed.observation, failed.metadata["failed"]) == ("no such place", True)


def test_traces_without_an_agent_are_counted_and_left_out(files):
    others = [span(1, "", "GET /", {"http.method": "GET"})]
    [row] = files.read("openinference", files.lines("spans.jsonl", others))
    assert row.reason.startswith("1 trace has no attribute of an agent")


BROKEN = {
    "cut off": '{"name": "chat", "cont',
    "a number": "5",
    "no context": span(9, "LLM", "x", {}) | {"context": None},
    "an id that is not hexadecimal": span(9, "LLM", "x", {}) | {"context": {"trace_id": "t", "span_id": "s"}},
    "a time of the wrong type": span(9, "LLM", "x", {}) | {"start_time": [1]},
    "attributes of the wrong type": span(9, "LLM", "x", 5),
    "events of the wrong type": span(9, "LLM", "x", {}) | {"events": 5},
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_line_costs_only_itself(files, spans, what):
    rows = files.read("openinference", files.lines("spans.jsonl", [*spans, BROKEN[what]]))
    assert [row.position for row in rows if row.item is None] == [5]
    assert sum(row.item is not None for row in rows) == 1
