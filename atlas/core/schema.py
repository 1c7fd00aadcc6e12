"""Dataclasses as JSON and back, by the types of their fields.

The dataclass is the one description of a record's JSON. The ledger, export and import, and the results of jobs use it.
Supported types: texts, numbers, truth values, times, literals, dataclasses, mappings from texts, tuples and unions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache, partial
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from atlas.core.errors import InvalidInput
from atlas.core.json_values import Json, text_problem

T = TypeVar("T")

IF_MISSING = "if_missing"
"""Key in a field's `metadata`: its value in JSON that leaves the field out, where the class has no default."""

REQUIRED = "required"
"""Key in a field's `metadata`: whether JSON may not leave the field out although the class has a default."""

LARGEST = 2**63
"""Bound of numbers: larger whole ones fit neither SQLite nor numpy."""


def encode(record: Any, leave_out: tuple[str, ...] = ()) -> Json:
    """Return a dataclass as JSON values that `decode` turns into an equal one. Nothing in mappings is copied.

    Args:
        leave_out: Names of fields, of the record itself, that are not encoded.

    Raises:
        InvalidInput: A time has no time zone.
    """
    kind: Any = type(record)
    return _encode_fields(record, _encoders(kind, leave_out))


def decode(kind: type[T], encoded: Any, noun: str, *, strict: bool = False, leave_out: tuple[str, ...] = ()) -> T:
    """Return the dataclass that `encode` encoded.

    Args:
        noun: Name of the record in errors.
        strict: Refuse fields that the dataclass does not have. They are ignored otherwise.
        leave_out: Names of fields that a strict reader refuses too.

    Raises:
        InvalidInput: A field is missing, unknown or of the wrong type. The message names its place.
    """
    form: Any = kind
    if strict and isinstance(encoded, dict):
        _check_names(encoded, noun, _encoders(form, leave_out))
    try:
        decoded: T = _reader(form)(encoded)
    except _Mismatch as error:
        raise InvalidInput(f"{noun}{error.place} {error.problem}") from None
    return decoded


def encode_instant(instant: datetime | None, name: str = "") -> str | None:
    """Return a time as ISO 8601 in UTC, or raise `InvalidInput` if it has no time zone."""
    if instant is None:
        return None
    if instant.tzinfo is None:
        where = name or f"the time {instant}"
        raise InvalidInput(f"{where} has no time zone; use datetime.now(UTC) or replace(tzinfo=UTC)")
    try:
        return instant.astimezone(UTC).isoformat()
    except OverflowError as error:
        raise InvalidInput(f"the time {instant} should be in the years 1 to 9999 in UTC, but is not") from error


def decode_instant(value: Any, name: str) -> datetime | None:
    """Return the time that an ISO 8601 text names, in UTC if it names no zone, or None for None."""
    try:
        return None if value is None else _read_instant(value)
    except _Mismatch as error:
        raise InvalidInput(f"{name} {error.problem}") from None


def _check_names(encoded: Json, noun: str, names: Collection[str]) -> None:
    unknown = sorted(set(encoded) - set(names))
    if unknown:
        raise InvalidInput(f"a {noun} has no {', '.join(unknown)}; it has {', '.join(sorted(names))}")


Encoder = Callable[[Any], Any] | None
"""Function from a field's value to JSON. None if the value is JSON already."""


def _encode_fields(record: Any, encoders: Mapping[str, Encoder]) -> Json:
    return {
        name: getattr(record, name) if encoder is None else encoder(getattr(record, name))
        for name, encoder in encoders.items()
    }


@cache
def _encoders(kind: Any, leave_out: tuple[str, ...] = ()) -> Mapping[str, Encoder]:
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind) if field.name not in leave_out]
    return {name: _encoder(hints[name], name) for name in names}


def _encoder(form: Any, name: str) -> Encoder:
    origin, arguments = get_origin(form), get_args(form)
    if origin in (Union, UnionType):
        return _optional(*(_encoder(part, name) for part in arguments if part is not NoneType))
    if form is datetime:
        return lambda value: encode_instant(value, name)
    if is_dataclass(form):
        return lambda value: _encode_fields(value, _encoders(form))  # type: ignore[arg-type]
    if origin is tuple:
        part = _encoder(arguments[0], name)
        return list if part is None else partial(_encode_items, part)
    if origin in (Mapping, dict):
        part = _encoder(arguments[1], name)
        return _as_dict if part is None else partial(_encode_values, part)
    return None


def _optional(encoder: Encoder = None, *others: Encoder) -> Encoder:
    # A union of several types is one of texts and numbers, which are JSON already.
    return None if encoder is None or others else partial(_unless_none, encoder)


def _unless_none(encoder: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else encoder(value)


def _encode_items(encoder: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    return [encoder(value) for value in values]


def _encode_values(encoder: Callable[[Any], Any], mapping: Mapping[str, Any]) -> Json:
    return {key: encoder(value) for key, value in mapping.items()}


def _as_dict(mapping: Mapping[str, Any]) -> Json:
    return mapping if isinstance(mapping, dict) else dict(mapping)


class _Mismatch(Exception):
    """A value that is not of the type of its field."""

    def __init__(self, problem: str, place: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = place

    def inside(self, part: str) -> _Mismatch:
        return _Mismatch(self.problem, part + self.place)


Reader = Callable[[Any], Any]


@cache
def _reader(form: Any) -> Reader:
    """Return the function that checks and converts JSON to a type."""
    origin, arguments = get_origin(form), get_args(form)
    if form in _SCALARS:
        return _SCALARS[form]
    if is_dataclass(form):
        return _read_dataclass(form)  # type: ignore[arg-type]
    if origin in (Union, UnionType):
        return _read_union([part for part in arguments if part is not NoneType], NoneType in arguments)
    if origin is Literal:
        return _read_literal(arguments)
    if origin is tuple:
        return _read_tuple(arguments)
    if origin in (Mapping, dict):
        return _read_mapping(arguments[1])
    raise TypeError(f"expected a type that JSON can hold, got {form}; see the types that atlas.core.schema lists")


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    place: str
    read: Reader
    is_required: bool
    if_missing: Any = None


def _read_dataclass(kind: type) -> Reader:
    hints = get_type_hints(kind)
    expected = [_field(field, hints[field.name]) for field in fields(kind)]

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _mismatch("an object", value)
        values = {}
        for field in expected:
            if field.name in value or field.is_required:
                values[field.name] = _inside(field.read, value.get(field.name, field.if_missing), field.place)
        return kind(**values)

    return read


def _field(field: Any, form: Any) -> _Field:
    has_default = field.default is not MISSING or field.default_factory is not MISSING
    is_required = field.metadata.get(REQUIRED, not has_default)
    return _Field(field.name, f".{field.name}", _reader(form), is_required, field.metadata.get(IF_MISSING))


def _read_union(parts: list[Any], is_optional: bool) -> Reader:
    readers = [_reader(part) for part in parts]

    def read(value: Any) -> Any:
        if value is None and is_optional:
            return None
        problems = []
        for reader in readers:
            try:
                return reader(value)
            except _Mismatch as error:
                problems.append(error)
        raise _or_null(problems[0]) if is_optional else problems[0]

    return read


def _or_null(error: _Mismatch) -> _Mismatch:
    before, separator, after = error.problem.partition(", but is")
    return (
        error
        if error.place or not separator
        else _Mismatch(f"{before.replace(' or ', ', ')} or null{separator}{after}")
    )


def _read_literal(choices: tuple[Any, ...]) -> Reader:
    def read(value: Any) -> Any:
        if value not in choices:
            raise _mismatch(f"one of {', '.join(map(str, choices))}", value)
        return value

    return read


def _read_tuple(forms: tuple[Any, ...]) -> Reader:
    if forms[-1] is not Ellipsis:
        return _read_parts([_reader(form) for form in forms])
    reader = _reader(forms[0])
    return lambda values: _read_each(repeat(reader), _items(values))


def _read_parts(readers: list[Reader]) -> Reader:
    def read(values: Any) -> tuple[Any, ...]:
        if len(_items(values)) != len(readers):
            raise _Mismatch(f"should be a list of {len(readers)} parts, but has {len(values)}")
        return _read_each(readers, values)

    return read


def _read_each(readers: Iterable[Reader], values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_inside(read, value, f"[{n}]") for n, (read, value) in enumerate(zip(readers, values, strict=False)))


def _items(values: Any) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise _mismatch("a list", values)
    return values


def _read_mapping(form: Any) -> Reader:
    reader = _reader(form)

    def read(value: Any) -> Json:
        if not isinstance(value, Mapping):
            raise _mismatch("an object", value)
        if form is Any:
            return dict(value)
        return {_read_text(key): _inside(reader, item, f".{key}") for key, item in value.items()}

    return read


def _inside(read: Reader, value: Any, part: str) -> Any:
    try:
        return read(value)
    except _Mismatch as error:
        raise error.inside(part) from None


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise _mismatch("a text", value)
    if not value.isascii() and (problem := text_problem(value)):
        raise _Mismatch(problem)
    return value


def _read_truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _mismatch("true or false", value)
    return value


def _read_integer(value: Any) -> int:
    if type(value) is not int or abs(value) >= LARGEST:
        raise _mismatch("a whole number", value)
    return value


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
        raise _mismatch("a number", value)
    return value


def _read_instant(value: Any) -> datetime:
    try:
        instant = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _mismatch("an ISO 8601 time such as 2026-05-01T12:00:00+00:00", value) from None
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant


_SCALARS: Mapping[Any, Reader] = {
    str: _read_text,
    bool: _read_truth,
    int: _read_integer,
    float: _read_number,
    datetime: _read_instant,
    Any: lambda value: value,
}


def _mismatch(expected: str, value: Any) -> _Mismatch:
    if value is None:
        actual = "missing"
    elif isinstance(value, bool | float | str) or (isinstance(value, int) and abs(value) < LARGEST):
        actual = repr(value)[:60]
    else:
        actual = f"of type {type(value).__name__}"
    return _Mismatch(f"should be {expected}, but is {actual}")
