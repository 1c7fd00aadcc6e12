"""Claude Code's sessions, as its JSONL files and as documents of `loglines`: one attempt per user request.

A session covers many unrelated tasks, so the request is the task, not the session. Whether a request was met is not
recorded, so every outcome is unknown. A sub-agent's work is an attempt of its own that names the attempt that called
it. Requests without an answer, and lines about the program itself, are skipped.

Source:
    https://code.claude.com/docs
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from atlas.core.errors import ImportFailed, InvalidInput
from atlas.importers.fields import (
    Json,
    as_instant,
    as_object,
    as_text,
    drop_missing,
    make_storable,
    replace_blobs,
    required_text,
)
from atlas.importers.files import RawRecord, read_head, read_lines, read_span
from atlas.importers.formats import conversation
from atlas.importers.formats.agents.sessions import Request
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.keys import document_keys, record_keys
from atlas.importers.rows import Limits, Row, catch_failure, make_row, one_line
from atlas.importers.spans import find_spans

SOURCE = "claude-code"
LOGLINES = "loglines"

_REMINDER = re.compile(r"<system-reminder>.{0,100000}?</system-reminder>", re.DOTALL)
_COMMAND = re.compile(r"<command-name>(.{0,1000}?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.{0,100000}?)</command-args>", re.DOTALL)
_PROGRAM_PREFIXES = (
    "Caveat: The messages below",
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "[Request interrupted",
    "<user-memory-input>",
)
"""Prefixes of user messages that the program wrote."""


def matches(path: Path, head: bytes) -> bool:
    """Return whether the lines are messages with an id and a session, or the file has a list `loglines`."""
    if LOGLINES in document_keys(head):
        return True
    return any({"type", "message"} <= keys and keys & {"sessionId", "uuid"} for keys in record_keys(head))


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the attempts of a session as they end. The attempts of its sub-agents come last."""
    session = _Session(path.stem)
    for record in _records(path, limits):
        if reason := catch_failure(partial(session.add_record, record)):
            yield Row(record.position, None, reason, offset=record.end)
        yield from session.pop_ended(record.end)
    yield from session.finish(path.stat().st_size)


def _records(path: Path, limits: Limits) -> Iterator[RawRecord]:
    if LOGLINES not in document_keys(read_head(path, limits)):
        yield from read_lines(path, limits)
        return
    position, end = 0, 0
    with path.open("rb") as handle:
        try:
            line_spans = (span for span in find_spans(path, expand=LOGLINES) if span.is_expanded)
            for position, span in enumerate(line_spans, start=1):
                end = span.end
                try:
                    yield RawRecord(position, read_span(handle, span.start, span.end, limits.max_row_bytes), end)
                except InvalidInput as error:
                    yield RawRecord(position, b"", end, str(error))
        except ImportFailed as error:  # truncated, or followed by other text: keep the lines before
            yield RawRecord(position + 1, b"", end, one_line(str(error)))


class _Session:
    """The open requests of a file: those of the user, and those to sub-agents."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: dict[tuple[str, str], Request] = {}
        self._ended: list[Request] = []
        self._conversation_by_line: dict[str, tuple[str, str]] = {}
        self._tools: dict[str, str] = {}
        self._message = ""

    def add_record(self, record: RawRecord) -> None:
        """Add a line to the requests.

        Raises:
            InvalidInput: The line cannot be read, or answers a request that is not in the file.
        """
        line = as_object(record.value(), "the line")
        kind = required_text(line, "type", "type")
        if kind not in ("user", AGENT):
            return
        message = as_object(line.get("message"), "message")
        if "content" not in message:
            raise InvalidInput("expected a string or a list for message.content, got nothing")
        key = self._conversation_key(line)
        if kind == AGENT:
            self._add_answer(line, message, key, len(record.raw))
        else:
            self._add_user_message(line, message, key, record)

    def pop_ended(self, offset: int) -> Iterator[Row]:
        """Yield the attempt for each request that ended since the last call."""
        ended, self._ended = self._ended, []
        for request in ended:
            if request.was_answered:
                yield make_row(request.position, request.attempt, offset=offset, n_bytes=request.n_bytes)

    def finish(self, offset: int) -> Iterator[Row]:
        """Yield the attempts for the requests that are still open at the end of the file."""
        self._ended += self._open.values()
        yield from self.pop_ended(offset)

    def _conversation_key(self, line: Json) -> tuple[str, str]:
        """Return the key of a line's conversation: the session, and the thread with the user or a sub-agent."""
        session = as_text(line.get("sessionId"), "sessionId") or self._name
        uuid = as_text(line.get("uuid"), "uuid")
        if not line.get("isSidechain"):
            key = (session, "")
        elif agent := as_text(line.get("agentId"), "agentId"):
            key = (session, agent)
        else:
            parent = as_text(line.get("parentUuid"), "parentUuid")
            key = self._conversation_by_line.get(parent, (session, uuid or "sidechain"))
        if uuid:
            self._conversation_by_line[uuid] = key
        return key

    def _add_answer(self, line: Json, message: Json, chain: tuple[str, str], n_bytes: int) -> None:
        request = self._open.get(chain)
        if request is None:
            raise InvalidInput(
                "the message answers a request that is not in the file, so its task is unknown; "
                "import the complete session"
            )
        reply = self._decode_answer(message)
        message_id = as_text(message.get("id"), "message.id")
        last = request.messages[-1] if request.messages else None
        if message_id and message_id == self._message and last is not None and last.role == AGENT:
            request.messages[-1] = _join_messages(last, reply)  # one message may span several lines
        else:
            request.messages.append(reply)
        self._message = message_id
        request.spending.add(message_id or as_text(line.get("uuid"), "uuid"), message.get("usage"))
        model = as_text(message.get("model"), "message.model")
        request.agent = model if model and model != "<synthetic>" else request.agent
        request.error = reply.text if line.get("isApiErrorMessage") else ""
        request.record_time(as_instant(line.get("timestamp"), "timestamp"), n_bytes)

    def _decode_answer(self, message: Json) -> Message:
        value = message["content"]
        parts = value if isinstance(value, list) else [{"type": "text", "text": value}]
        calls = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_use"]
        content = conversation.read_content([part for part in parts if part not in calls], "message.content")
        call_texts = []
        for call in calls:
            name = required_text(call, "name", "message.content.name")
            self._tools[as_text(call.get("id"), "message.content.id")] = name
            call_texts.append(replace_blobs(conversation.format_call(name, make_storable(call.get("input")))))
        return Message(role=AGENT, text=content.text, thought=content.thought, calls=tuple(call_texts))

    def _add_user_message(self, line: Json, message: Json, chain: tuple[str, str], record: RawRecord) -> None:
        text, answers = self._split_user_message(message)
        instant = as_instant(line.get("timestamp"), "timestamp")
        request = self._open.get(chain)
        if request is not None and answers:
            request.messages += answers
            self._record_sub_agent(request, line)
        task = "" if line.get("isMeta") or (line.get("isCompactSummary") and request) else user_request(text)
        if task and not answers:
            request = self._begin_request(line, task, chain, record)
        elif text and request is not None:
            request.messages.append(Message(role="user", text=text))
        elif answers and request is None:
            raise InvalidInput(
                "the message has the result of a tool call that is not in the file; import the complete session"
            )
        if request is not None:
            request.record_time(instant if answers else None, len(record.raw))

    def _begin_request(self, line: Json, text: str, chain: tuple[str, str], record: RawRecord) -> Request:
        previous = self._open.pop(chain, None)
        uuid = as_text(line.get("uuid"), "uuid")
        request = Request(
            source=SOURCE,
            text=text,
            position=record.position,
            session=chain[0],
            key=uuid or f"{chain[0]} {as_text(line.get('timestamp'), 'timestamp')}",
            context=drop_missing(
                directory=as_text(line.get("cwd"), "cwd"), branch=as_text(line.get("gitBranch"), "gitBranch")
            ),
            metadata=drop_missing(version=as_text(line.get("version"), "version")),
        )
        if chain[1]:
            caller = self._open.get((chain[0], ""))
            request.metadata |= drop_missing(subagent=chain[1], called_by=caller.id if caller else None)
        if previous is not None:
            if previous.was_answered:
                request.metadata["follows"] = previous.id
            self._ended.append(previous)
        self._open[chain] = request
        return request

    @staticmethod
    def _record_sub_agent(request: Request, line: Json) -> None:
        """Record the sub-agent that returned a result. The sub-agent's log may be in another file."""
        result = line.get("toolUseResult")
        agent = result.get("agentId") if isinstance(result, dict) else None
        if isinstance(agent, str) and agent:
            request.metadata.setdefault("subagents", []).append(agent)

    def _split_user_message(self, message: Json) -> tuple[str, list[Message]]:
        """Return the text of a user message, and the tool results in it."""
        value = message["content"]
        parts = value if isinstance(value, list) else [{"type": "text", "text": as_text(value, "message.content")}]
        results = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_result"]
        text = conversation.read_content([part for part in parts if part not in results], "message.content").text
        return text, [self._decode_result(result) for result in results]

    def _decode_result(self, result: Json) -> Message:
        return Message(
            role="tool",
            text=conversation.read_content(result.get("content"), "tool_result.content").text,
            tool=self._tools.get(as_text(result.get("tool_use_id"), "tool_use_id"), ""),
            has_failed=result.get("is_error") is True,
        )


def user_request(text: str) -> str:
    """Return the request in a user message, or '' if the program wrote it.

    A slash command is returned as name and arguments.
    """
    text = _REMINDER.sub("", text).strip()
    if text.startswith(_PROGRAM_PREFIXES):
        return ""
    if text.startswith("<command-") and (name := _COMMAND.search(text)):
        arguments = _ARGUMENTS.search(text)
        return f"{name[1].strip()} {arguments[1].strip() if arguments else ''}".strip()
    return text


def _join_messages(first: Message, second: Message) -> Message:
    return replace(
        first,
        text="\n\n".join(text for text in (first.text, second.text) if text),
        thought="\n\n".join(text for text in (first.thought, second.thought) if text),
        calls=first.calls + second.calls,
    )
