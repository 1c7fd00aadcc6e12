"""Which steps of an attempt went wrong, and at which line of their output."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from atlas.core.types import Step

LOOKED_AT = 20_000
"""Number of characters at each end of a text that are searched for an error."""

_ERROR = re.compile(
    r"^Traceback \(most recent call last\)|^(?:\w+\.)*\w*(?:Error|Exception)\b\s*(?::|$)|^\s*(?:error|fatal|panic)\s*:"
    r"|\bexit (?:code|status):? *[1-9]|\bcommand not found\b|\bNo such file or directory\b|\bpermission denied\b"
    r"|(?-i:^(?:FAILED|FAIL)\b)|\bsegmentation fault\b",
    re.IGNORECASE | re.MULTILINE,
)
ERROR_KEYS = ("error", "is_error", "exception", "failed")
STATUS_KEYS = ("exit_code", "returncode", "exit_status")


def has_error(step: Step) -> bool:
    """Return whether a step failed, by its metadata or its observation."""
    return _is_marked(step.metadata) or contains_error(step.observation)


def contains_error(output: str) -> bool:
    """Return whether the output of a program reports an error."""
    return bool(_ERROR.search(output[:LOOKED_AT]) or _ERROR.search(output[LOOKED_AT:][-LOOKED_AT:]))


def error_line(output: str) -> int:
    """Return the line, from 0, of the last report of an error in an output, 0 if there is none."""
    *_, end = (0, *(match.end() for match in _ERROR.finditer(output[:LOOKED_AT])))
    return output.count("\n", 0, end)


def _is_marked(metadata: Mapping[str, Any]) -> bool:
    statuses = (metadata.get(key) for key in STATUS_KEYS)
    return any(bool(metadata.get(key)) for key in ERROR_KEYS) or any(
        isinstance(status, int) and not isinstance(status, bool) and status != 0 for status in statuses
    )
