"""Messages of the clients `anthropic` and `openai`, as a task, steps and an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from atlas.core.json_values import to_text
from atlas.core.types import Step

CALLS = ("tool_use", "function_call", "function", "custom_tool_call")
"""Types of message parts that are tool calls."""

RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")


def messages_of(arguments: Mapping[str, Any]) -> list[Any]:
    """Return the messages in the arguments of a `create` call."""
    value = arguments.get("messages", arguments.get("input", ()))
    return [{"role": "user", "content": value}] if isinstance(value, str) else list(value)


def last_task(messages: Sequence[Any]) -> str:
    """Return the text of the user's last message, or an empty string."""
    return next((text for message in reversed(messages) if (text := _user_text(message))), "")


def steps_of(messages: Sequence[Any]) -> list[Step]:
    """Return the steps since the user's last message: the model's texts, its tool calls and their results."""
    start = max((index for index, message in enumerate(messages) if _user_text(message)), default=-1)
    steps: list[Step] = []
    for message in messages[start + 1 :]:
        if result := _tool_results(message):
            if steps and not steps[-1].observation:
                steps[-1] = replace(steps[-1], observation=result)
            else:
                steps.append(Step("", "", result))
        elif (thought := _text(message)) or _tool_calls(message):
            steps.append(Step(thought, "\n".join(map(_call_text, _tool_calls(message)))))
    return steps


def answer_of(response: Any) -> str:
    """Return the text of a response, or an empty string if the response calls a tool."""
    choices = _get_member(response, "choices")
    items = [_get_member(choices[0], "message")] if choices else _get_member(response, "output") or [response]
    return "" if any(map(_tool_calls, items)) else "\n".join(filter(None, map(_text, items)))


def _user_text(message: Any) -> str:
    return _text(message) if _get_member(message, "role") == "user" else ""


def _text(message: Any) -> str:
    content = _get_member(message, "content") or ""
    if isinstance(content, str):
        return content.strip()
    return "\n".join(text for part in content if isinstance(text := _get_member(part, "text"), str)).strip()


def _tool_calls(message: Any) -> list[Any]:
    """Return the tool calls in a message, or the message itself if it is a tool call."""
    parts = [message, *_blocks(message), *(_get_member(message, "tool_calls") or ())]
    return [part for part in parts if _get_member(part, "type") in CALLS]


def _tool_results(message: Any) -> str:
    """Return the text of the tool results in a message, or an empty string."""
    if _get_member(message, "role") == "tool":
        return _text(message)
    parts = [part for part in (message, *_blocks(message)) if _get_member(part, "type") in RESULTS]
    return "\n".join(
        to_text(_get_member(part, "output")) if _get_member(part, "output") else _text(part) for part in parts
    )


def _blocks(message: Any) -> list[Any]:
    content = _get_member(message, "content")
    return list(content) if isinstance(content, list | tuple) else []


def _call_text(call: Any) -> str:
    function = _get_member(call, "function") or call
    arguments = _get_member(function, "arguments") or _get_member(function, "input") or ""
    return f"{_get_member(function, 'name')} {arguments if isinstance(arguments, str) else to_text(arguments)}".strip()


def _get_member(value: Any, name: str) -> Any:
    """Return the value of a dictionary's key or of an object's attribute, or None if it is missing."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
