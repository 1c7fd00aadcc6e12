"""Endpoint for OpenTelemetry traces: OTLP over HTTP, as JSON or protobuf."""

from __future__ import annotations

import zlib
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from atlas.core.errors import InvalidInput
from atlas.core.imports.distribution import extra
from atlas.importers.files import parse_json
from atlas.importers.formats.agents.otlp import split_by_span
from atlas.infra.actor import Actor, Role, actor_name, actor_scope, check_role, is_under_review
from atlas.memory.system import MemorySystem
from atlas.server.access import MAX_BODY_BYTES
from atlas.server.api.parts import LoadedMemory
from atlas.server.api.shapes import TracesResponse
from atlas.server.problems import TooLarge
from atlas.server.spool import TraceSpool

with extra("server", "reading traces"):
    from google.protobuf.json_format import MessageToDict, ParseDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )

router = APIRouter()

PROTOBUF, JSON = "application/x-protobuf", "application/json"
MAX_UNPACKED_BYTES = 4 * MAX_BODY_BYTES

_REQUEST: dict[str, Any] = {
    "type": "object",
    "description": "An ExportTraceServiceRequest of OTLP.",
    "properties": {"resourceSpans": {"type": "array", "items": {"type": "object"}}},
}
_BODIES: dict[str, Any] = {
    "required": True,
    "content": {JSON: {"schema": _REQUEST}, PROTOBUF: {"schema": {"type": "string", "format": "binary"}}},
}


@router.post("/traces", openapi_extra={"requestBody": _BODIES}, response_model=TracesResponse)
async def take_traces(request: Request, memory: LoadedMemory) -> Response:
    """Store spans of OpenTelemetry.

    They are stored durably before the response. Half a minute after its last span, a trace becomes an attempt of
    unknown outcome. Configure an exporter with `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = _unpack(await request.body(), request.headers.get("content-encoding", "").strip().lower())
    problems = await run_in_threadpool(_store_spans, memory, body, media_type)
    content: dict[str, Any] = {}
    if problems:
        content = {"partialSuccess": {"rejectedSpans": str(len(problems)), "errorMessage": "; ".join(problems[:5])}}
    if media_type == PROTOBUF:
        return Response(ParseDict(content, ExportTraceServiceResponse()).SerializeToString(), media_type=PROTOBUF)
    return JSONResponse(content)


def _store_spans(memory: MemorySystem, body: bytes, media_type: str) -> list[str]:
    check_role(Role.WRITER, "send traces")
    problems: list[str] = []
    spans = list(split_by_span(_decode_request(body, media_type), problems.append))
    name, scope = actor_name(memory.storage.settings.actor), tuple(actor_scope().items())
    writer = Actor(name, Role.WRITER, is_under_review(), scope=scope)
    return problems + (TraceSpool(memory.storage.path).add_spans(writer, spans) if spans else [])


def _decode_request(body: bytes, media_type: str) -> Any:
    if media_type == JSON:
        return parse_json(body)
    if media_type != PROTOBUF:
        raise InvalidInput(f"traces should come as {JSON} or {PROTOBUF}, but the content type is {media_type[:80]!r}")
    message = ExportTraceServiceRequest()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise InvalidInput(f"the body should be an ExportTraceServiceRequest, but cannot be read: {error}") from error
    return MessageToDict(message) or {"resourceSpans": []}


def _unpack(body: bytes, encoding: str) -> bytes:
    """Decompress a body, up to the maximum size."""
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise InvalidInput(f"the content encoding should be gzip or none, but is {encoding[:40]!r}")
    decompressor = zlib.decompressobj(wbits=31)
    try:
        unpacked = decompressor.decompress(body, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise InvalidInput(f"the body should be gzip, but cannot be unpacked: {error}") from error
    if decompressor.unconsumed_tail:
        raise TooLarge(MAX_UNPACKED_BYTES)
    if not decompressor.eof:
        raise InvalidInput("the gzip body is truncated; send it again")
    return unpacked
