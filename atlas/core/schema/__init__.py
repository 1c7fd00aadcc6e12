"""Conversion of dataclasses to JSON and back, by the types of their fields.

The dataclass is the only schema of a record. The schema is used by the ledger, export, import and results of jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from atlas.core.errors import InvalidInput
from atlas.core.json_values import Json
from atlas.core.schema.reading import IF_MISSING, REQUIRED, Readers

__all__ = ["IF_MISSING", "REQUIRED", "decode", "decode_instant", "encode", "encode_instant"]

T = TypeVar("T")

RECORDS = Readers()


def encode(record: Any, leave_out: tuple[str, ...] = ()) -> Json:
    """Return a dataclass as JSON values that `decode` turns into an equal dataclass. Mappings are not copied.

    Args:
        leave_out: Names of fields, of the record itself, that are not encoded.

    Raises:
        InvalidInput: A time has no time zone.
    """
    kind: Any = type(record)
    return _encode_fields(record, _make_encoders(kind, leave_out))


def decode(kind: type[T], encoded: Any, noun: str, *, strict: bool = False, leave_out: tuple[str, ...] = ()) -> T:
    """Return the dataclass that `encode` encoded.

    Args:
        noun: Name of the record in errors.
        strict: Reject unknown fields, which are otherwise ignored.
        leave_out: Names of further fields that a strict reader rejects.

    Raises:
        InvalidInput: A field is missing, unknown or of the wrong type. The message names its path.
    """
    form: Any = kind
    if strict and isinstance(encoded, dict):
        _check_names(encoded, noun, _make_encoders(form, leave_out))
    decoded: T = RECORDS.read(form, encoded, noun)
    return decoded


def encode_instant(instant: datetime | None, name: str = "") -> str | None:
    """Return a time as ISO 8601 in UTC, or None for None. Raise `InvalidInput` for a time without a time zone."""
    if instant is None:
        return None
    if instant.tzinfo is None:
        where = name or f"the time {instant}"
        raise InvalidInput(f"{where} has no time zone; use datetime.now(UTC) or replace(tzinfo=UTC)")
    try:
        return instant.astimezone(UTC).isoformat()
    except OverflowError as error:
        raise InvalidInput(f"expected a time in the years 1 to 9999 in UTC, got {instant}") from error


def decode_instant(value: Any, name: str) -> datetime | None:
    """Return the time of an ISO 8601 text, in UTC if it names no zone, or None for None."""
    return None if value is None else RECORDS.read(datetime, value, name)


def _check_names(encoded: Json, noun: str, names: Collection[str]) -> None:
    unknown_names = sorted(set(encoded) - set(names))
    if unknown_names:
        raise InvalidInput(f"unknown fields of a {noun}: {', '.join(unknown_names)}; known: {', '.join(sorted(names))}")


Encoder = Callable[[Any], Any] | None
"""Function from a field's value to JSON, or None if the value is JSON already."""


def _encode_fields(record: Any, encoders: Mapping[str, Encoder]) -> Json:
    return {
        name: getattr(record, name) if encoder is None else encoder(getattr(record, name))
        for name, encoder in encoders.items()
    }


@cache
def _make_encoders(kind: Any, leave_out: tuple[str, ...] = ()) -> Mapping[str, Encoder]:
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind) if field.name not in leave_out]
    return {name: _make_encoder(hints[name], name) for name in names}


def _make_encoder(form: Any, name: str) -> Encoder:
    origin, arguments = get_origin(form), get_args(form)
    if origin in (Union, UnionType):
        return _make_optional(*(_make_encoder(part, name) for part in arguments if part is not NoneType))
    if form is datetime:
        return lambda value: encode_instant(value, name)
    if is_dataclass(form):
        return lambda value: _encode_fields(value, _make_encoders(form))  # type: ignore[arg-type]
    if origin is tuple:
        part = _make_encoder(arguments[0], name)
        return list if part is None else partial(_encode_items, part)
    if origin in (Mapping, dict):
        part = _make_encoder(arguments[1], name)
        return _as_dict if part is None else partial(_encode_values, part)
    return None


def _make_optional(encoder: Encoder = None, *other_encoders: Encoder) -> Encoder:
    # Unions of several types are unions of texts and numbers, which need no encoding.
    return None if encoder is None or other_encoders else partial(_unless_none, encoder)


def _unless_none(encoder: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else encoder(value)


def _encode_items(encoder: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    return [encoder(value) for value in values]


def _encode_values(encoder: Callable[[Any], Any], mapping: Mapping[str, Any]) -> Json:
    return {key: encoder(value) for key, value in mapping.items()}


def _as_dict(mapping: Mapping[str, Any]) -> Json:
    return mapping if isinstance(mapping, dict) else dict(mapping)
