"""Encoding of ATLAS values as JSON: results by the type of each value, arguments by the declared type."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import datetime
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np

from atlas.core.errors import InvalidInput
from atlas.core.json_values import check_json
from atlas.core.schema.reading import types_of_fields
from atlas.verbs.values import SEQUENCES, types_of_arguments, wrong_type_error

_EXACT_TYPES = {str: "a string", datetime: "a datetime"}
"""Types to which JSON would silently convert other values, with their names in errors."""


def encode(value: Any) -> Any:
    """Return a value in JSON form. A mapping with keys that are not strings becomes a list of pairs.

    Raises:
        InvalidInput: The value is or contains an in-process object, such as a function.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    return _encode_container(value)


def _encode_container(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return encode(value.tolist())
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: encode(part) for key, part in value.items()}
        return [[encode(key), encode(part)] for key, part in value.items()]
    if isinstance(value, AbstractSet):
        return sorted(map(encode, value))
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [encode(part) for part in value]
    raise InvalidInput(
        f"expected a value that can be sent to a server, but got the in-process object {value!r:.80}; omit it"
    )


def encode_arguments(
    method: Callable[..., Any],
    arguments: tuple[Any, ...],
    keyword_arguments: Mapping[str, Any],
    owner: type,
    record_type: Any,
) -> dict[str, Any]:
    """Return the arguments of a call in JSON form, keyed by name. Arguments that the call omits are left out.

    Args:
        arguments: The positional arguments, with the object itself first.
        owner: The class of the method.
        record_type: The class of records, for methods that accept its fields as keyword arguments.

    Raises:
        InvalidInput: A value cannot be encoded.
    """
    signature, hints = inspect.signature(method), types_of_arguments(method, owner)
    named_arguments = list(signature.bind(*arguments, **keyword_arguments).arguments.items())[1:]
    encoded = {}
    for name, value in named_arguments:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            field_types = types_of_fields(record_type)
            encoded[name] = {
                field: encode_as(field_types.get(field, Any), part, field) for field, part in value.items()
            }
        else:
            encoded[name] = encode_as(hints[name], value, name)
    return encoded


def encode_as(declared: Any, value: Any, path: str) -> Any:
    """Return a value in JSON form, by its declared type. A value declared as `Any` must be JSON, and stays unchanged.

    Args:
        path: Path of the value in the arguments, for the error message.

    Raises:
        InvalidInput: The value cannot be encoded.
    """
    origin, parts = get_origin(declared) or declared, get_args(declared)
    if origin in (Any, object):
        check_json(value, path)
        return value
    if origin in (Union, UnionType):
        return encode_as(_matching_member(parts, value), value, path)
    if origin in _EXACT_TYPES and not isinstance(value, origin):
        raise wrong_type_error(_EXACT_TYPES[origin], value, path)
    if is_dataclass(origin) and isinstance(value, origin):  # type: ignore[arg-type]
        return _encode_fields(types_of_fields(declared), value, path)
    return _encode_parts(origin, parts, value, path)


def _matching_member(members: Sequence[Any], value: Any) -> Any:
    """Return the member of a union type that a value belongs to, or the first member if none fits."""
    for member in members:
        member_type = get_origin(member) or member
        if member_type in (Any, object) or (isinstance(member_type, type) and isinstance(value, member_type)):
            return member
    return next(member for member in members if member is not NoneType)


def _encode_fields(hints: Mapping[str, Any], record: Any, path: str) -> dict[str, Any]:
    return {
        field.name: encode_as(hints.get(field.name, Any), getattr(record, field.name), f"{path}.{field.name}")
        for field in fields(record)
    }


def _encode_parts(origin: Any, part_types: tuple[Any, ...], value: Any, path: str) -> Any:
    """Return a mapping or a list in JSON form, with its parts encoded by their declared types."""
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        return _encode_mapping(part_types or (str, Any), value, path)
    if origin in (tuple, *SEQUENCES) and isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        values = list(value)
        is_fixed = origin is tuple and len(part_types) == len(values) and ... not in part_types
        item_types = part_types if is_fixed else repeat(part_types[0] if part_types else Any)
        encoded = [
            encode_as(item_type, part, f"{path}[{index}]")
            for index, (item_type, part) in enumerate(zip(item_types, values, strict=False))
        ]
        return sorted(encoded) if isinstance(value, AbstractSet) else encoded
    return encode(value)


def _encode_mapping(parts: tuple[Any, ...], value: Mapping[Any, Any], path: str) -> Any:
    key_type, value_type = parts
    if key_type is str:
        check_json(dict.fromkeys(value), path)  # raises for a key that is not a string
        return {key: encode_as(value_type, part, f"{path}.{key:.40}") for key, part in value.items()}
    pairs = [[encode(key), encode_as(value_type, part, f"{path}.{key!s:.40}")] for key, part in value.items()]
    return dict(pairs) if all(isinstance(key, str) for key in value) else pairs
