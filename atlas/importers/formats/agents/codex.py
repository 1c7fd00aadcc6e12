"""Codex's rollouts: one attempt per user request, as for other coding agents.

Written from the program's source code, and not tested with real files. A rollout does not record whether a request was
met, so every outcome is unknown.

Source:
    https://github.com/openai/codex
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
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
from atlas.importers.files import RawRecord, read_lines
from atlas.importers.formats import conversation
from atlas.importers.formats.agents.sessions import Request, Requests, attempts_of
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.keys import record_keys
from atlas.importers.rows import Limits, Row

SOURCE = "codex"

_PROGRAM_PREFIXES = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
    "# AGENTS.md instructions",
)
"""Prefixes of user messages that the program wrote."""


def matches(path: Path, head: bytes) -> bool:
    """Return whether lines have the envelope of a rollout, or the keys of the format's first versions."""
    keys = record_keys(head)
    if any({"timestamp", "type", "payload"} <= names for names in keys):
        return True
    return bool(keys) and {"id", "timestamp", "instructions"} <= keys[0]


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the attempts of a rollout as they end."""
    rollout = _Rollout(path.stem)
    yield from attempts_of(read_lines(path, limits), rollout.requests, rollout.add_record, path.stat().st_size)


class _Rollout:
    """The current request, and the metadata of the session."""

    def __init__(self, name: str) -> None:
        self._session, self._model = name, ""
        self._metadata: Json = {}
        self._context: Json = {}
        self.requests = Requests()
        self._tools: dict[str, str] = {}
        self._thoughts: list[str] = []

    def add_record(self, record: RawRecord) -> None:
        """Add a line to the requests.

        Raises:
            InvalidInput: The line cannot be read, or answers a request that is not in the file.
        """
        line = as_object(record.value(), "the line")
        is_wrapped = "payload" in line
        payload = as_object(line["payload"], "payload") if is_wrapped else line
        kind = as_text(line.get("type"), "type") or "session_meta"
        if kind == "session_meta":
            self._begin(payload)
        elif kind == "turn_context":
            self._model = as_text(payload.get("model"), "payload.model") or self._model
        elif kind == "event_msg":
            self._record_event(payload)
        elif kind == "response_item" or not is_wrapped:
            self._add_item(payload, line, record)

    def _begin(self, meta: Json) -> None:
        self._session = as_text(meta.get("id"), "payload.id") or self._session
        git = as_object(meta.get("git") or {}, "payload.git")
        self._context = drop_missing(
            directory=as_text(meta.get("cwd"), "payload.cwd"), branch=as_text(git.get("branch"), "git")
        )
        parent = _parent_session(meta.get("source")) or as_text(
            meta.get("parent_thread_id"), "payload.parent_thread_id"
        )
        self._metadata = drop_missing(
            version=as_text(meta.get("cli_version"), "payload.cli_version"), called_by_session=parent
        )

    def _record_event(self, event: Json) -> None:
        kind = as_text(event.get("type"), "payload.type")
        if self.requests.current is not None and kind == "token_count":
            info = event.get("info")
            usage = info.get("last_token_usage") if isinstance(info, dict) else None
            self.requests.current.spending.add(json.dumps(info, sort_keys=True), usage)
        if self.requests.current is not None and kind in ("error", "turn_aborted", "stream_error"):
            problem = event.get("message") or event.get("reason") or kind
            self.requests.current.error = as_text(problem, "payload.message")

    def _add_item(self, item: Json, line: Json, record: RawRecord) -> None:
        kind = as_text(item.get("type"), "payload.type")
        instant = as_instant(line.get("timestamp"), "timestamp")
        if kind == "message":
            self._add_message_item(item, line, record)
        elif kind == "reasoning":
            self._thoughts.append(conversation.read_content(item.get("summary"), "payload.summary").text)
            return
        elif kind.endswith("_output"):
            self.requests.answered_request().messages.append(self._decode_result(item))
        elif kind.endswith("_call"):
            self._add_message(Message(role=AGENT, calls=(self._decode_call(item, kind),)))
        if self.requests.current is not None and item.get("role") not in ("user", "developer", "system"):
            self.requests.current.record_time(instant, len(record.raw))

    def _add_message_item(self, item: Json, line: Json, record: RawRecord) -> None:
        if "content" not in item:
            raise InvalidInput("expected a list for payload.content, got nothing")
        text = conversation.read_content(item["content"], "payload.content").text.strip()
        role = required_text(item, "role", "payload.role")
        if role == AGENT:
            self._add_message(Message(role=AGENT, text=text))
        elif role == "user" and text and not text.startswith(_PROGRAM_PREFIXES):
            self._begin_request(text, as_text(line.get("timestamp"), "timestamp"), record)

    def _begin_request(self, text: str, instant: str, record: RawRecord) -> None:
        self._thoughts.clear()
        request = Request(
            source=SOURCE,
            text=text,
            position=record.position,
            session=self._session,
            key=f"{self._session} {instant or record.position}",
            context=self._context,
            metadata=dict(self._metadata),
        )
        self.requests.begin(request)

    def _add_message(self, message: Message) -> None:
        request = self.requests.answered_request()
        thought = "\n\n".join(text for text in self._thoughts if text)
        self._thoughts.clear()
        request.messages.append(Message(role=AGENT, text=message.text, thought=thought, calls=message.calls))
        request.agent, request.error = self._model, ""

    def _decode_call(self, item: Json, kind: str) -> str:
        name = as_text(item.get("name"), "payload.name") or kind.removesuffix("_call")
        self._tools[as_text(item.get("call_id"), "payload.call_id")] = name
        arguments: Any = next((item[key] for key in ("arguments", "input", "action") if key in item), {})
        return replace_blobs(conversation.format_call(name, make_storable(arguments)))

    def _decode_result(self, item: Json) -> Message:
        text, failed = _output(item.get("output"))
        return Message(
            role="tool",
            text=text,
            tool=self._tools.get(as_text(item.get("call_id"), "payload.call_id"), ""),
            has_failed=failed,
        )


def _output(value: Any) -> tuple[str, bool]:
    """Return the output of a tool, and whether the tool failed."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return replace_blobs(value), False
        if not isinstance(value, dict) or "output" not in value:
            return json.dumps(value, ensure_ascii=False), False
    if not isinstance(value, dict):
        return conversation.read_content(value, "payload.output").text, _exit_code(value) not in (None, 0)
    details = value.get("metadata")
    code = details.get("exit_code") if isinstance(details, dict) else None
    content = value.get("output", value.get("content"))
    return conversation.read_content(content, "payload.output").text, value.get("success") is False or code not in (
        None,
        0,
    )


def _exit_code(text: Any) -> int | None:
    """Return the exit code in the first lines of a command's output, or None if they contain none."""
    if not isinstance(text, str):
        return None
    for line in text[:400].splitlines()[:6]:
        for mark in ("Exit code: ", "Process exited with code "):
            code = line.removeprefix(mark).strip()
            if line.startswith(mark) and code.isascii() and code.isdigit() and len(code) < 6:
                return int(code)
    return None


def _parent_session(source: Any) -> str:
    """Return the id of the parent session that spawned this one as a sub-agent."""
    for key in ("subagent", "thread_spawn"):
        source = source.get(key) if isinstance(source, dict) else None
    parent = source.get("parent_thread_id") if isinstance(source, dict) else None
    return parent if isinstance(parent, str) else ""
