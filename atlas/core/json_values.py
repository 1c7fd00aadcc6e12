"""Validation of JSON for the ledger."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from atlas.core.errors import InvalidInput

MAX_DEPTH = 100
"""Maximum nesting of a value, so that recursive decoders do not fail."""

MAX_INTEGER_BITS = 4_096
"""Largest integer in bits. Few JSON decoders accept larger ones."""

Json = dict[str, Any]


def to_text(value: Any) -> str:
    """Return canonical JSON: sorted keys, no spaces, no NaN.

    Raises:
        InvalidInput: The value contains invalid JSON (NaN, a lone surrogate, a set, too deep …).
    """
    check_json(value, "value")
    return dump(value)


def dump(value: Any) -> str:
    """Return the canonical JSON of `to_text` for a value that is known to be valid."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def check_text(text: str, name: str) -> None:
    """Raise `InvalidInput`, naming the value, for a string that the ledger cannot store."""
    if not isinstance(text, str):
        raise InvalidInput(f"expected a string for {name}, got {text!r:.80}")
    problem = text_problem(text)
    if problem:
        raise InvalidInput(f"{name} {problem}")


def check_json(value: Any, name: str) -> None:
    """Raise `InvalidInput`, naming the value, unless the value is JSON that the ledger can store."""
    fault = _find_fault(value, 0)
    if fault is not None:
        raise InvalidInput(f"{name}{fault.path} {fault.problem}")


def text_problem(text: str) -> str:
    """Return why the ledger cannot store a string, or an empty string if it can."""
    if "\x00" in text:
        return "contains a NUL character; remove it"
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            return f"contains a lone surrogate at character {error.start}; it is not valid text"
    return ""


@dataclass(slots=True)
class _Fault:
    problem: str
    path: str = ""

    def with_parent(self, part: str) -> _Fault:
        return _Fault(self.problem, part + self.path)


def _find_fault(value: Any, depth: int) -> _Fault | None:
    """Return the first fault in a value, or None.

    The path is built on the way back, because faults are rare.
    """
    if depth > MAX_DEPTH:
        return _Fault(f"nests more than {MAX_DEPTH} levels deep; flatten it")
    if isinstance(value, dict | list | tuple):
        for part, item in value.items() if isinstance(value, dict) else enumerate(value):
            fault = _find_fault(item, depth + 1) or (_key_fault(part) if isinstance(value, dict) else None)
            if fault is not None:
                return fault.with_parent(f".{str(part)[:40]}" if isinstance(value, dict) else f"[{part}]")
        return None
    return _scalar_fault(value)


def _key_fault(key: Any) -> _Fault | None:
    return _scalar_fault(key) if isinstance(key, str) else _Fault(f"is under the key {key!r}; use a string as the key")


def _scalar_fault(value: Any) -> _Fault | None:
    if isinstance(value, str):
        problem = text_problem(value)
        return _Fault(problem) if problem else None
    if isinstance(value, float) and not math.isfinite(value):
        return _Fault(f"is {value}, which JSON cannot represent; omit it or use null")
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        return _Fault(f"is an integer of more than {MAX_INTEGER_BITS} bits; use a float or a string")
    if value is not None and not isinstance(value, int | float):
        return _Fault(f"is of type {type(value).__name__}, which JSON cannot represent")
    return None
