"""Tool calls in the text of an action: which tool, with which arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from atlas.views.shared.wording import shortened

SUMMARY_CHARACTERS = 150
_VALUE_CHARACTERS = 60

_NAME = re.compile(r"^([A-Za-z_][\w.:/-]{0,99})\((?=[{\[)])", re.MULTILINE)
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool. All of it is untrusted text."""

    name: str
    arguments: tuple[tuple[str, str], ...]
    """Name and value of each, in their order. An argument of a list has an empty name."""

    @property
    def summary(self) -> str:
        """The arguments on one line: `path: /a.py, limit: 20`."""
        short = (f"{name}: {_on_a_line(value)}" if name else _on_a_line(value) for name, value in self.arguments)
        return shortened(", ".join(short), SUMMARY_CHARACTERS)


def pieces(action: str) -> Iterator[str | Call]:
    """Yield the texts and the calls of an action in their order.

    A call is written `name({…})`, with JSON as its arguments, and begins a line, as importers write it.
    """
    at = 0
    for match in _NAME.finditer(action):
        if match.start() < at:  # inside of the call before
            continue
        parsed = _arguments(action, match.end())
        if parsed is None:
            continue
        value, end = parsed
        if before := action[at : match.start()].strip():
            yield before
        yield Call(name=match[1], arguments=tuple(_named(value)))
        at = end
    if rest := action[at:].strip():
        yield rest


def as_text(value: Any) -> str:
    """Return a readable form of a value: a string unchanged, anything else as indented JSON."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _arguments(action: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON value from an offset up to a closing bracket, and its end, or None if it is not JSON."""
    if action[start] == ")":
        return {}, start + 1
    try:
        value, end = _decoder.raw_decode(action, start)
    except (ValueError, RecursionError):
        return None
    return (value, end + 1) if action[end : end + 1] == ")" else None


def _named(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield from ((str(name), as_text(argument)) for name, argument in value.items())
    else:
        yield from (("", as_text(argument)) for argument in value)


def _on_a_line(value: str) -> str:
    return shortened(" ".join(value[: 4 * _VALUE_CHARACTERS].split()), _VALUE_CHARACTERS)
