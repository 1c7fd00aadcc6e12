"""Chats of Copilot in VS Code, stored or exported: one attempt per user request.

The user's vote on the answer is the outcome, which is unknown without a vote.

Source:
    https://github.com/microsoft/vscode, `src/vs/workbench/contrib/chat/common`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Trajectory
from atlas.importers.fields import (
    Json,
    as_list,
    as_number,
    as_object,
    as_text,
    drop_missing,
    replace_blobs,
    required_text,
)
from atlas.importers.files import parse_json, read_document
from atlas.importers.formats import conversation
from atlas.importers.formats.agents.sessions import Request
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.keys import document_keys
from atlas.importers.rows import Limits, Row, make_row

SOURCE = "vscode-chat"

_VOTES: dict[float | None, str] = {0: "down", 1: "up"}


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file is a chat: an object with requests, and with its participants or its session id."""
    keys = document_keys(head)
    if keys.isdisjoint({"responderUsername", "requesterUsername", "sessionId"}):
        return False
    return "requests" in keys or b'"vscode' in head


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield an attempt for each answered request."""
    raw = read_document(path, limits)
    try:
        chat = as_object(parse_json(raw), "the file")
        requests = as_list(chat.get("requests"), "requests")
    except InvalidInput as error:
        yield Row(1, None, str(error), offset=len(raw))
        return
    session_id = chat.get("sessionId")
    session = session_id if isinstance(session_id, str) else path.stem
    previous = ""
    for position, value in enumerate(requests, start=1):
        row = make_row(position, partial(_decode_attempt, value, position, session, previous), offset=len(raw))
        if isinstance(row.item, Trajectory):
            if not row.item.steps:
                continue
            previous = row.item.id
        yield row


def _decode_attempt(value: Any, position: int, session: str, previous: str) -> Trajectory:
    request = as_object(value, "the request")
    message = as_object(request.get("message"), "message")
    parts = [as_object(part, f"response[{n}]") for n, part in enumerate(as_list(request.get("response"), "response"))]
    result = as_object(request.get("result") or {}, "result")
    error = as_object(result.get("errorDetails") or {}, "result.errorDetails")
    vote = as_number(request.get("vote"), "vote")
    return Request(
        source=SOURCE,
        text=required_text(message, "text", "message.text").strip(),
        position=position,
        session=session,
        key=as_text(request.get("requestId"), "requestId") or f"{session} {position}",
        ended_at=_ended_at(request, result),
        agent=as_text(request.get("modelId"), "modelId"),
        error=as_text(error.get("message"), "errorDetails.message")
        or ("cancelled" if request.get("isCanceled") else ""),
        vote=_VOTES.get(vote, ""),
        metadata=drop_missing(follows=previous),
        messages=_decode_messages(parts),
    ).attempt()


def _decode_messages(parts: Sequence[Json]) -> list[Message]:
    """Return the answer as messages. A message ends with a tool call."""
    messages: list[Message] = []
    text, thought = "", ""
    for part in parts:
        kind = as_text(part.get("kind"), "kind")
        if kind == "thinking":
            thought = "\n\n".join(filter(None, (thought, _decode_string(part.get("value")))))
        elif kind == "inlineReference":
            text += as_text(part.get("name"), "name") or _decode_path(part.get("inlineReference"))
        elif kind in ("", "markdownContent"):
            text += _decode_string(part.get("value", part.get("content")))
        elif kind in ("textEditGroup", "notebookEditGroup"):
            messages.append(Message(role=AGENT, text=text.strip(), thought=thought, calls=(_edit_call(part),)))
            text, thought = "", ""
        elif kind == "toolInvocationSerialized":
            messages.append(Message(role=AGENT, text=text.strip(), thought=thought, calls=(_tool_call(part),)))
            messages.append(_tool_result(part))
            text, thought = "", ""
    if text.strip() or thought:
        messages.append(Message(role=AGENT, text=text.strip(), thought=thought))
    return messages


def _tool_call(part: Json) -> str:
    """Return a tool call as text, with the command of a terminal or the displayed text of another tool as argument."""
    command = _tool_data(part).get("commandLine")
    if isinstance(command, dict):
        command = command.get("userEdited") or command.get("toolEdited") or command.get("original")
    arguments = command if isinstance(command, str) else _decode_string(part.get("invocationMessage"))
    return replace_blobs(conversation.format_call(as_text(part.get("toolId"), "toolId") or "tool", arguments))


def _tool_result(part: Json) -> Message:
    tool_data = _tool_data(part)
    output, state = tool_data.get("terminalCommandOutput"), tool_data.get("terminalCommandState")
    text = _decode_string(output.get("text")) if isinstance(output, dict) else ""
    details = part.get("resultDetails")
    is_error = isinstance(details, dict) and details.get("isError") is True
    code = state.get("exitCode") if isinstance(state, dict) else None
    return Message(
        role="tool",
        text=replace_blobs(text or _result_text(details) or _decode_string(part.get("pastTenseMessage"))),
        tool=as_text(part.get("toolId"), "toolId"),
        has_failed=is_error or code not in (None, 0),
    )


def _tool_data(part: Json) -> Json:
    return as_object(part.get("toolSpecificData") or {}, "toolSpecificData")


def _result_text(details: Any) -> str:
    """Return the result of a tool: a list of values, or an object with the output of an MCP tool."""
    output_list = details.get("output") if isinstance(details, dict) else details
    if isinstance(output_list, str):
        return output_list
    if not isinstance(output_list, list):
        return ""
    return "\n\n".join(filter(None, map(_decode_string, output_list)))


def _edit_call(part: Json) -> str:
    edits: list[Any] = []
    for edit in as_list(part.get("edits"), "edits"):
        edits += edit if isinstance(edit, list) else [edit]
    texts = [_decode_string(edit.get("text")) for edit in edits if isinstance(edit, dict)]
    return replace_blobs(
        conversation.format_call("edit", {"path": _decode_path(part.get("uri")), "text": "\n".join(texts).strip("\n")})
    )


def _decode_path(value: Any) -> str:
    """Return the path in a file's URI. The URI may be nested in a location."""
    uri = value.get("uri", value) if isinstance(value, dict) else {}
    path = (uri.get("fsPath") or uri.get("path")) if isinstance(uri, dict) else ""
    return path if isinstance(path, str) else ""


def _decode_string(value: Any) -> str:
    """Return a string, the `value` of a Markdown string, or the strings of a list."""
    if isinstance(value, dict):
        value = value.get("value")
    if isinstance(value, list):
        return "\n\n".join(item for item in value if isinstance(item, str))
    return value if isinstance(value, str) else ""


def _ended_at(request: Json, result: Json) -> datetime | None:
    started = as_number(request.get("timestamp"), "timestamp")
    if started is None:
        return None
    timings = as_object(result.get("timings") or {}, "result.timings")
    milliseconds = started + (as_number(timings.get("totalElapsed"), "timings.totalElapsed") or 0)
    try:
        return datetime.fromtimestamp(milliseconds / 1_000, UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise InvalidInput(f"expected milliseconds since 1970 for timestamp, got {milliseconds!s:.40}") from error
