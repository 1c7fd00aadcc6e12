"""Conversion of untrusted JSON to typed values. Every error names the field."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

from atlas.core.errors import InvalidInput

Json = dict[str, Any]

_BASE64 = re.compile(r"data:([a-z]{1,20})/[\w.+-]{1,100};base64,[A-Za-z0-9+/=]+")


def as_object(value: Any, name: str) -> Json:
    """Return the value as an object."""
    if not isinstance(value, dict):
        raise InvalidInput(f"expected an object for {name}, got {abbreviate(value)}")
    return value


def as_list(value: Any, name: str) -> list[Any]:
    """Return the value as a list, empty if it is null."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise InvalidInput(f"expected a list for {name}, got {abbreviate(value)}")
    return value


def as_text(value: Any, name: str) -> str:
    """Return the value as a string, empty if it is null."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"expected a string for {name}, got {abbreviate(value)}")
    return value


def required_text(row: Json, key: str, name: str) -> str:
    """Return a required text, or raise `InvalidInput` if it is missing or blank."""
    value = as_text(row.get(key), name)
    if not value.strip():
        raise InvalidInput(f"expected a string for {name}, got {'an empty one' if key in row else 'nothing'}")
    return value


def as_label(value: Any, name: str) -> str:
    """Return an id, which may be a string or a whole number, as a string."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise InvalidInput(f"expected a string or a whole number for {name}, got {abbreviate(value)}")
    return str(value)


def as_number(value: Any, name: str) -> float | int | None:
    """Return a finite number, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise InvalidInput(f"expected a number for {name}, got {abbreviate(value)}")
    if isinstance(value, float) and math.isinf(value):
        raise InvalidInput(f"expected a finite number for {name}, got {abbreviate(value)}")
    return value


def as_instant(value: Any, name: str) -> datetime | None:
    """Return an ISO 8601 time, in UTC if it names no zone, or None if it is null or empty."""
    if not value:
        return None
    try:
        instant = datetime.fromisoformat(value)
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"expected an ISO 8601 time for {name}, got {abbreviate(value)}") from error


def replace_blobs(text: str) -> str:
    """Return the string with every base64 data URL replaced by its kind, such as `[image]`."""
    return _BASE64.sub(r"[\1]", text) if ";base64," in text else text


def make_storable(value: Any) -> Any:
    """Return a JSON value with NaN and infinities as null, and base64 blobs as placeholders such as `[image]`."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return replace_blobs(value)
    if isinstance(value, list):
        return [make_storable(item) for item in value]
    if isinstance(value, dict):
        return {key: make_storable(item) for key, item in value.items()}
    return value


def drop_missing(**values: Any) -> Json:
    """Return the keyword arguments as a dict, without None and empty strings."""
    return {name: value for name, value in values.items() if value is not None and value != ""}


def abbreviate(value: Any) -> str:
    """Return a value's representation for error messages, cut to a readable length."""
    if isinstance(value, str):
        return repr(value[:40])
    if value is None or isinstance(value, bool | float):
        return "nothing" if value is None else repr(value)
    return f"type {type(value).__name__}"
