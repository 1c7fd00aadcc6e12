"""OpenTelemetry's traces as attempts, in the shapes in which exporters write them."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from atlas.importers import detect
from atlas.importers.formats.agents.otlp import decode_spans, group_into_traces

GEN_AI = (
    {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": "How far is Mars?"}]}]
        ),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "tool_call", "name": "search", "arguments": {"q": "mars"}}]}]
        ),
    },
    {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": '{"q": "mars"}',
        "gen_ai.tool.call.result": "54 million km",
    },
)
OPEN_INFERENCE = (
    {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be brief.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "How far is Mars?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"q": "mars"}',
    },
    {
        "openinference.span.kind": "TOOL",
        "tool.name": "search",
        "input.value": '{"q": "mars"}',
        "output.value": "54 million km",
    },
)


def request(conventions) -> Any:
    """What the SDK's exporter sends of an agent that asks a model and calls a tool."""
    kept = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "astronomer"}))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("test")
    model, tool = conventions
    with tracer.start_as_current_span("agent"):
        with tracer.start_as_current_span("chat m", attributes=model) as span:
            span.add_event(
                "gen_ai.evaluation.result",
                {"gen_ai.evaluation.name": "correctness", "gen_ai.evaluation.score.value": 1.0},
            )
        with tracer.start_as_current_span("execute_tool search", attributes=tool) as span:
            span.set_status(Status(StatusCode.ERROR, "it was slow"))
    return encode_spans(kept.get_finished_spans())


def as_protobuf_json(message) -> dict[str, Any]:
    """Return the message by protobuf's own JSON mapping: ids in base64, codes by name."""
    return MessageToDict(message)


def as_otlp_json(message) -> dict[str, Any]:
    """Return the message as OTLP's specification has it: ids in hex, codes as numbers."""
    made = MessageToDict(message, use_integers_for_enums=True)
    [resource] = message.resource_spans
    [scope] = made["resourceSpans"][0]["scopeSpans"]
    for span, original in zip(scope["spans"], resource.scope_spans[0].spans, strict=True):
        span |= {"traceId": original.trace_id.hex(), "spanId": original.span_id.hex()}
        if original.parent_span_id:
            span["parentSpanId"] = original.parent_span_id.hex()
    return made


@pytest.mark.parametrize("conventions", [GEN_AI, OPEN_INFERENCE], ids=["gen_ai", "openinference"])
@pytest.mark.parametrize("shape", [as_otlp_json, as_protobuf_json])
def test_a_trace_is_one_attempt_whatever_its_shape(files, conventions, shape):
    path = files.json("t.json", shape(request(conventions)))
    assert detect(path).name == "otlp"
    read = files.only("otlp", path)
    assert (read.task.description, read.task.domain, read.agent_id) == ("How far is Mars?", "astronomer", "m")
    assert [step.action for step in read.steps] == ['search({"q": "mars"})'] * 2
    assert read.steps[1].observation == "it was slow\n\n54 million km"
    assert (read.outcome.success, read.outcome.error_info) == (None, "it was slow")
    assert read.metadata["scores"] == {"correctness": 1.0}
    assert read.timestamp is not None


def test_both_shapes_of_a_request_have_the_same_id(files):
    message = request(GEN_AI)
    first = files.only("otlp", files.json("a.json", as_otlp_json(message)))
    second = files.only("otlp", files.json("b.json", as_protobuf_json(message)))
    assert first.id == second.id


def test_spans_come_in_any_order_in_many_requests_and_twice(files):
    whole = as_otlp_json(request(GEN_AI))
    [resource] = whole["resourceSpans"]
    spans = resource["scopeSpans"][0]["spans"]
    apart = [{"resourceSpans": [resource | {"scopeSpans": [{"spans": [span]}]}]} for span in (*spans, spans[0])]
    random.Random(0).shuffle(apart)
    together = files.only("otlp", files.json("a.json", whole))
    assert files.only("otlp", files.lines("b.jsonl", apart)) == together


def test_decoded_spans_can_be_handed_over_without_a_file():
    refused: list[str] = []
    [trace] = group_into_traces(decode_spans(as_protobuf_json(request(GEN_AI)), refused.append))
    assert (len(trace.spans), refused) == (3, [])


def string(key, value):
    return {"key": key, "value": {"stringValue": value}}


def span(number, name, *attributes, parent=0):
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number),
        "attributes": list(attributes),
    }


def test_traces_of_other_programs_are_counted_and_no_attempts(files):
    plain = span(1, "GET /users", string("http.request.method", "GET"), string("url.path", "/users"))
    plain["traceId"] = "1" * 32
    made = as_otlp_json(request(GEN_AI))
    made["resourceSpans"].append({"scopeSpans": [{"spans": [plain, plain | {"traceId": "2" * 32}]}]})
    refused, attempt = files.read("otlp", files.json("t.json", made))
    assert refused.reason.startswith("2 traces have no attribute of an agent or a model")
    assert attempt.item.task.description == "How far is Mars?"


def test_the_spans_of_vercels_ai_sdk_are_an_attempt_with_each_call_once(files):
    asked = json.dumps([{"role": "user", "content": [{"type": "text", "text": "How far is Mars?"}]}])
    called = json.dumps([{"toolCallId": "c1", "toolName": "search", "input": {"q": "mars"}}])
    usage = [
        {"key": "ai.usage.promptTokens", "value": {"intValue": "100"}},
        {"key": "ai.usage.completionTokens", "value": {"intValue": "7"}},
    ]
    spans = [
        span(1, "ai.generateText", string("ai.operationId", "ai.generateText"), string("ai.prompt", asked), *usage),
        span(
            2,
            "ai.generateText.doGenerate",
            string("ai.operationId", "ai.generateText.doGenerate"),
            string("ai.model.id", "m"),
            string("ai.prompt.messages", asked),
            string("ai.response.toolCalls", called),
            *usage,
            parent=1,
        ),
        span(
            3,
            "ai.toolCall",
            string("ai.operationId", "ai.toolCall"),
            string("ai.toolCall.name", "search"),
            string("ai.toolCall.args", '{"q": "mars"}'),
            string("ai.toolCall.result", '"54 million km"'),
            parent=1,
        ),
        span(
            4,
            "ai.generateText.doGenerate",
            string("ai.operationId", "ai.generateText.doGenerate"),
            string("ai.prompt.messages", asked),
            string("ai.response.text", "54 million km"),
            *usage,
            parent=1,
        ),
    ]
    made = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    attempt = files.only("otlp", files.json("t.json", made))
    assert (attempt.task.description, attempt.agent_id) == ("How far is Mars?", "m")
    assert [(step.action, step.observation) for step in attempt.steps] == [
        ('search({"q": "mars"})', ""),
        ('search({"q": "mars"})', "54 million km"),
        ("54 million km", ""),
    ]
    assert attempt.metadata["tokens"] == {"input": 200, "output": 14}


@pytest.mark.parametrize(
    "change",
    [
        {"traceId": "zz"},
        {"traceId": 5},
        {"spanId": None},
        {"attributes": 7},
        {"attributes": [{"key": 5}]},
        {"attributes": [{"key": "a", "value": 5}]},
        {"startTimeUnixNano": "soon"},
        {"startTimeUnixNano": "9" * 40},
        {"status": 2},
        {"events": [1]},
        {"name": []},
    ],
    ids=str,
)
def test_a_broken_span_costs_itself_only(files, change):
    made = as_otlp_json(request(GEN_AI))
    spans = made["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans.append(spans[1] | {"spanId": "00000000000000ff"} | change)
    rows = files.read("otlp", files.json("t.json", made))
    assert [bool(row.item) for row in rows] == [False, True]
    assert "cannot be read" not in rows[0].reason


@pytest.mark.parametrize("value", [5, [], {}, {"resourceSpans": 5}, {"resourceSpans": [5]}, {"resourceSpans": [{}]}])
def test_a_request_that_is_none_is_refused(files, value):
    path = files.lines("t.jsonl", [value, as_otlp_json(request(GEN_AI))])
    rows = files.read("otlp", path)
    assert [bool(row.item) for row in rows] == [False, True]
