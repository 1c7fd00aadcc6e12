"""Gemini CLI's sessions, as JSON files and as event logs (JSONL): one attempt per user request.

An event log is replayed: a later record of a message replaces it, and a rewind removes messages. A session does not
record whether a request was met, so every outcome is unknown.

Source:
    https://www.npmjs.com/package/@google/gemini-cli-core, `services/chatRecordingTypes`, `core/client`
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

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
from atlas.importers.files import RawRecord, read_document, read_head, read_lines
from atlas.importers.formats import conversation
from atlas.importers.formats.agents.sessions import Request, Requests
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.keys import document_keys
from atlas.importers.rows import Limits, Row, catch_failure

SOURCE = "gemini-cli"

_CONTEXT = "<session_context>"
"""Beginning of user messages that the program writes."""

_HOOK_CONTEXT = re.compile("<hook_context>.*?</hook_context>", re.DOTALL)
"""Text that hooks, such as ours, add to a request."""


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file has a session and the hash of its project."""
    return {"sessionId", "projectHash"} <= document_keys(head)


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the attempts of a session."""
    session = _Session(path.stem)
    for record in _records(path, limits):
        if reason := catch_failure(partial(session.add_record, record)):
            yield Row(record.position, None, reason, offset=record.end)
    yield from session.attempts(path.stat().st_size)


def _records(path: Path, limits: Limits) -> Iterator[RawRecord]:
    if "messages" not in document_keys(read_head(path, limits)):
        yield from read_lines(path, limits)
        return
    raw = read_document(path, limits)
    yield RawRecord(1, raw, len(raw))


class _Session:
    """The messages of a session, and the requests in them."""

    def __init__(self, name: str) -> None:
        self._facts: Json = {"sessionId": name}
        self._messages: dict[str, tuple[int, Json]] = {}
        self._requests = Requests()
        self._asked: set[str] = set()

    def add_record(self, record: RawRecord) -> None:
        """Add the whole session, or one event of the session.

        Raises:
            InvalidInput: The text cannot be read.
        """
        event = as_object(record.value(), "the session")
        if "$rewindTo" in event:
            self._rewind(as_text(event["$rewindTo"], "$rewindTo"))
        elif "type" in event:
            self._add(event, record.position)
        else:
            facts = as_object(event.get("$set", event), "$set")
            self._facts |= {name: value for name, value in facts.items() if name != "messages"}
            if "messages" in facts:
                self._messages = {}
                for n, message in enumerate(as_list(facts["messages"], "messages"), start=1):
                    self._add(as_object(message, f"messages[{n - 1}]"), n if event is facts else record.position)

    def attempts(self, offset: int) -> Iterator[Row]:
        """Yield an attempt for each answered request, and the reason for each message that cannot be read."""
        for position, message in self._messages.values():
            if reason := catch_failure(partial(self._take_message, message, position)):
                yield Row(position, None, reason, offset=offset)
        yield from self._requests.finish(offset)

    def _add(self, message: Json, position: int) -> None:
        self._messages[required_text(message, "id", "id")] = (position, message)

    def _rewind(self, message_id: str) -> None:
        """Remove the message with an id and all later messages, or all messages if no message has the id."""
        ids = list(self._messages)
        kept = ids[: ids.index(message_id)] if message_id in ids else []
        self._messages = {message_id: self._messages[message_id] for message_id in kept}

    def _take_message(self, message: Json, position: int) -> None:
        kind = required_text(message, "type", "type")
        instant = as_instant(message.get("timestamp"), "timestamp")
        text = _HOOK_CONTEXT.sub("", _text(message.get("displayContent") or message.get("content"), "content")).strip()
        if kind == "user":
            if text and not text.startswith(_CONTEXT):
                self._begin_request(text, message, position)
            return
        if kind not in ("gemini", "error"):
            return
        request = self._requests.answered_request()
        request.record_time(instant, len(json.dumps(message)))
        request.error = text if kind == "error" else ""
        if kind == "gemini":
            request.messages += _decode_answer(message, text)
            request.agent = as_text(message.get("model"), "model") or request.agent
            request.spending.add(required_text(message, "id", "id"), message.get("tokens"))

    def _begin_request(self, text: str, message: Json, position: int) -> None:
        session = required_text(self._facts, "sessionId", "sessionId")
        suffix = f" {message['id']}" if text in self._asked else ""  # the hook knows only the session and the text
        self._asked.add(text)
        is_subagent = self._facts.get("kind") == "subagent"
        self._requests.begin(
            Request(
                source=SOURCE,
                text=text,
                position=position,
                session=session,
                key=f"{session}{suffix}",
                metadata=drop_missing(kind="subagent" if is_subagent else ""),
            )
        )


def _decode_answer(message: Json, text: str) -> list[Message]:
    """Return a message of the model, and the results of its tool calls."""
    calls = [
        as_object(call, f"toolCalls[{n}]") for n, call in enumerate(as_list(message.get("toolCalls"), "toolCalls"))
    ]
    thoughts = [as_object(thought, "thoughts") for thought in as_list(message.get("thoughts"), "thoughts")]
    answer = Message(
        role=AGENT,
        text=text,
        thought="\n\n".join(map(_thought_line, thoughts)),
        calls=tuple(_decode_call(call) for call in calls),
    )
    return [answer, *map(_decode_result, calls)] if answer.action or answer.thought else []


def _thought_line(thought: Json) -> str:
    parts = [as_text(thought.get(name), name).strip() for name in ("subject", "description")]
    return ": ".join(filter(None, parts))


def _decode_call(call: Json) -> str:
    name = required_text(call, "name", "toolCalls.name")
    return replace_blobs(conversation.format_call(name, make_storable(call.get("args") or {})))


def _decode_result(call: Json) -> Message:
    displayed = call.get("resultDisplay")
    return Message(
        role="tool",
        text=_text(call.get("result"), "toolCalls.result") or (displayed if isinstance(displayed, str) else ""),
        tool=as_text(call.get("name"), "toolCalls.name"),
        has_failed=call.get("status") in ("error", "cancelled"),
    )


def _text(value: Any, name: str) -> str:
    """Return the text of one or several parts of a message: texts, and the responses of functions."""
    if value is None or isinstance(value, str):
        return replace_blobs(value or "")
    if isinstance(value, list):
        return "\n\n".join(filter(None, (_text(part, f"{name}[{n}]") for n, part in enumerate(value))))
    part = as_object(value, name)
    if "functionResponse" in part:
        response = as_object(part["functionResponse"], f"{name}.functionResponse").get("response")
        answer = as_object(response or {}, f"{name}.response")
        output = next((answer[key] for key in ("output", "error") if isinstance(answer.get(key), str)), None)
        return replace_blobs(json.dumps(make_storable(answer), ensure_ascii=False) if output is None else output)
    if part.get("thought") is True:
        return ""
    kind = next((key for key in ("inlineData", "fileData") if key in part), "")
    if kind:
        return f"[{kind.removesuffix('Data')}]"
    return replace_blobs(as_text(part.get("text"), f"{name}.text"))
