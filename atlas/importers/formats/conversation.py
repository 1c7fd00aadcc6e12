"""Chat messages as steps: the action is a message of the agent, the observation all others up to the agent's next."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from atlas.core.types import Step
from atlas.importers.fields import Json, as_list, as_object, as_text, replace_blobs, required_text

AGENT = "assistant"
SYSTEM = ("system", "developer")
TEXTS = ("text", "input_text", "output_text", "summary_text")
"""Types of message parts that are text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    role: str
    """Role of the author: `assistant` is the agent. Messages of all others are observations."""

    text: str = ""
    thought: str = ""
    calls: tuple[str, ...] = ()
    """Tool calls, each as `name(arguments)`."""

    tool: str = ""
    """Name of the answering tool, or ''."""

    has_failed: bool = False
    """True for the answer of a tool call that failed."""

    @property
    def speaker(self) -> str:
        """The role, with the tool's name for tools: `user`, `tool search`."""
        return f"{self.role} {self.tool}".strip()

    @property
    def action(self) -> str:
        """The tool calls, or else the text."""
        return "\n".join(self.calls) or self.text


def split_system(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """Return the leading system messages of a conversation, and the other messages."""
    n_system = next((n for n, message in enumerate(messages) if message.role not in SYSTEM), len(messages))
    return "\n\n".join(message.text for message in messages[:n_system]), list(messages[n_system:])


def to_steps(messages: Sequence[Message]) -> tuple[Step, ...]:
    """Return the whole conversation as steps.

    The messages before the agent's first one are the observation of a step without an action. A step's metadata names
    the speaker in `observation_from`.
    """
    bounds = [n for n, message in enumerate(messages) if message.role == AGENT] + [len(messages)]
    opening = [_make_step(None, messages[: bounds[0]])] if bounds[0] else []
    return (*opening, *(_make_step(messages[start], messages[start + 1 : end]) for start, end in pairwise(bounds)))


def final_action(messages: Sequence[Message]) -> str:
    """Return the agent's last tool call and the text after it. Without tool calls, return the last message."""
    agent_messages = [message for message in messages if message.role == AGENT and message.action]
    last_call = max((n for n, message in enumerate(agent_messages) if message.calls), default=len(agent_messages) - 1)
    return "\n\n".join(message.action for message in agent_messages[max(last_call, 0) :])


def format_call(name: str, arguments: Any) -> str:
    """Return a tool call as `name(arguments)`, with the arguments as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"{name}({text})"


def openai_message(message: Json, name: str) -> Message:
    """Return a message of OpenAI's chat completions.

    Args:
        message: The message, as `{"role", "content", "tool_calls"}`.
        name: Name of the field in errors.
    """
    parts = read_content(message.get("content"), f"{name}.content")
    reasoning = message.get("reasoning_content")
    calls = as_list(message.get("tool_calls"), f"{name}.tool_calls")
    return Message(
        role=required_text(message, "role", f"{name}.role"),
        text=parts.text,
        thought=parts.thought or (reasoning if isinstance(reasoning, str) else ""),
        calls=tuple(_openai_call(item, f"{name}.tool_calls[{n}]") for n, item in enumerate(calls)),
        tool=as_text(message.get("name"), f"{name}.name"),
    )


def _openai_call(value: Any, name: str) -> str:
    function = as_object(as_object(value, name).get("function"), f"{name}.function")
    function_name = required_text(function, "name", f"{name}.function.name")
    return replace_blobs(format_call(function_name, function.get("arguments", "")))


def enclosed_text(text: str, markers: Sequence[tuple[str, str]]) -> str:
    """Return the part between the first pair of markers that occurs in a text, or the whole text if none does."""
    lines = "\n" + text.replace("\r\n", "\n")
    enclosed = (lines.partition(start)[2].partition(end)[0].strip() for start, end in markers)
    return next((part for part in enclosed if part), lines.strip())


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a message, and the author's reasoning before it."""

    text: str
    thought: str = ""


def read_content(value: Any, name: str, resolve: Callable[[str], str] = str) -> Content:
    """Return a message's content: a string, null, or a list of parts.

    Other parts become placeholders such as `[image]`.

    Args:
        value: The content.
        name: Name of the field in error messages.
        resolve: Function that replaces a reference to a text by the text.
    """
    if value is None or isinstance(value, str):
        return Content(replace_blobs(resolve(as_text(value, name))))
    parts = [_part_content(part, f"{name}[{n}]", resolve) for n, part in enumerate(as_list(value, name))]
    return Content(_join_texts(part.text for part in parts), _join_texts(part.thought for part in parts))


def _part_content(part: Any, name: str, resolve: Callable[[str], str]) -> Content:
    if isinstance(part, str):
        return Content(replace_blobs(resolve(part)))
    part = as_object(part, name)
    kind = as_text(part.get("type"), f"{name}.type")
    if kind in TEXTS or (not kind and "text" in part):
        return Content(replace_blobs(resolve(as_text(part.get("text"), f"{name}.text"))))
    if kind in ("reasoning", "thinking"):
        thought = as_text(part.get("reasoning", part.get("thinking")), f"{name}.{kind}")
        return Content("", "[redacted]" if part.get("redacted") else replace_blobs(resolve(thought)))
    return Content(f"[{kind.removesuffix('_url')[:40] or 'unknown'}]")


def _make_step(turn: Message | None, replies: Sequence[Message]) -> Step:
    metadata: dict[str, Any] = {}
    if replies:
        metadata["observation_from"] = ", ".join(dict.fromkeys(reply.speaker for reply in replies))
    if any(reply.has_failed for reply in replies):
        metadata["failed"] = True
    if turn is None:
        return Step(observation=_join_replies(replies), metadata=metadata)
    speech = turn.text if turn.calls else ""
    return Step(
        thought=_join_texts([turn.thought, speech]),
        action=turn.action,
        observation=_join_replies(replies),
        metadata=metadata,
    )


def _join_replies(replies: Sequence[Message]) -> str:
    if len(replies) == 1:
        return replies[0].text
    return _join_texts(f"[{reply.speaker}] {reply.text}" for reply in replies)


def _join_texts(texts: Any) -> str:
    return "\n\n".join(text for text in texts if text)
