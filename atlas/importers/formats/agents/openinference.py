"""Spans with OpenInference's attributes as JSON: of Phoenix's API and data frames, and of OpenTelemetry's SDK.

The spans are read as OTLP spans, whose attributes are the same. See `otlp`.

Source:
    https://arize.com/docs/phoenix/sdk-api-reference
    https://pypi.org/project/openinference-semantic-conventions
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.importers.fields import Json, as_instant, as_list, as_object, as_text, make_storable
from atlas.importers.files import RawRecord, read_document, read_head, read_records
from atlas.importers.formats.agents import otlp
from atlas.importers.keys import document_keys, record_keys
from atlas.importers.rows import Limits, Row

SOURCE = "openinference"
PAGE = "data"
"""Key of the spans in a page of Phoenix's API."""

MAX_DEPTH = 50
CONTEXT, ATTRIBUTES = "context", "attributes"


def matches(path: Path, head: bytes) -> bool:
    """Return whether the rows are spans with a context, or the file is a page of them."""
    is_page = PAGE in document_keys(head) and b'"span_kind"' in head and b'"context"' in head
    return is_page or any(
        {CONTEXT, ATTRIBUTES, "parent_id"} <= keys or {"context.span_id", "context.trace_id"} <= keys
        for keys in record_keys(head)
    )


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the traces of a file, whose spans may come in any order."""
    yield from otlp.attempts_of(_records(path, limits), _to_otlp_request, path.stat().st_size, source=SOURCE)


def _records(path: Path, limits: Limits) -> Iterator[RawRecord]:
    if PAGE not in document_keys(read_head(path, limits)):
        yield from read_records(path, limits)
        return
    raw = read_document(path, limits)
    yield RawRecord(1, raw, len(raw))


def _to_otlp_request(value: Any) -> Json:
    """Return a span, or a page of spans, as an OTLP request."""
    row = as_object(value, "the span")
    spans = as_list(row[PAGE], PAGE) if PAGE in row else [row]
    return {
        "resourceSpans": [{"scopeSpans": [{"spans": [_to_otlp_span(as_object(span, "the span")) for span in spans]}]}]
    }


def _to_otlp_span(row: Json) -> Json:
    context = {**_columns_below(row, CONTEXT), **as_object(row.get(CONTEXT) or {}, CONTEXT)}
    attributes = {**_columns_below(row, ATTRIBUTES), **as_object(row.get(ATTRIBUTES) or {}, ATTRIBUTES)}
    if row.get("span_kind"):
        attributes.setdefault("openinference.span.kind", row["span_kind"])
    status = as_object(row.get("status") or {}, "status")
    code = row.get("status_code", status.get("status_code"))
    return {
        "traceId": _decode_hex_id(context.get("trace_id"), "context.trace_id"),
        "spanId": _decode_hex_id(context.get("span_id"), "context.span_id"),
        "parentSpanId": _decode_hex_id(row.get("parent_id"), "parent_id"),
        "name": row.get("name"),
        "startTimeUnixNano": _nanoseconds(row.get("start_time"), "start_time"),
        "endTimeUnixNano": _nanoseconds(row.get("end_time"), "end_time"),
        "status": {
            "code": otlp.ERROR_CODES[0] if code == "ERROR" else 0,
            "message": row.get("status_message") or status.get("description") or "",
        },
        "attributes": _to_otlp_attributes(attributes),
        "events": [_to_otlp_event(event) for event in as_list(row.get("events"), "events")],
    }


def _to_otlp_event(value: Any) -> Json:
    event = as_object(value, "events")
    return {
        "name": event.get("name"),
        "attributes": _to_otlp_attributes(as_object(event.get("attributes") or {}, "events")),
    }


def _columns_below(row: Json, name: str) -> Json:
    """Return the columns of a data frame below a name, without the name: `attributes.input.value` as `input.value`."""
    return {key.removeprefix(f"{name}."): value for key, value in row.items() if key.startswith(f"{name}.")}


def _decode_hex_id(value: Any, name: str) -> str:
    return as_text(value, name).removeprefix("0x")


def _nanoseconds(value: Any, name: str) -> int | None:
    """Return a time as nanoseconds since 1970, or None if it is empty. Numbers are milliseconds, as in data frames."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value * 1_000_000)
    instant = as_instant(value, name)
    return None if instant is None else (instant - otlp.EPOCH) // timedelta(microseconds=1) * 1_000


def _to_otlp_attributes(attributes: Json) -> list[Json]:
    """Return attributes in OTLP's form: pairs of a key, such as `llm.input_messages.0.message.role`, and a value."""
    return [{"key": key, "value": value} for key, value in _flatten_attributes(attributes, "", 0)]


def _flatten_attributes(value: Any, key: str, depth: int) -> Iterator[tuple[str, Json]]:
    if depth > MAX_DEPTH:
        raise InvalidInput("an attribute nests too deeply; flatten it")
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _flatten_attributes(part, f"{key}.{name}" if key else name, depth + 1)
    elif isinstance(value, list) and any(isinstance(part, dict) for part in value):
        for n, part in enumerate(value):
            yield from _flatten_attributes(part, f"{key}.{n}", depth + 1)
    elif value is not None:
        yield key, _to_otlp_value(make_storable(value))


def _to_otlp_value(value: Any) -> Json:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_to_otlp_value(part) for part in value]}}
    kinds = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
    return {kinds[type(value)]: value} if type(value) in kinds else {}
