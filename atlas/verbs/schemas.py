"""JSON schemas of the results of verbs, as `atlas.verbs.encoding.encode` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from atlas.core.schema.reading import types_of_fields
from atlas.verbs.values import SEQUENCES

REFERENCE = "#/components/schemas/"

Schema = dict[str, Any]

_NUMBER: Schema = {"type": "number"}

_ANY_SCHEMA: Schema = {
    "anyOf": [
        *({"type": name} for name in ("object", "string", "number", "boolean", "null")),
        {"type": "array", "items": {}},
    ]
}

_SCALARS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: _NUMBER,
    datetime: {"type": "string", "format": "date-time"},
    NoneType: {"type": "null"},
}


class Schemas:
    """A builder of JSON schemas. Schemas of dataclasses are collected in `named`, and all schemas refer to these."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def schema_of_any(self, hints: list[Any]) -> Schema:
        """Return the JSON schema of a value that has one of these types."""
        schemas = [choice for hint in hints for choice in _alternatives(self.schema_of(hint))]
        distinct_schemas = [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]
        return distinct_schemas[0] if len(distinct_schemas) == 1 else {"anyOf": distinct_schemas}

    def schema_of(self, hint: Any) -> Schema:
        """Return the JSON schema of a type, or raise `TypeError` if its values have no JSON form."""
        if hint in (Any, object):
            return {}
        return dict(_SCALARS[hint]) if hint in _SCALARS else self._compound_schema(hint)

    def _compound_schema(self, hint: Any) -> Schema:
        origin, arguments = get_origin(hint) or hint, get_args(hint)
        if isinstance(hint, TypeVar):
            return self.schema_of(hint.__bound__ or Any)
        if is_dataclass(origin):
            return self._reference(hint)
        if origin in (Union, UnionType):
            return self.schema_of_any([*arguments])
        if origin is Literal:
            return {"enum": [*arguments]}
        if origin is np.ndarray:
            return {"type": "array", "items": {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER}]}}
        if origin in (tuple, *SEQUENCES):
            return self._sequence_schema(arguments)
        if origin in (dict, Mapping):
            return self._mapping_schema(*(arguments or (str, Any)))
        raise TypeError(f"expected a type with a JSON form, got {hint}")

    def _sequence_schema(self, arguments: tuple[Any, ...]) -> Schema:
        item_types = [argument for argument in arguments if argument is not ...] or [Any]
        return {"type": "array", "items": self.schema_of_any(item_types)}

    def _mapping_schema(self, key_type: Any, value_type: Any) -> Schema:
        object_schema = {"type": "object", "additionalProperties": self.schema_of(value_type)}
        pairs_schema = {"type": "array", "items": {"type": "array", "items": {}}}
        return object_schema if key_type is str else {"anyOf": [object_schema, pairs_schema]}

    def _reference(self, hint: Any) -> Schema:
        name = _type_name(hint)
        if name not in self.named:
            self.named[name] = {}  # a dataclass may refer to itself
            hints = types_of_fields(hint)
            names = [field.name for field in fields(get_origin(hint) or hint)]
            properties = {field_name: self.schema_of(hints[field_name]) or _ANY_SCHEMA for field_name in names}
            self.named[name] = {"type": "object", "title": name, "properties": properties, "required": names}
        return {"$ref": f"{REFERENCE}{name}"}


def _alternatives(schema: Schema) -> list[Schema]:
    return schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]


def _type_name(hint: Any) -> str:
    """Return the name of a type, such as `Task`, or `HitOfExperience`."""
    name = (get_origin(hint) or hint).__name__
    name = name[0].upper() + name[1:]
    return "Of".join([name, *(_type_name(part) for part in get_args(hint) if hasattr(part, "__name__"))])
