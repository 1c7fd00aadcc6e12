"""Lossless conversion of a strategy's parameters to editable lines, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from atlas.core.codec import parse_parameters
from atlas.core.errors import InvalidInput

HOW = "`name (type): what it is`, one a line"

_LINE = re.compile(
    r"(?P<name>[^\s():][^():]*?)\s*(?:\((?P<type>[^()]+)\))?\s*(?::\s*(?P<description>.+?))??"
    r"\s*(?:\[such as (?P<example>.+)\])?"
)


def parameters_text(parameters: Sequence[Mapping[str, str]]) -> str:
    """Return a line for each parameter: `reservation_id (text): the booking's number [such as ZFA04Y]`."""
    return "\n".join(_line(parameter) for parameter in parameters)


def parameters_in(text: str) -> tuple[dict[str, str], ...]:
    """Return the parameters in lines of text.

    Raises:
        InvalidInput: A line cannot be read, or two name the same parameter.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = tuple(_read(line) for line in lines)
    names = [parameter["name"] for parameter in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"a parameter should be named once, but {twice!r} is on several lines; keep one")
    return found


def _line(parameter: Mapping[str, str]) -> str:
    line = parameter["name"]
    line += f" ({parameter['type']})" if parameter.get("type") else ""
    line += f": {parameter['description']}" if parameter.get("description") else ""
    line += f" [such as {parameter['example']}]" if parameter.get("example") else ""
    matched = _LINE.fullmatch(line)
    is_kept = matched is not None and _named(matched) == dict(parameter)
    if is_kept and "\n" not in line:
        return line
    return json.dumps(dict(parameter), ensure_ascii=False)


def _read(line: str) -> dict[str, str]:
    if line.startswith("{"):
        try:
            parameter = json.loads(line)
        except json.JSONDecodeError as error:
            raise InvalidInput(f"expected JSON in a line that begins with {{, got {line[:80]!r}") from error
        return parse_parameters([parameter])[0]
    matched = _LINE.fullmatch(line)
    if matched is None:
        raise InvalidInput(f"expected {HOW}, got {line[:80]!r}")
    return _named(matched)


def _named(matched: re.Match[str]) -> dict[str, str]:
    return {name: text for name, text in matched.groupdict().items() if text}
