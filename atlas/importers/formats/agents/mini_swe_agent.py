"""mini-SWE-agent's `.traj.json` files: one run each, in the current form or as a bare list of messages.

A run does not record whether it solved its task, so its outcome is unknown.

Source:
    https://github.com/SWE-agent/mini-swe-agent
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Task, Trajectory
from atlas.importers.fields import Json, as_list, as_number, as_object, as_text, drop_missing, replace_blobs
from atlas.importers.files import parse_json, read_document
from atlas.importers.formats import conversation
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.keys import document_keys, member_keys
from atlas.importers.logs import stable_id
from atlas.importers.rows import Limits, Row, make_row
from atlas.importers.spending import Spending

SOURCE = "mini-swe-agent"
EXIT = "exit"
"""Role of the message that ends a run and repeats the contents of `info`."""

_TASKS = (
    ("<pr_description>\nConsider the following PR description:", "</pr_description>"),
    ("\nPlease solve this issue:", "\nYou can execute bash commands"),
)
"""Texts before and after the task in the prompts of mini-SWE-agent's own configurations."""

_COMMAND = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURN_CODE = re.compile(r"<returncode>(-?\d{1,10})</returncode>")
_MARKS = (b"mswea_bash_command", b"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file is a run, or a list of messages that begins with the agent's own prompt."""
    if {"info", "messages"} <= document_keys(head):
        return bool(member_keys(head) & {"exit_status", "model_stats", "mini_version"})
    return head.lstrip().startswith(b"[") and any(mark in head for mark in _MARKS)


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the file's only run."""
    raw = read_document(path, limits)
    yield make_row(1, lambda: _decode_attempt(parse_json(raw)), offset=len(raw), n_bytes=len(raw))


def _decode_attempt(document: Any) -> Trajectory:
    run = {"messages": document} if isinstance(document, list) else as_object(document, "the file")
    info = as_object(run.get("info") or {}, "info")
    message_list = [
        as_object(message, f"messages[{n}]") for n, message in enumerate(as_list(run.get("messages"), "messages"))
    ]
    messages = [
        _decode_message(message, f"messages[{n}]")
        for n, message in enumerate(message_list)
        if message.get("role") != EXIT
    ]
    first = next((n for n, message in enumerate(messages) if message.role == AGENT), len(messages))
    description = _task_description(messages[:first])
    steps = conversation.to_steps(messages[first:])
    exit_status = as_text(info.get("exit_status"), "info.exit_status")
    submission = as_text(info.get("submission"), "info.submission").strip()
    return Trajectory(
        id=stable_id(SOURCE, [(message.role, message.text, message.calls) for message in messages]),
        task=Task(f"{SOURCE}/{stable_id(description)[:12]}", "", description),
        steps=steps,
        outcome=Outcome(None, error_info=exit_status if exit_status not in ("", "Submitted") else None),
        agent_id=_model(info),
        timestamp=_ended_at(message_list),
        metadata=drop_missing(
            source=SOURCE,
            exit_status=exit_status,
            submission=submission,
            solution=submission or conversation.final_action(messages),
        )
        | _spending(message_list, info).metadata(),
    )


def _task_description(prompts: Sequence[Message]) -> str:
    prompt = next((message.text for message in prompts if message.role == "user"), "")
    if not prompt.strip():
        raise InvalidInput("expected a user message with the task before the first answer in messages, got none")
    return conversation.enclosed_text(prompt, _TASKS)


def _decode_message(message: Json, name: str) -> Message:
    """Return a message of chat completions or of the Responses API."""
    extra = as_object(message.get("extra") or {}, f"{name}.extra")
    if message.get("type") == "function_call_output":
        text = conversation.read_content(message.get("output"), f"{name}.output").text
        return Message(role="tool", text=text, tool="bash", has_failed=_has_failed(extra, text))
    if "output" in message:
        return _with_commands(_decode_response(message, f"{name}.output"), extra, name)
    decoded = conversation.openai_message(message, name)
    if decoded.role == AGENT:
        return _with_commands(decoded, extra, name)
    return replace(decoded, has_failed=_has_failed(extra, decoded.text))


def _decode_response(message: Json, name: str) -> Message:
    items = [as_object(item, f"{name}[{n}]") for n, item in enumerate(as_list(message["output"], name))]
    texts = [
        conversation.read_content(item.get("content"), name).text for item in items if item.get("type") == "message"
    ]
    thoughts = [
        conversation.read_content(item.get("summary"), name).text for item in items if item.get("type") == "reasoning"
    ]
    return Message(role=AGENT, text="\n\n".join(texts), thought="\n\n".join(filter(None, thoughts)))


def _with_commands(message: Message, extra: Json, name: str) -> Message:
    """Return an answer of the agent. Its commands become the action, and the rest of its text the thought."""
    actions = as_list(extra.get("actions"), f"{name}.extra.actions")
    commands = [as_text(as_object(action, f"{name}.extra.actions").get("command"), "command") for action in actions]
    commands = [command for command in commands if command]
    if not commands:
        commands = [command.strip() for command in _COMMAND.findall(message.text)]
    if not commands:
        return message
    text = _COMMAND.sub("", message.text).strip().removeprefix("THOUGHT:").strip()
    return replace(message, text=text, calls=tuple(replace_blobs(command) for command in commands))


def _has_failed(extra: Json, text: str) -> bool:
    code = extra.get("returncode")
    if code is None and (return_code := _RETURN_CODE.search(text[:200])):
        code = int(return_code[1])
    return code not in (None, 0)


def _model(info: Json) -> str:
    """Return the name of the language model, or an empty string."""
    value: Any = info
    for key in ("config", "model", "model_name"):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _spending(messages: Sequence[Json], info: Json) -> Spending:
    """Return the total tokens and the cost of the run."""
    spending, stats = Spending(), info.get("model_stats")
    for number, message in enumerate(messages):
        extra = message.get("extra")
        response = extra.get("response") if isinstance(extra, dict) else None
        source = response if isinstance(response, dict) else message
        spending.add(f"{number}", source.get("usage"))
    cost = stats.get("instance_cost") if isinstance(stats, dict) else None
    spending.add("run", None, cost)
    return spending


def _ended_at(messages: Sequence[Json]) -> datetime | None:
    extras = [message["extra"] for message in messages if isinstance(message.get("extra"), dict)]
    seconds = [as_number(extra.get("timestamp"), "extra.timestamp") for extra in extras]
    times = [instant for instant in seconds if instant is not None]
    try:
        return datetime.fromtimestamp(max(times), UTC) if times else None
    except (OverflowError, ValueError, OSError) as error:
        raise InvalidInput(f"expected seconds since 1970 for extra.timestamp, got {max(times)!s:.40}") from error
