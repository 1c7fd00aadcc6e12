"""Decoding of arguments and results from JSON, by the types in the signatures of methods."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.exchange import ExportedExperience
from atlas.core.json_values import Json
from atlas.core.schema.reading import (
    Mismatch,
    Reader,
    Readers,
    as_list,
    bind_type,
    parse_instant,
    read_part,
    type_bindings,
    types_of_fields,
    wrong_type,
)
from atlas.memory.effects.memory_effect import MemoryEffect
from atlas.memory.effects.quarantine import QuarantinedRecord
from atlas.memory.effects.scan import Scan
from atlas.memory.effects.withdrawal import Withdrawal
from atlas.memory.experience.merging import MergePlan
from atlas.memory.experience.outcomes import OutcomePlan
from atlas.memory.experience.pruning import PrunePlan
from atlas.memory.experience.refinement.plan import RefinePlan
from atlas.memory.promotion import Promotion

NOT_FINITE = ("inf", "-inf", "nan")
"""Strings for numbers that JSON does not support."""

SEQUENCES = (list, Sequence, Iterable, Collection, set, frozenset, AbstractSet)
"""Declared types whose values are lists in JSON, besides tuples."""

_LATE_TYPES = {
    kind.__name__: kind
    for kind in (
        ExportedExperience,
        MemoryEffect,
        MergePlan,
        OutcomePlan,
        Promotion,
        PrunePlan,
        QuarantinedRecord,
        RefinePlan,
        Scan,
        Withdrawal,
    )
}
"""Types that signatures name without importing them at run time, keyed by name."""


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise wrong_type("a string", value)
    return value


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise wrong_type("a number", value)
    if isinstance(value, str) and value not in NOT_FINITE:
        raise wrong_type("a number", value)
    try:
        return float(value)
    except OverflowError as error:
        raise wrong_type("a number of at most 308 digits", value) from error


def _read_null(value: Any) -> None:
    if value is not None:
        raise wrong_type("null", value)


def _refuse_function(value: Any) -> None:
    raise Mismatch("is a local function, which a server cannot call; omit it")


class VerbReaders(Readers):
    """Decoders of JSON values for the types in signatures, such as records, arrays and sets."""

    scalars: ClassVar[Mapping[Any, Reader]] = {
        **Readers.scalars,
        object: lambda value: value,
        str: _read_text,
        float: _read_number,
        datetime: parse_instant,
        None: _read_null,
        NoneType: _read_null,
    }

    def _compound_reader(self, declared_type: Any) -> Reader:
        origin, arguments = get_origin(declared_type) or declared_type, get_args(declared_type)
        if isinstance(declared_type, TypeVar):
            return self.reader(declared_type.__bound__ or Any)
        if origin in SEQUENCES:
            return self._sequence_reader(origin, arguments)
        if origin is np.ndarray:
            return _array_reader(*get_args(arguments[1]))
        if origin is Callable:
            return _refuse_function
        return super()._compound_reader(declared_type)

    def _sequence_reader(self, origin: Any, arguments: tuple[Any, ...]) -> Reader:
        accepts_text = origin is Sequence and arguments == (str,)  # methods reject a text with a better message
        item_type = arguments[0] if arguments else Any
        read_items = self._tuple_reader((item_type, ...))
        container = {set: set, frozenset: frozenset, AbstractSet: frozenset}.get(origin, list)

        def read(value: Any) -> Any:
            if accepts_text and isinstance(value, str):
                return value
            return container(read_items(value))

        return read

    def _mapping_reader(self, key_type: Any, value_type: Any) -> Reader:
        read_object = super()._mapping_reader(key_type, value_type)
        if key_type is str:
            return read_object
        read_pairs = self._sequence_reader(list, (tuple[key_type, value_type],))

        def read(value: Any) -> Any:
            return dict(read_pairs(value)) if isinstance(value, list) else read_object(value)

        return read

    def _check_names(self, value: Json, expected: Iterable[Any]) -> None:
        names = [field.name for field in expected]
        if unknown := [name for name in value if name not in names]:
            raise Mismatch(f"has the unknown name {unknown[0]!r:.80}; known: {', '.join(names)}")


def _array_reader(dtype: Any) -> Reader:
    def read(value: Any) -> Any:
        _check_numbers(value)
        try:
            return np.asarray(value, dtype=dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise wrong_type("an array of numbers", value) from error

    return read


def _check_numbers(value: Any) -> None:
    """Raise `Mismatch` unless a value is a list of numbers, or a nested list of numbers."""
    for number, part in enumerate(as_list(value)):
        read_part(_check_numbers if isinstance(part, list) else _read_number, part, f"[{number}]")


READERS = VerbReaders()


def wrong_type_error(expected: str, value: Any, name: str) -> InvalidInput:
    """Return the `InvalidInput` to raise for an argument whose value has the wrong type."""
    return InvalidInput(wrong_type(expected, value).message(name))


def check_names(arguments: Iterable[str], allowed: Collection[str], required: Iterable[str], method: str) -> None:
    """Raise `InvalidInput` if an argument's name is unknown, or a required argument is missing."""
    names = list(arguments)
    if unknown_names := [name for name in names if name not in allowed]:
        raise InvalidInput(
            f"{unknown_names[0]!r:.80} is not an argument of {method}; it accepts {', '.join(allowed) or 'none'}"
        )
    if missing_names := [name for name in required if name not in names]:
        raise InvalidInput(f"{method} needs {', '.join(missing_names)}, which the call omits; add it")


def decode_arguments(method: Callable[..., Any], encoded: Any, owner: type, record_type: type | None) -> dict[str, Any]:
    """Return the arguments of a method call from their JSON form, keyed by name.

    Args:
        owner: The class of the method.
        record_type: The class of records, for methods that accept its fields as keyword arguments.

    Raises:
        InvalidInput: An argument is unknown, missing or of the wrong type.
    """
    hints = types_of_arguments(method, owner)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    allowed = [parameter.name for parameter in parameters]
    keyword_parameters = [parameter for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD]
    required = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter not in keyword_parameters
    ]
    check_names(encoded, allowed, required, method.__name__)
    decoded = {name: READERS.read(hints[name], value, name) for name, value in encoded.items()}
    for name, value in decoded.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise wrong_type_error("a finite number", value, name)
    for parameter in keyword_parameters:
        changes = READERS.read(dict[str, Any], decoded.pop(parameter.name, {}), parameter.name)
        if clashes := sorted(changes.keys() & {*allowed}):
            raise InvalidInput(
                f"{parameter.name} should not contain {clashes[0]!r}, which is a parameter of {method.__name__}; "
                f"pass it outside of {parameter.name}"
            )
        decoded |= decode_fields(record_type, changes)
    return decoded


def decode_fields(kind: Any, encoded: Mapping[str, Any]) -> dict[str, Any]:
    """Return new values of a record's fields from their JSON form, keyed by name. Unknown fields are not converted."""
    hints = types_of_fields(kind)
    return {name: READERS.read(hints.get(name, Any), value, name) for name, value in encoded.items()}


@cache
def types_of_arguments(method: Any, owner: Any) -> dict[str, Any]:
    """Return the types of a method's arguments, keyed by name, and the type of its result under `return`."""
    bindings = type_bindings(owner)
    return {name: bind_type(hint, bindings) for name, hint in get_type_hints(method, localns=_LATE_TYPES).items()}
