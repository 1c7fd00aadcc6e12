"""Readers of JSON: functions that check a value and convert it to a declared type.

A `Readers` object creates and caches one reader per type. Subclasses can add or override types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from atlas.core.errors import InvalidInput
from atlas.core.json_values import Json, text_problem

Reader = Callable[[Any], Any]
"""Function from JSON to a value of a type, which raises `Mismatch` for any other JSON."""

IF_MISSING = "if_missing"
"""Key in a field's `metadata` for its default in JSON, if the class has no default."""

REQUIRED = "required"
"""Key in a field's `metadata`: whether the field is required in JSON although the class has a default."""

LARGEST = 2**63
"""Maximum integer that SQLite and numpy can represent."""


class Mismatch(Exception):
    """A value that does not have its declared type."""

    def __init__(self, problem: str, path: str = "", *, expected: str = "") -> None:
        """Create the error.

        Args:
            problem: What was found instead of `expected`. Without `expected`, a predicate: `contains a NUL character`.
            path: Path of the value, such as `.steps[0]`.
        """
        super().__init__(problem)
        self.problem = problem
        self.path = path
        self.expected = expected

    def with_parent(self, part: str) -> Mismatch:
        """Return the error with the name of the enclosing part prepended to its path."""
        return Mismatch(self.problem, part + self.path, expected=self.expected)

    def message(self, noun: str) -> str:
        """Return the error message. `noun` names the value that was read."""
        name = f"{noun}{self.path}"
        if self.expected:
            return f"expected {self.expected} for {name}, got {self.problem}"
        return f"{name} {self.problem}"


def wrong_type(expected: str, value: Any) -> Mismatch:
    """Return the error for a value of the wrong type."""
    if value is None:
        actual = "nothing"
    elif isinstance(value, bool | float | str) or (isinstance(value, int) and abs(value) < LARGEST):
        actual = repr(value)[:60]
    else:
        actual = f"type {type(value).__name__}"
    return Mismatch(actual, expected=expected)


def read_part(read: Reader, value: Any, part: str) -> Any:
    """Return a part of a value, converted by a reader. A `Mismatch` names the part."""
    try:
        return read(value)
    except Mismatch as error:
        raise error.with_parent(part) from None


def as_list(values: Any) -> Sequence[Any]:
    """Return the value if it is a list or tuple, or raise `Mismatch`."""
    if not isinstance(values, list | tuple):
        raise wrong_type("a list", values)
    return values


def parse_instant(value: Any) -> datetime:
    """Return the time of an ISO 8601 text, with or without a time zone, or raise `Mismatch`."""
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise wrong_type("an ISO 8601 time such as 2026-05-01T12:00:00+00:00", value) from None


def read_instant(value: Any) -> datetime:
    """Return the time of an ISO 8601 text, in UTC if it names no zone, or raise `Mismatch`."""
    instant = parse_instant(value)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise wrong_type("a string", value)
    if not value.isascii() and (problem := text_problem(value)):
        raise Mismatch(problem)
    return value


def _read_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise wrong_type("true or false", value)
    return value


def _read_integer(value: Any) -> int:
    if type(value) is not int:
        raise wrong_type("a whole number", value)
    if abs(value) >= LARGEST:
        raise Mismatch(f"a number of {value.bit_length()} bits", expected="a whole number below 2**63")
    return value


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
        raise wrong_type("a number", value)
    return value


class Readers:
    """The readers of types that records are made of.

    The readers read texts, numbers, booleans, times, literals, dataclasses, mappings from texts, tuples and unions.
    """

    scalars: ClassVar[Mapping[Any, Reader]] = {
        str: _read_text,
        bool: _read_bool,
        int: _read_integer,
        float: _read_number,
        datetime: read_instant,
        Any: lambda value: value,
    }
    """Readers of types without parts."""

    def __init__(self) -> None:
        self._readers: dict[Any, Reader] = {}

    def read(self, declared_type: Any, value: Any, noun: str) -> Any:
        """Decode a JSON value as a type.

        Args:
            noun: Name of the value in errors.

        Raises:
            InvalidInput: The value is not of this type. The message names its path.
        """
        try:
            return self.reader(declared_type)(value)
        except Mismatch as error:
            raise InvalidInput(error.message(noun)) from None

    def reader(self, declared_type: Any) -> Reader:
        """Return the reader of a type, or raise `TypeError` if JSON cannot contain its values."""
        reader = self._readers.get(declared_type)
        if reader is None:
            reader = self._readers[declared_type] = self.scalars.get(declared_type) or self._compound_reader(
                declared_type
            )
        return reader

    def _compound_reader(self, declared_type: Any) -> Reader:
        """Return the reader of a type that has parts."""
        origin, arguments = get_origin(declared_type) or declared_type, get_args(declared_type)
        if is_dataclass(origin):
            return self._dataclass_reader(declared_type, origin)
        if origin in (Union, UnionType):
            return self._union_reader([part for part in arguments if part is not NoneType], NoneType in arguments)
        if origin is Literal:
            return _literal_reader(arguments)
        if origin is tuple:
            return self._tuple_reader(arguments or (Any, ...))
        if origin in (Mapping, dict):
            return self._mapping_reader(*(arguments or (str, Any)))
        raise TypeError(f"expected a type with a JSON form, got {declared_type}; see the types that {type(self)} lists")

    def _dataclass_reader(self, declared_type: Any, dataclass_type: Any) -> Reader:
        """Return the reader of a dataclass.

        The reader resolves the fields at its first call, because they may refer to the class itself.
        """
        expected_fields: list[_Field] = []

        def read(value: Any) -> Any:
            if not expected_fields:
                expected_fields.extend(self._fields(declared_type, dataclass_type))
            if not isinstance(value, dict):
                raise wrong_type("an object", value)
            self._check_names(value, expected_fields)
            values = {}
            for field in expected_fields:
                if field.name in value or field.is_required:
                    values[field.name] = read_part(field.read, value.get(field.name, field.if_missing), field.path)
            return dataclass_type(**values)

        return read

    def _fields(self, declared_type: Any, dataclass_type: Any) -> list[_Field]:
        hints = types_of_fields(declared_type)
        return [_make_field(field, self.reader(hints[field.name])) for field in fields(dataclass_type) if field.init]

    def _check_names(self, value: Json, expected: Sequence[_Field]) -> None:
        """Raise `Mismatch` for unknown names.

        By default they are accepted, because records of newer versions may have more.
        """

    def _union_reader(self, parts: list[Any], is_optional: bool) -> Reader:
        """Return a reader that tries the readers of all parts of a union, and reports the problem of the first."""
        readers = [self.reader(part) for part in parts]

        def read(value: Any) -> Any:
            if value is None and is_optional:
                return None
            problems = []
            for reader in readers:
                try:
                    return reader(value)
                except Mismatch as error:
                    problems.append(error)
            raise _allow_null(problems[0]) if is_optional else problems[0]

        return read

    def _tuple_reader(self, item_types: tuple[Any, ...]) -> Reader:
        if item_types[-1] is not Ellipsis:
            return _fixed_tuple_reader([self.reader(item_type) for item_type in item_types])
        reader = self.reader(item_types[0])
        return lambda values: tuple(
            read_part(reader, value, f"[{index}]") for index, value in enumerate(as_list(values))
        )

    def _mapping_reader(self, key_type: Any, value_type: Any) -> Reader:
        read_key, read_item = self.reader(key_type), self.reader(value_type)

        def read(value: Any) -> Json:
            if not isinstance(value, Mapping):
                raise wrong_type("an object", value)
            if value_type is Any:
                return dict(value)
            return {read_key(name): read_part(read_item, item, f".{name:.40}") for name, item in value.items()}

        return read


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    path: str
    read: Reader
    is_required: bool
    if_missing: Any = None


def _make_field(field: Field[Any], read: Reader) -> _Field:
    has_default = field.default is not MISSING or field.default_factory is not MISSING
    is_required = field.metadata.get(REQUIRED, not has_default)
    return _Field(field.name, f".{field.name}", read, is_required, field.metadata.get(IF_MISSING))


def _allow_null(error: Mismatch) -> Mismatch:
    """Return the error with `or null` added to the expected type, if the error is about the value as a whole."""
    if error.path or not error.expected:
        return error
    return Mismatch(error.problem, expected=f"{error.expected.replace(' or ', ', ')} or null")


def _literal_reader(choices: tuple[Any, ...]) -> Reader:
    def read(value: Any) -> Any:
        if not any(value == choice and type(value) is type(choice) for choice in choices):
            raise wrong_type(f"one of {', '.join(map(str, choices))}", value)
        return value

    return read


def _fixed_tuple_reader(readers: list[Reader]) -> Reader:
    def read(values: Any) -> tuple[Any, ...]:
        if len(as_list(values)) != len(readers):
            raise Mismatch(f"a list of {len(values)}", expected=f"a list of {len(readers)} parts")
        pairs = zip(readers, values, strict=True)
        return tuple(read_part(reader, value, f"[{index}]") for index, (reader, value) in enumerate(pairs))

    return read


def type_bindings(declared: Any) -> dict[Any, Any]:
    """Return the types bound to the type variables of a class and its bases, keyed by variable."""
    origin = get_origin(declared) or declared
    bindings = dict(zip(getattr(origin, "__parameters__", ()), get_args(declared), strict=False))
    for base in getattr(origin, "__orig_bases__", ()):
        bindings |= {
            variable: bind_type(declared_type, bindings) for variable, declared_type in type_bindings(base).items()
        }
    return bindings


def bind_type(declared: Any, bindings: Mapping[Any, Any]) -> Any:
    """Return a type with its type variables replaced by the types that `bindings` assigns to them."""
    if isinstance(declared, TypeVar):
        return bindings.get(declared, declared)
    variables = getattr(declared, "__parameters__", ())
    if not variables or not get_args(declared):
        return declared
    return declared[tuple(bindings.get(variable, variable) for variable in variables)]


@cache
def types_of_fields(declared_class: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields, keyed by name."""
    bindings, hints = type_bindings(declared_class), get_type_hints(get_origin(declared_class) or declared_class)
    return {name: bind_type(hint, bindings) for name, hint in hints.items()}
