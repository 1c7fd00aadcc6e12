"""The parameters of tools as clients see them: schemas with few tokens, and messages for wrong values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError

MAX_PROBLEMS = 3
"""Maximum number of wrong arguments that one message names."""

Scope = Annotated[dict[str, str] | None, Field(description='what it belongs to, such as {"project": "shop"}')]
Metadata = Annotated[dict[str, Any] | None, Field(description='further fields, such as {"model": "m-1"}')]
Domain = Annotated[str, Field(description="kind of task, such as billing")]
Reason = Annotated[str, Field(description="shown in the history")]
TaskId = Annotated[str, Field(description="same for all attempts at a task")]

_NOUNS = {
    "string": ("a string", "strings"),
    "integer": ("a whole number", "whole numbers"),
    "boolean": ("true or false", "booleans"),
    "object": ("an object", "objects"),
    "array": ("a list", "lists"),
}
"""Singular and plural nouns for values, keyed by type in JSON schemas."""


def simplify_schema(schema: Any) -> Any:
    """Return a JSON schema without titles, empty defaults and null types, to save tokens.

    Instead of passing null, a client omits the argument.
    """
    if isinstance(schema, list):
        return [simplify_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {name: part for name, part in schema.items() if not _is_omittable(name, part)}
    options = [part for part in parts.get("anyOf", ()) if part != {"type": "null"}]
    if len(options) == 1:
        parts = {**options[0], **{name: part for name, part in parts.items() if name != "anyOf"}}
    return {
        name: part if name in ("default", "enum") else simplify_schema(part)
        for name, part in parts.items()
        if part is not True
    }


def _is_omittable(name: str, part: Any) -> bool:
    return (name == "title" and isinstance(part, str)) or (name == "default" and not part)


def wrong_arguments_message(
    tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any], error: ValidationError
) -> str:
    """Return an error message for arguments that a tool rejects, with the expected and the actual values.

    Args:
        schema: JSON schema of the arguments, as `simplify_schema` returns it.
    """
    paths = dict.fromkeys(tuple(problem["loc"][:2]) for problem in error.errors())
    problems = dict.fromkeys(_describe_problem(schema["properties"], arguments, path) for path in paths)
    return f"{'; '.join([*problems][:MAX_PROBLEMS])}. Correct the arguments and call `{tool}` again"


def _describe_problem(properties: Mapping[str, Any], arguments: Mapping[str, Any], path: tuple[int | str, ...]) -> str:
    name, *path_in_value = path
    schema = properties[str(name)]
    if name not in arguments:
        return f"`{name}` is missing; it should be {_describe_schema(schema)} ({schema['description']})"
    value = arguments[str(name)]
    index = path_in_value[0] if path_in_value else None
    if isinstance(index, int) and isinstance(value, list) and "items" in schema:
        return f"`{name}[{index}]` should be {_describe_schema(schema['items'])}, but is {value[index]!r:.80}"
    return f"`{name}` should be {_describe_schema(schema)} ({schema['description']}), but is {value!r:.80}"


def _describe_schema(schema: Mapping[str, Any], *, is_plural: bool = False) -> str:
    """Return the values that a schema allows, in words: `a whole number from 1 to 50`."""
    if "anyOf" in schema:
        return " or ".join(_describe_schema(option, is_plural=is_plural) for option in schema["anyOf"])
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    noun = _NOUNS[schema["type"]][is_plural]
    if "maximum" in schema:
        return f"{noun} from {schema['minimum']} to {schema['maximum']}"
    parts = schema.get("items") or schema.get("additionalProperties")
    if not parts:
        return noun
    counts = f"{schema['minItems']} to {schema['maxItems']} " if "maxItems" in schema else ""
    return f"{noun} of {counts}{_describe_schema(parts, is_plural=True)}"
