"""Copilot CLI's sessions (event logs): one attempt per user request.

A session does not record whether a request was met, so every outcome is unknown.

Source:
    https://github.com/github/copilot-cli
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from atlas.importers.fields import (
    Json,
    as_instant,
    as_list,
    as_object,
    as_text,
    drop_missing,
    make_storable,
    replace_blobs,
    required_text,
)
from atlas.importers.files import RawRecord, read_lines
from atlas.importers.formats import conversation
from atlas.importers.formats.agents.sessions import Request, Requests, attempts_of
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.keys import record_keys
from atlas.importers.rows import Limits, Row

SOURCE = "copilot"

_MARKS = (b'"session.start"', b'"user.message"', b'"assistant.turn_start"')


def matches(path: Path, head: bytes) -> bool:
    """Return whether lines are events of a session."""
    has_events = any({"type", "data", "timestamp"} <= keys for keys in record_keys(head))
    return has_events and any(mark in head for mark in _MARKS)


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the attempts of a session as they end."""
    session = _Session(path.stem)
    yield from attempts_of(read_lines(path, limits), session.requests, session.add_record, path.stat().st_size)


class _Session:
    """The current request of a session, and the names of the tools that were called."""

    def __init__(self, name: str) -> None:
        self._session = name
        self._context: Json = {}
        self._metadata: Json = {}
        self.requests = Requests()
        self._tools: dict[str, str] = {}

    def add_record(self, record: RawRecord) -> None:
        """Add an event to the requests.

        Raises:
            InvalidInput: The event cannot be read, or answers a request that is not in the file.
        """
        event = as_object(record.value(), "the event")
        kind = required_text(event, "type", "type")
        data = as_object(event.get("data") or {}, "data")
        if kind == "session.start":
            self._begin(data)
        elif kind == "user.message":
            self._begin_request(data, event, record)
        elif kind == "assistant.message":
            self._add(self._decode_answer(data), event, record)
        elif kind == "tool.execution_complete":
            self._add(self._decode_result(data), event, record)
        elif kind in ("session.error", "abort") and self.requests.current is not None:
            problem = data.get("message") or data.get("reason") or kind
            self.requests.current.error = as_text(problem, "data.message")

    def _begin(self, data: Json) -> None:
        self._session = as_text(data.get("sessionId"), "data.sessionId") or self._session
        context = as_object(data.get("context") or {}, "data.context")
        self._context = drop_missing(
            directory=as_text(context.get("cwd"), "data.context.cwd"),
            branch=as_text(context.get("branch"), "data.context.branch"),
        )
        self._metadata = drop_missing(version=as_text(data.get("copilotVersion"), "data.copilotVersion"))

    def _begin_request(self, data: Json, event: Json, record: RawRecord) -> None:
        text = as_text(data.get("content"), "data.content").strip()
        if not text:
            return
        request = Request(
            source=SOURCE,
            text=text,
            position=record.position,
            session=self._session,
            key=as_text(event.get("id"), "id") or f"{self._session} {as_text(event.get('timestamp'), 'timestamp')}",
            context=self._context,
            metadata=dict(self._metadata),
        )
        self.requests.begin(request)

    def _add(self, message: Message, event: Json, record: RawRecord) -> None:
        request = self.requests.answered_request()
        if message.action or message.thought or message.role != AGENT:
            request.messages.append(message)
        model = as_object(event.get("data") or {}, "data").get("model")
        request.agent = model if isinstance(model, str) and model else request.agent
        request.record_time(as_instant(event.get("timestamp"), "timestamp"), len(record.raw))

    def _decode_answer(self, data: Json) -> Message:
        calls = []
        for n, item in enumerate(as_list(data.get("toolRequests"), "data.toolRequests")):
            call = as_object(item, f"data.toolRequests[{n}]")
            name = required_text(call, "name", f"data.toolRequests[{n}].name")
            self._tools[as_text(call.get("toolCallId"), "toolCallId")] = name
            calls.append(replace_blobs(conversation.format_call(name, make_storable(call.get("arguments") or {}))))
        return Message(
            role=AGENT,
            text=conversation.read_content(data.get("content"), "data.content").text,
            thought=as_text(data.get("reasoningText"), "data.reasoningText"),
            calls=tuple(calls),
        )

    def _decode_result(self, data: Json) -> Message:
        result = as_object(data.get("result") or {}, "data.result")
        error = as_object(data.get("error") or {}, "data.error")
        call = as_text(data.get("toolCallId"), "data.toolCallId")
        return Message(
            role="tool",
            text=conversation.read_content(result.get("content", error.get("message")), "data.result.content").text,
            tool=as_text(data.get("toolName"), "data.toolName") or self._tools.get(call, ""),
            has_failed=data.get("success") is False,
        )
