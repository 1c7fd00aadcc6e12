"""Messages of the clients `anthropic` and `openai`, as a task, steps and an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from atlas.core.json_values import to_text
from atlas.core.types import Step

CALLS = ("tool_use", "function_call", "function", "custom_tool_call")
"""Types of a call of a tool."""

RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")


def messages_of(arguments: Mapping[str, Any]) -> list[Any]:
    """Return the messages in the arguments of a call."""
    value = arguments.get("messages", arguments.get("input", ()))
    return [{"role": "user", "content": value}] if isinstance(value, str) else list(value)


def last_task(messages: Sequence[Any]) -> str:
    """Return the text of the user's last message, or an empty string."""
    return next((text for message in reversed(messages) if (text := _user_text(message))), "")


def steps_of(messages: Sequence[Any]) -> list[Step]:
    """Return the steps since the user's last message: thoughts, calls of tools and their results."""
    start = max((index for index, message in enumerate(messages) if _user_text(message)), default=-1)
    steps: list[Step] = []
    for message in messages[start + 1 :]:
        if result := _result(message):
            if steps and not steps[-1].observation:
                steps[-1] = replace(steps[-1], observation=result)
            else:
                steps.append(Step("", "", result))
        elif (thought := _text(message)) or _calls(message):
            steps.append(Step(thought, "\n".join(map(_call_text, _calls(message)))))
    return steps


def answer_of(response: Any) -> str:
    """Return the text of a response, empty if it calls a tool."""
    choices = _part(response, "choices")
    items = [_part(choices[0], "message")] if choices else _part(response, "output") or [response]
    return "" if any(map(_calls, items)) else "\n".join(filter(None, map(_text, items)))


def _user_text(message: Any) -> str:
    return _text(message) if _part(message, "role") == "user" else ""


def _text(message: Any) -> str:
    content = _part(message, "content") or ""
    if isinstance(content, str):
        return content.strip()
    return "\n".join(text for part in content if isinstance(text := _part(part, "text"), str)).strip()


def _calls(message: Any) -> list[Any]:
    """Return the calls of tools in a message, or the message itself if it is a call."""
    parts = [message, *_blocks(message), *(_part(message, "tool_calls") or ())]
    return [part for part in parts if _part(part, "type") in CALLS]


def _result(message: Any) -> str:
    """Return the results of tools in a message, or an empty string."""
    if _part(message, "role") == "tool":
        return _text(message)
    parts = [part for part in (message, *_blocks(message)) if _part(part, "type") in RESULTS]
    return "\n".join(to_text(_part(part, "output")) if _part(part, "output") else _text(part) for part in parts)


def _blocks(message: Any) -> list[Any]:
    content = _part(message, "content")
    return list(content) if isinstance(content, list | tuple) else []


def _call_text(call: Any) -> str:
    function = _part(call, "function") or call
    arguments = _part(function, "arguments") or _part(function, "input") or ""
    return f"{_part(function, 'name')} {arguments if isinstance(arguments, str) else to_text(arguments)}".strip()


def _part(value: Any, name: str) -> Any:
    """Return a part of a dictionary or of an object of a client, or None."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
