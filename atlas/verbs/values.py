"""Values of ATLAS from JSON, by the types that signatures and dataclasses declare.

Whatever a type does not allow is refused with the place where it stands.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.schema import LARGEST
from atlas.memory.memory_effect import MemoryEffect
from atlas.memory.promotion import Promotion

Decoder = Callable[[Any, str], Any]
"""Turns JSON values into a value, or raises `InvalidInput` that names the place, its second argument."""

NOT_FINITE = ("inf", "-inf", "nan")
"""Texts that stand for the numbers that JSON lacks."""


_LATE = {kind.__name__: kind for kind in (MemoryEffect, Promotion)}
"""Types in signatures of the system whose modules it imports only when they are used."""


class CannotBeSent(TypeError):
    """A type whose values mean nothing to another process, such as a function."""


def decode(declared: Any, encoded: Any, place: str) -> Any:
    """Return the value of a declared type that was encoded.

    Args:
        place: Where it stands, for the message.

    Raises:
        InvalidInput: The type does not allow it.
        CannotBeSent: The type has values that cannot be encoded.
    """
    return decoder(declared)(encoded, place)


@cache
def decoder(declared: Any) -> Decoder:
    """Return the decoder of a type, or raise `CannotBeSent`."""
    declared = {types.NoneType: None, object: Any}.get(declared, declared) if not get_args(declared) else declared
    if declared is Any:
        return lambda encoded, place: encoded
    if declared in _SCALARS:
        return _SCALARS[declared]
    if isinstance(declared, TypeVar):
        return decoder(declared.__bound__ or Any)
    origin = get_origin(declared) or declared
    if isinstance(origin, type) and is_dataclass(origin):
        return _dataclass(declared, origin)
    if origin in _CONTAINERS:
        return _CONTAINERS[origin](origin, get_args(declared))
    raise CannotBeSent(f"values of {declared!r} cannot be sent")


def bindings(declared: Any) -> dict[Any, Any]:
    """Return what the type variables of a class, and of those that it is made of, stand for."""
    origin = get_origin(declared) or declared
    bound = dict(zip(getattr(origin, "__parameters__", ()), get_args(declared), strict=False))
    for base in getattr(origin, "__orig_bases__", ()):
        bound |= {variable: bind(given, bound) for variable, given in bindings(base).items()}
    return bound


def bind(declared: Any, bound: Mapping[Any, Any]) -> Any:
    """Return a type with its type variables replaced."""
    if isinstance(declared, TypeVar):
        return bound.get(declared, declared)
    variables = getattr(declared, "__parameters__", ())
    return declared[tuple(bound.get(one, one) for one in variables)] if variables and get_args(declared) else declared


@cache
def types_of_fields(declared: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields, by their names."""
    bound, hints = bindings(declared), get_type_hints(get_origin(declared) or declared)
    return {name: bind(hint, bound) for name, hint in hints.items()}


def refused(expected: str, encoded: Any, place: str) -> InvalidInput:
    """Return the error of a value that its type does not allow."""
    return InvalidInput(f"{place} should be {expected}, but is {encoded!r:.80}")


def _scalar(kind: type, expected: str) -> Decoder:
    def decoded(encoded: Any, place: str) -> Any:
        if type(encoded) is not kind:
            raise refused(expected, encoded, place)
        return encoded

    return decoded


def _integer(encoded: Any, place: str) -> int:
    if type(encoded) is not int:
        raise refused("a whole number", encoded, place)
    if abs(encoded) >= LARGEST:
        raise InvalidInput(f"{place} should be a whole number below 2**63, but has {encoded.bit_length()} bits")
    return encoded


def _float(encoded: Any, place: str) -> float:
    if isinstance(encoded, bool) or not isinstance(encoded, int | float | str):
        raise refused("a number", encoded, place)
    if isinstance(encoded, str) and encoded not in NOT_FINITE:
        raise refused("a number", encoded, place)
    try:
        return float(encoded)
    except OverflowError as error:
        raise refused("a number of at most 308 digits", encoded, place) from error


def _instant(encoded: Any, place: str) -> datetime:
    try:
        return datetime.fromisoformat(encoded)
    except (TypeError, ValueError) as error:
        raise refused("a time such as 2026-05-01T12:00:00+00:00", encoded, place) from error


def _nothing(encoded: Any, place: str) -> None:
    if encoded is not None:
        raise refused("null", encoded, place)


def _function(encoded: Any, place: str) -> None:
    raise refused("left out, as a server cannot call a function of yours", encoded, place)


_SCALARS: Mapping[Any, Decoder] = {
    str: _scalar(str, "a text"),
    bool: _scalar(bool, "true or false"),
    int: _integer,
    float: _float,
    datetime: _instant,
    None: _nothing,
}


def _literal(origin: Any, allowed: tuple[Any, ...]) -> Decoder:
    def decoded(encoded: Any, place: str) -> Any:
        if not any(encoded == one and type(encoded) is type(one) for one in allowed):
            raise refused(f"one of {', '.join(map(repr, allowed))}", encoded, place)
        return encoded

    return decoded


def _union(origin: Any, members: tuple[Any, ...]) -> Decoder:
    decoders = [decoder(member) for member in members]

    def decoded(encoded: Any, place: str) -> Any:
        if encoded is None and types.NoneType in members:
            return None
        problems = []
        for attempt in decoders:
            try:
                return attempt(encoded, place)
            except InvalidInput as problem:
                problems.append(problem)
        raise problems[0]

    return decoded


def _sequence(origin: Any, parts: tuple[Any, ...]) -> Decoder:
    inside = decoder(parts[0] if parts else Any)
    takes_text = parts[:1] == (str,)  # a text is a sequence of texts, and methods say so where they want a list
    make = {tuple: tuple, set: set, frozenset: frozenset, AbstractSet: frozenset}.get(origin, list)

    def decoded(encoded: Any, place: str) -> Any:
        if isinstance(encoded, str) and takes_text and origin is Sequence:
            return encoded
        if not isinstance(encoded, list):
            raise refused("a list", encoded, place)
        return make(inside(part, f"{place}[{number}]") for number, part in enumerate(encoded))

    return decoded


def _tuple(origin: Any, parts: tuple[Any, ...]) -> Decoder:
    if not parts or parts[-1] is ...:
        return _sequence(tuple, parts[:1])
    inside = [decoder(part) for part in parts]

    def decoded(encoded: Any, place: str) -> Any:
        if not isinstance(encoded, list) or len(encoded) != len(inside):
            raise refused(f"a list of {len(inside)}", encoded, place)
        return tuple(read(part, f"{place}[{n}]") for n, (read, part) in enumerate(zip(inside, encoded, strict=True)))

    return decoded


def _mapping(origin: Any, parts: tuple[Any, ...]) -> Decoder:
    key, value = map(decoder, parts or (str, Any))
    pairs = _sequence(list, (tuple[parts or (str, Any)],))  # type: ignore[misc]

    def decoded(encoded: Any, place: str) -> Any:
        if isinstance(encoded, list) and parts[:1] != (str,):
            return dict(pairs(encoded, place))
        if not isinstance(encoded, dict):
            raise refused("an object", encoded, place)
        return {key(name, place): value(part, f"{place}.{name:.40}") for name, part in encoded.items()}

    return decoded


def _array(origin: Any, parts: tuple[Any, ...]) -> Decoder:
    [kind] = get_args(parts[1]) if len(parts) == 2 else [np.float32]

    def decoded(encoded: Any, place: str) -> Any:
        _check_numbers(encoded, place)
        try:
            return np.asarray(encoded, dtype=kind)
        except (TypeError, ValueError, OverflowError) as error:
            raise refused("an array of numbers", encoded, place) from error

    return decoded


def _check_numbers(encoded: Any, place: str) -> None:
    """Raise `InvalidInput` unless this is a list of numbers, or of lists of them."""
    if not isinstance(encoded, list):
        raise refused("a list of numbers", encoded, place)
    for number, part in enumerate(encoded):
        if isinstance(part, list):
            _check_numbers(part, f"{place}[{number}]")
        else:
            _float(part, f"{place}[{number}]")


SEQUENCES = (list, Sequence, Iterable, Collection, set, frozenset, AbstractSet)

_CONTAINERS: Mapping[Any, Callable[[Any, tuple[Any, ...]], Decoder]] = {
    **dict.fromkeys(SEQUENCES, _sequence),
    **dict.fromkeys((dict, Mapping), _mapping),
    **dict.fromkeys((Union, types.UnionType), _union),
    tuple: _tuple,
    Literal: _literal,
    np.ndarray: _array,
    Callable: lambda origin, parts: _function,
}


def _dataclass(declared: Any, kind: Any) -> Decoder:
    declared_fields: dict[str, Field[Any]] = {field.name: field for field in fields(kind) if field.init}
    needed = [
        name for name, field in declared_fields.items() if field.default is MISSING and field.default_factory is MISSING
    ]
    hints, inside = types_of_fields(declared), dict[str, Decoder]()

    def decoded(encoded: Any, place: str) -> Any:
        if not inside:  # made now, as a type may hold itself
            inside.update({name: decoder(hints[name]) for name in declared_fields})
        if not isinstance(encoded, dict):
            raise refused(f"an object ({kind.__name__})", encoded, place)
        check_names(encoded, tuple(declared_fields), needed, place)
        return kind(**{name: inside[name](part, f"{place}.{name}") for name, part in encoded.items()})

    return decoded


def check_names(named: Iterable[str], allowed: Collection[str], needed: Iterable[str], place: str) -> None:
    """Raise `InvalidInput` where a name is unknown, or one that is needed is missing."""
    names = list(named)
    if unknown := [name for name in names if name not in allowed]:
        raise InvalidInput(f"{unknown[0]!r:.80} is no part of {place}; it takes {', '.join(allowed) or 'none'}")
    if missing := [name for name in needed if name not in names]:
        raise InvalidInput(f"{place} lacks {', '.join(missing)}")


def decode_arguments(method: Callable[..., Any], encoded: Any, owner: type, of_record: type | None) -> dict[str, Any]:
    """Return the arguments of a call of a method that were encoded, to be given by their names.

    Args:
        owner: The class of the method.
        of_record: The kind of the records whose fields may be named, for methods that take any of those.

    Raises:
        InvalidInput: An argument is unknown, missing or of the wrong type.
    """
    hints = types_of_arguments(method, owner)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    allowed = [parameter.name for parameter in parameters]
    of_fields = [parameter for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD]
    needed = [one.name for one in parameters if one.default is one.empty and one not in of_fields]
    check_names(encoded, allowed, needed, method.__name__)
    decoded = {name: decode(hints[name], value, name) for name, value in encoded.items()}
    for name, value in decoded.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise refused("a finite number", value, name)
    for parameter in of_fields:
        changes = decode(dict[str, Any], decoded.pop(parameter.name, {}), parameter.name)
        if clashing := sorted(changes.keys() & {*allowed}):
            raise InvalidInput(
                f"{parameter.name} should have no {clashing[0]!r}, which is a parameter of {method.__name__} itself; "
                f"give it beside {parameter.name}"
            )
        decoded |= decode_fields(of_record, changes)
    return decoded


def decode_fields(kind: Any, encoded: Mapping[str, Any]) -> dict[str, Any]:
    """Return new values of some of a record's fields. Those that it does not have are left to whoever edits it."""
    hints = types_of_fields(kind)
    return {name: decode(hints.get(name, Any), value, name) for name, value in encoded.items()}


@cache
def types_of_arguments(method: Any, owner: Any) -> dict[str, Any]:
    """Return the types of a method's arguments, by their names, and that of its result as `return`."""
    bound = bindings(owner)
    return {name: bind(hint, bound) for name, hint in get_type_hints(method, localns=_LATE).items()}
