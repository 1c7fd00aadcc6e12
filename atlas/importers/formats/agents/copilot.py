"""Copilot CLI's sessions, as it writes their events: one attempt for each request of a person.

A session does not record whether a request was met, so every outcome is unknown.

Source:
    https://github.com/github/copilot-cli
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from atlas.core.errors import InvalidInput
from atlas.importers.fields import (
    Json,
    as_instant,
    as_list,
    as_object,
    as_text,
    present,
    required_text,
    storable,
    without_blobs,
)
from atlas.importers.files import Record, lines
from atlas.importers.formats import conversation
from atlas.importers.formats.agents.sessions import Request
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.keys import record_keys
from atlas.importers.rows import Limits, Row, convert, refusal

SOURCE = "copilot"

_MARKS = (b'"session.start"', b'"user.message"', b'"assistant.turn_start"')


def matches(path: Path, head: bytes) -> bool:
    """Return whether lines are events of a session."""
    wraps = any({"type", "data", "timestamp"} <= keys for keys in record_keys(head))
    return wraps and any(mark in head for mark in _MARKS)


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the attempts of a session as they end."""
    session = _Session(path.stem)
    for record in lines(path, limits):
        if reason := refusal(partial(session.take, record)):
            yield Row(record.position, None, reason, offset=record.end)
        yield from session.pop_ended(record.end)
    yield from session.finish(path.stat().st_size)


class _Session:
    """The current request of a session, and the names of the tools that were called."""

    def __init__(self, name: str) -> None:
        self._session = name
        self._context: Json = {}
        self._metadata: Json = {}
        self._request: Request | None = None
        self._ended: list[Request] = []
        self._tools: dict[str, str] = {}

    def take(self, record: Record) -> None:
        """Read an event.

        Raises:
            InvalidInput: It cannot be read, or answers a request that is not in the file.
        """
        event = as_object(record.value(), "the event")
        kind = required_text(event, "type", "type")
        data = as_object(event.get("data") or {}, "data")
        if kind == "session.start":
            self._begin(data)
        elif kind == "user.message":
            self._ask(data, event, record)
        elif kind == "assistant.message":
            self._add(self._answer(data), event, record)
        elif kind == "tool.execution_complete":
            self._add(self._result(data), event, record)
        elif kind in ("session.error", "abort") and self._request is not None:
            problem = data.get("message") or data.get("reason") or kind
            self._request.error = as_text(problem, "data.message")

    def pop_ended(self, offset: int) -> Iterator[Row]:
        """Yield the attempts at the requests that have ended since the last call."""
        ended, self._ended = self._ended, []
        for request in ended:
            if request.was_answered:
                yield convert(request.position, request.attempt, offset=offset, n_bytes=request.n_bytes)

    def finish(self, offset: int) -> Iterator[Row]:
        """Yield the attempt at the last request of the file."""
        self._ended += [self._request] if self._request else []
        yield from self.pop_ended(offset)

    def _begin(self, data: Json) -> None:
        self._session = as_text(data.get("sessionId"), "data.sessionId") or self._session
        place = as_object(data.get("context") or {}, "data.context")
        self._context = present(
            directory=as_text(place.get("cwd"), "data.context.cwd"),
            branch=as_text(place.get("branch"), "data.context.branch"),
        )
        self._metadata = present(version=as_text(data.get("copilotVersion"), "data.copilotVersion"))

    def _ask(self, data: Json, event: Json, record: Record) -> None:
        text = as_text(data.get("content"), "data.content").strip()
        if not text:
            return
        before, follows = self._request, {}
        if before is not None:
            self._ended.append(before)
            follows = {"follows": before.id} if before.was_answered else {}
        self._request = Request(
            source=SOURCE,
            text=text,
            position=record.position,
            session=self._session,
            key=as_text(event.get("id"), "id") or f"{self._session} {as_text(event.get('timestamp'), 'timestamp')}",
            context=self._context,
            metadata=self._metadata | follows,
        )

    def _add(self, message: Message, event: Json, record: Record) -> None:
        if self._request is None:
            raise InvalidInput("answers a request that is not in the file, so the task is unknown")
        if message.text or message.calls or message.role != AGENT:
            self._request.messages.append(message)
        model = as_object(event.get("data") or {}, "data").get("model")
        self._request.agent = model if isinstance(model, str) and model else self._request.agent
        self._request.at(as_instant(event.get("timestamp"), "timestamp"), len(record.raw))

    def _answer(self, data: Json) -> Message:
        calls = []
        for n, item in enumerate(as_list(data.get("toolRequests"), "data.toolRequests")):
            call = as_object(item, f"data.toolRequests[{n}]")
            name = required_text(call, "name", f"data.toolRequests[{n}].name")
            self._tools[as_text(call.get("toolCallId"), "toolCallId")] = name
            calls.append(without_blobs(conversation.call(name, storable(call.get("arguments") or {}))))
        return Message(
            role=AGENT,
            text=conversation.content(data.get("content"), "data.content").text,
            thought=as_text(data.get("reasoningText"), "data.reasoningText"),
            calls=tuple(calls),
        )

    def _result(self, data: Json) -> Message:
        result = as_object(data.get("result") or {}, "data.result")
        error = as_object(data.get("error") or {}, "data.error")
        call = as_text(data.get("toolCallId"), "data.toolCallId")
        return Message(
            role="tool",
            text=conversation.content(result.get("content", error.get("message")), "data.result.content").text,
            tool=as_text(data.get("toolName"), "data.toolName") or self._tools.get(call, ""),
            failed=data.get("success") is False,
        )
