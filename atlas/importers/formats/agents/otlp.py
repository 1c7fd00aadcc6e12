"""OpenTelemetry traces as OTLP JSON, with attributes of the GenAI conventions, OpenInference and other SDKs.

A trace is one attempt. The trace's spans may come in any order and from several requests. No span records success.
Evaluation events become scores, which a success rule may use.

`decode_spans` reads a request as JSON values: OTLP JSON (ids in hex, codes as numbers), or the JSON mapping of a
protobuf message (ids in base64, codes as names). `traces` groups spans by trace.

Source:
    https://opentelemetry.io/docs/specs/semconv/gen-ai/
    https://github.com/Arize-ai/openinference
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.importers.fields import Json, abbreviate, as_list, as_object, as_text, drop_missing
from atlas.importers.files import RawRecord, parse_json, read_document, read_head, read_lines
from atlas.importers.formats.agents.traces import MODEL, OTHER, TOOL, Span, Trace, decode_json
from atlas.importers.keys import document_keys, record_keys
from atlas.importers.rows import Limits, Row, catch_failure, make_row
from atlas.importers.spending import first_number

SOURCE = "otlp"
ERROR_CODES = (2, "2", "STATUS_CODE_ERROR")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_VALUE_DEPTH = 50

_RESOURCES, _SCOPES = ("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_KINDS = {
    "LLM": MODEL,
    "TOOL": TOOL,
    "RETRIEVER": TOOL,
    "CHAT": MODEL,
    "TEXT_COMPLETION": MODEL,
    "GENERATE_CONTENT": MODEL,
    "EXECUTE_TOOL": TOOL,
    "GENERATION": MODEL,
    "AI.GENERATETEXT.DOGENERATE": MODEL,
    "AI.STREAMTEXT.DOSTREAM": MODEL,
    "AI.GENERATEOBJECT.DOGENERATE": MODEL,
    "AI.STREAMOBJECT.DOSTREAM": MODEL,
    "AI.TOOLCALL": TOOL,
}
_AGENT_ATTRIBUTES = (
    "gen_ai.",
    "llm.",
    "openinference.",
    "traceloop.",
    "langfuse.",
    "gcp.vertex.agent.",
    "pydantic_ai.",
    "ai.",
    "agent.",
    "tool.",
    "input.value",
    "output.value",
)
"""Attribute prefixes that only agents and models have."""

_KIND_KEYS = (
    "openinference.span.kind",
    "gen_ai.operation.name",
    "langfuse.observation.type",
    "traceloop.span.kind",
    "ai.operationId",
)
_MODEL_KEYS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")
_TOOL_KEYS = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name")
_INPUT_KEYS = (
    "gen_ai.input.messages",
    "gen_ai.tool.call.arguments",
    "llm.input_messages",
    "gen_ai.prompt",
    "langfuse.observation.input",
    "gcp.vertex.agent.llm_request",
    "gcp.vertex.agent.tool_call_args",
    "tool_arguments",
    "tool.parameters",
    "ai.toolCall.args",
    "ai.prompt.messages",
    "ai.prompt",
    "pydantic_ai.all_messages",
    "all_messages_events",
    "input.value",
    "traceloop.entity.input",
)
_OUTPUT_KEYS = (
    "gen_ai.output.messages",
    "gen_ai.tool.call.result",
    "llm.output_messages",
    "gen_ai.completion",
    "langfuse.observation.output",
    "gcp.vertex.agent.llm_response",
    "gcp.vertex.agent.tool_response",
    "tool_response",
    "final_result",
    "ai.toolCall.result",
    "ai.response",
    "output.value",
    "traceloop.entity.output",
)
_INPUT_TOKEN_KEYS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
)
_OUTPUT_TOKEN_KEYS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
)
_COST_KEYS = ("gen_ai.usage.cost", "llm.cost.total")
_NUMBERED_KEY = re.compile(
    r"(llm\.(?:in|out)put_messages|gen_ai\.(?:prompt|completion))\.(\d{1,4})\.(?:message\.)?(.{1,200})"
)
_HEX = re.compile(r"[0-9a-fA-F]{16}|[0-9a-fA-F]{32}")


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """A span with the properties of its trace."""

    trace: str
    span: Span
    service: str
    session: str
    scores: Json


@dataclass(frozen=True, slots=True)
class SpanRequest:
    """A request with a single span, split from a larger request."""

    trace: str
    request: Json


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file contains OTLP requests with spans."""
    return any(keys & set(_RESOURCES) for keys in (document_keys(head), *record_keys(head)))


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the traces of a file with one request, or one request per line."""
    yield from attempts_of(_records(path, limits), lambda request: request, path.stat().st_size)


def attempts_of(
    records: Iterable[RawRecord], request_of: Callable[[Any], Any], size: int, *, source: str = SOURCE
) -> Iterator[Row]:
    """Yield the agents' traces in the records, and a reason for each span that cannot be read.

    Args:
        request_of: Function that returns the request in a record's value.
        size: Size of the whole file in bytes.
        source: Name of the format.
    """
    received: list[ReceivedSpan] = []
    refused: list[str] = []
    for record in records:
        reason = catch_failure(partial(_add_request, record, request_of, received, refused))
        for problem in (*((reason,) if reason else ()), *refused):
            yield Row(record.position, None, problem, offset=record.end)
        refused.clear()
    trace_list = list(group_into_traces(received, source=source))
    if n_others := sum(not trace.is_of_agent for trace in trace_list):
        traces_have = "trace has" if n_others == 1 else "traces have"
        yield Row(0, None, f"{n_others:,} {traces_have} no attribute of an agent or a model, and are skipped")
    for position, trace in enumerate((trace for trace in trace_list if trace.is_of_agent), start=1):
        yield make_row(position, trace.attempt, offset=size, n_bytes=size // max(len(received), 1) * len(trace.spans))


def decode_spans(request: Any, refuse: Callable[[str], object]) -> Iterator[ReceivedSpan]:
    """Yield the spans of a request, and call `refuse` with the reason for each unreadable one.

    Raises:
        InvalidInput: The request as a whole is malformed.
    """
    body = as_object(request, "the request")
    for n, resource_spans in enumerate(_decode_members(body, _RESOURCES, "the request")):
        resource = as_object(resource_spans, f"resourceSpans[{n}]")
        service = _service_name(resource, n)
        for scope in _decode_members(resource, _SCOPES, f"resourceSpans[{n}]"):
            for span in as_list(as_object(scope, "scopeSpans").get("spans"), "spans"):
                received: list[ReceivedSpan] = []
                if reason := catch_failure(partial(_append_received, span, service, received)):
                    refuse(reason)
                yield from received


def split_by_span(request: Any, refuse: Callable[[str], object]) -> Iterator[SpanRequest]:
    """Yield one request per span, and call `refuse` with the reason for each unreadable span.

    Only the service name of a span's resource is kept, because nothing else is read.

    Raises:
        InvalidInput: The request as a whole is malformed.
    """
    body = as_object(request, "the request")
    for n, resource_spans in enumerate(_decode_members(body, _RESOURCES, "the request")):
        resource = as_object(resource_spans, f"resourceSpans[{n}]")
        service = {"key": "service.name", "value": {"stringValue": _service_name(resource, n)}}
        for scope in _decode_members(resource, _SCOPES, f"resourceSpans[{n}]"):
            for span in as_list(as_object(scope, "scopeSpans").get("spans"), "spans"):
                enclosing = {"resource": {"attributes": [service]}, _SCOPES[0]: [{"spans": [span]}]}
                payload = {_RESOURCES[0]: [enclosing]}
                yield from (SpanRequest(received.trace, payload) for received in decode_spans(payload, refuse))


def _service_name(resource: Json, n: int) -> str:
    """Return the service name of a resource, or an empty string. `n` is the resource's index, for errors."""
    attributes = as_object(resource.get("resource") or {}, f"resourceSpans[{n}].resource")
    return _text(_decode_attributes(attributes.get("attributes"), "resource.attributes"), ("service.name",))


def group_into_traces(received: Iterable[ReceivedSpan], *, source: str = SOURCE) -> Iterator[Trace]:
    """Group spans into traces, without duplicate spans. Yield the traces in the order of their first spans."""
    groups: dict[str, dict[str, ReceivedSpan]] = {}
    for span in received:
        groups.setdefault(span.trace, {})[span.span.id] = span
    for trace_id, by_id in groups.items():
        group = list(by_id.values())
        scores: Json = {}
        for span in group:
            scores |= span.scores
        yield Trace(
            id=trace_id,
            source=source,
            spans=[span.span for span in group],
            domain=next((span.service for span in group if span.service and span.service != "unknown_service"), ""),
            scores=scores,
            metadata=drop_missing(session=next((span.session for span in group if span.session), "")),
        )


def _records(path: Path, limits: Limits) -> Iterator[RawRecord]:
    first = read_head(path, limits).lstrip().partition(b"\n")[0].rstrip()
    if _is_complete_json(first):
        yield from read_lines(path, limits)
    else:
        raw = read_document(path, limits)
        yield RawRecord(1, raw, len(raw))


def _is_complete_json(line: bytes) -> bool:
    """Return whether a line is complete JSON. A line that does not end within the head is assumed to be complete."""
    try:
        parse_json(line)
    except InvalidInput:
        return line.startswith(b"{") and len(line) > 2 and not line.endswith((b"{", b"[", b","))
    return True


def _add_request(
    record: RawRecord, request_of: Callable[[Any], Any], received: list[ReceivedSpan], refused: list[str]
) -> None:
    received.extend(decode_spans(request_of(record.value()), refused.append))


def _append_received(span: Any, service: str, received: list[ReceivedSpan]) -> None:
    received.append(_decode_span(span, service))


def _decode_members(value: Json, names: tuple[str, ...], where: str) -> list[Any]:
    name = next((name for name in names if name in value), None)
    if name is None:
        raise InvalidInput(f"expected {names[0]} in {where}, got nothing")
    return as_list(value[name], name)


def _decode_span(value: Any, service: str) -> ReceivedSpan:
    raw = {_to_camel_case(key): item for key, item in as_object(value, "the span").items()}
    attributes = _decode_attributes(raw.get("attributes"), "attributes")
    events = [as_object(event, "events") for event in as_list(raw.get("events"), "events")]
    named_events = [
        (as_text(raw_event.get("name"), "events.name"), _decode_attributes(raw_event.get("attributes"), "events"))
        for raw_event in events
    ]
    name = as_text(raw.get("name"), "name")
    span = Span(
        id=_decode_id(raw.get("spanId"), "spanId", 16),
        parent=_decode_id(raw["parentSpanId"], "parentSpanId", 16) if raw.get("parentSpanId") else "",
        name=_text(attributes, _TOOL_KEYS) or name,
        kind=_kind(attributes),
        start=_decode_instant(raw.get("startTimeUnixNano"), "startTimeUnixNano"),
        end=_decode_instant(raw.get("endTimeUnixNano"), "endTimeUnixNano"),
        input_value=_first_value(attributes, named_events, _INPUT_KEYS)
        or _last_event_content(named_events, "gen_ai.user.message"),
        output_value=_first_value(attributes, named_events, _OUTPUT_KEYS)
        or _last_event_content(named_events, "gen_ai.choice"),
        model=_text(attributes, _MODEL_KEYS),
        usage=_token_usage(attributes),
        cost_usd=first_number(attributes, _COST_KEYS),
        is_of_agent=_is_of_agent(attributes, named_events),
        error=_error(raw, named_events),
    )
    return ReceivedSpan(
        trace=_decode_id(raw.get("traceId"), "traceId", 32),
        span=span,
        service=service,
        session=_text(attributes, ("session.id", "gen_ai.conversation.id", "langfuse.session.id")),
        scores=_scores(named_events),
    )


def _to_camel_case(key: str) -> str:
    first, *words = key.split("_")
    return first + "".join(word.capitalize() for word in words)


def _decode_id(value: Any, name: str, digits: int) -> str:
    """Return an id as hex digits, decoding base64 if necessary."""
    text = as_text(value, name)
    if len(text) == digits and _HEX.fullmatch(text):
        return text.lower()
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) * 2 != digits:
        raise InvalidInput(f"expected {digits} hex digits or the same in base64 for {name}, got {abbreviate(value)}")
    return raw.hex()


def _decode_instant(value: Any, name: str) -> datetime | None:
    if value is None or value in (0, "0", ""):
        return None
    try:
        return EPOCH + timedelta(microseconds=int(value) // 1_000)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"expected nanoseconds since 1970 for {name}, got {abbreviate(value)}") from error


def _decode_attributes(value: Any, name: str) -> Json:
    """Return the attributes as a dictionary, with messages reassembled from numbered keys."""
    attributes: Json = {}
    numbered: dict[str, dict[int, Json]] = {}
    for entry in as_list(value, name):
        pair = as_object(entry, name)
        key, attribute = as_text(pair.get("key"), f"{name}.key"), _decode_value(pair.get("value"), 0)
        if numbered_key := _NUMBERED_KEY.fullmatch(key):
            numbered.setdefault(numbered_key[1], {}).setdefault(int(numbered_key[2]), {})[numbered_key[3]] = attribute
        else:
            attributes[key] = attribute
    for key, messages in numbered.items():
        attributes.setdefault(key, [_reassemble_message(messages[n]) for n in sorted(messages)])
    if answer := _ai_sdk_answer(attributes):
        attributes["ai.response"] = answer
    return attributes


def _ai_sdk_answer(attributes: Json) -> Json:
    """Return a model's answer from attributes of Vercel's AI SDK, which has separate keys for text and tool calls."""
    for prefix in ("ai.response.", "ai.result."):
        text = attributes.get(f"{prefix}text", attributes.get(f"{prefix}object", ""))
        tool_calls = decode_json(attributes.get(f"{prefix}toolCalls"))
        calls = [
            {"function": {"name": call.get("toolName"), "arguments": decode_json(call.get("input", call.get("args")))}}
            for call in (tool_calls if isinstance(tool_calls, list) else [])
            if isinstance(call, dict)
        ]
        if text or calls:
            return {"role": "assistant", "content": text, "tool_calls": calls}
    return {}


def _reassemble_message(parts: Json) -> Json:
    """Return a message with its tool calls, reassembled from numbered keys."""
    names = [value for key, value in sorted(parts.items()) if key.startswith("tool_calls.") and key.endswith(".name")]
    arguments = [
        value for key, value in sorted(parts.items()) if key.startswith("tool_calls.") and key.endswith("arguments")
    ]
    calls = [
        {"function": {"name": name, "arguments": arguments[n] if n < len(arguments) else {}}}
        for n, name in enumerate(names)
    ]
    texts = [value for key, value in sorted(parts.items()) if key.endswith(".text") and key.startswith("contents.")]
    return {
        "role": parts.get("role", ""),
        "content": parts.get("content") or "\n\n".join(map(str, texts)),
        "tool_calls": calls,
    }


def _decode_value(value: Any, depth: int) -> Any:
    """Return the Python value of an attribute."""
    if depth > MAX_VALUE_DEPTH:
        raise InvalidInput("an attribute nests too deeply; flatten it")
    fields = as_object(value, "an attribute's value") if value is not None else {}
    for kind, content in fields.items():
        match _to_camel_case(kind):
            case "intValue":
                is_integer = isinstance(content, str) and content.lstrip("-").isdigit() and len(content) < 20
                return int(content) if is_integer else content
            case "arrayValue":
                return [
                    _decode_value(item, depth + 1) for item in as_list(as_object(content, kind).get("values"), kind)
                ]
            case "kvlistValue":
                pairs = [as_object(item, kind) for item in as_list(as_object(content, kind).get("values"), kind)]
                return {as_text(pair.get("key"), kind): _decode_value(pair.get("value"), depth + 1) for pair in pairs}
            case "bytesValue":
                return "[bytes]"
            case "stringValue" | "doubleValue" | "boolValue":
                return content
    return None


def _text(attributes: Json, keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := attributes.get(key), str) and value), "")


def _kind(attributes: Json) -> str:
    for key in _KIND_KEYS:
        if kind := _KINDS.get(str(attributes.get(key, "")).upper()):
            return kind
    return MODEL if "gen_ai.output.messages" in attributes and "gen_ai.operation.name" not in attributes else OTHER


def _first_value(attributes: Json, events: list[tuple[str, Json]], keys: tuple[str, ...]) -> Any:
    for source in (attributes, *(event for _, event in events)):
        value = next((source[key] for key in keys if source.get(key) not in (None, "", [], {})), None)
        if value is not None:
            return decode_json(value)
    return None


def _last_event_content(events: list[tuple[str, Json]], name: str) -> Any:
    """Return the content of the last event with this name."""
    matching = [event for event_name, event in events if event_name == name]
    if not matching:
        return None
    last = matching[-1]
    return decode_json(last.get("content", last.get("message")))


def _error(raw: Json, events: list[tuple[str, Json]]) -> str:
    status = as_object(raw.get("status") or {}, "status")
    if status.get("code") not in ERROR_CODES:
        return ""
    exception = next(
        (_text(event, ("exception.message", "exception.type")) for name, event in events if name == "exception"), ""
    )
    return as_text(status.get("message"), "status.message") or exception or "error"


def _token_usage(attributes: Json) -> Json:
    """Return the numbers of tokens of a call to a model."""
    n_input, n_output = first_number(attributes, _INPUT_TOKEN_KEYS), first_number(attributes, _OUTPUT_TOKEN_KEYS)
    return {"input_tokens": n_input, "output_tokens": n_output} if n_input or n_output else {}


def _is_of_agent(attributes: Json, events: list[tuple[str, Json]]) -> bool:
    names = [*attributes, *(name for name, _ in events), *(key for _, event in events for key in event)]
    return any(name.startswith(_AGENT_ATTRIBUTES) for name in names)


def _scores(events: list[tuple[str, Json]]) -> Json:
    """Return the scores in evaluation events, keyed by the name of the evaluation."""
    return {
        str(event["gen_ai.evaluation.name"]): event.get(
            "gen_ai.evaluation.score.value", event.get("gen_ai.evaluation.score.label")
        )
        for name, event in events
        if name == "gen_ai.evaluation.result" and "gen_ai.evaluation.name" in event
    }
