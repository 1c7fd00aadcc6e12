"""Filters (`where`): one parser for every store, and their meaning in Python.

The SQL form lies in `atlas.storage.sql.filters`, and a contract test holds that both agree.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.core.codec import check_text
from atlas.core.errors import InvalidInput

MAX_DEPTH = 20
"""Deepest nesting of a filter. SQLite's parser gives up not far beyond."""

COMPARISONS = ("$eq", "$in", "$gt", "$gte", "$lt", "$lte")

_HOLDS = {"$eq": operator.eq, "$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison of one key with a value, or with several for `$in`."""

    key: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class Combine:
    """All (`$and`) or any (`$or`) of several filters. All of none is true, any of none is false."""

    operator: str
    parts: tuple[Filter, ...]


Filter = Compare | Combine


def parse_where(where: Mapping[str, Any] | None) -> Filter:
    """Return the filter as a tree.

    Raises:
        InvalidInput: An unknown operator, a value that cannot be compared, or filters nested too deep.
    """
    return _parse(where, 0)


def _parse(where: Any, depth: int) -> Filter:
    if depth > MAX_DEPTH:
        raise InvalidInput(f"a filter should nest at most {MAX_DEPTH} levels deep; flatten it")
    if not isinstance(where, Mapping) and where is not None:
        raise InvalidInput(f"a filter should be a dict such as {{'success': True}}, but is {where!r}")
    parts = tuple(_parse_item(key, value, depth) for key, value in (where or {}).items())
    return parts[0] if len(parts) == 1 else Combine("$and", parts)


def _parse_item(key: str, value: Any, depth: int) -> Filter:
    if key in ("$and", "$or"):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise InvalidInput(f"{key} should hold a list of filters, but holds {value!r}")
        return Combine(key, tuple(_parse(part, depth + 1) for part in value))
    if key.startswith("$"):
        raise InvalidInput(f"unknown filter operator {key!r}; known: $and, $or, {', '.join(COMPARISONS)}")
    check_text(key, "a filter's key")
    if isinstance(value, Mapping):
        return Combine("$and", tuple(_compare(key, name, operand) for name, operand in value.items()))
    return _compare(key, "$eq", value)


def _compare(key: str, name: str, value: Any) -> Compare:
    if name not in COMPARISONS:
        raise InvalidInput(f"unknown filter operator {name!r} for {key!r}; known: {', '.join(COMPARISONS)}")
    if name == "$in":
        if not isinstance(value, Sequence | set | frozenset) or isinstance(value, str):
            raise InvalidInput(f"$in for {key!r} should hold a list, but holds {value!r}")
        return Compare(key, name, tuple(_check_scalar(key, item) for item in value))
    return Compare(key, name, _check_scalar(key, value))


def _check_scalar(key: str, value: Any) -> Scalar:
    if not isinstance(value, str | int | float) or value != value:
        raise InvalidInput(f"the filter on {key!r} should compare with a text, number or truth, but got {value!r}")
    if isinstance(value, str):
        check_text(value, f"the filter on {key!r}")
    return value


def matches(tree: Filter, metadata: Mapping[str, Any]) -> bool:
    """Return whether a record with this metadata passes. Numbers compare with numbers, texts with texts."""
    if isinstance(tree, Combine):
        results = (matches(part, metadata) for part in tree.parts)
        return all(results) if tree.operator == "$and" else any(results)
    held = metadata.get(tree.key)
    values = held if isinstance(held, list | tuple) else [held]
    return any(value is not None and _holds(value, tree) for value in values)


def _holds(value: Any, compare: Compare) -> bool:
    if compare.operator == "$in":
        return any(_comparable(value, wanted) and value == wanted for wanted in compare.value)
    if not _comparable(value, compare.value):
        return False
    return bool(_HOLDS[compare.operator](value, compare.value))


def _comparable(one: Any, other: Any) -> bool:
    return isinstance(one, str if isinstance(other, str) else (int, float))
