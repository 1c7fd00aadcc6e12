"""Filters of a key-value store: by the values of an item, and by the path of its namespace."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from atlas.core.errors import InvalidInput

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def passes_filter(value: Any, criteria: Any) -> bool:
    """Return whether a value passes a LangGraph filter: an equal value, comparisons (`$gt`), or filters by field."""
    if not isinstance(criteria, Mapping):
        return bool(value == criteria)
    if unknown := [name for name in criteria if name.startswith("$") and name not in _COMPARISONS]:
        raise InvalidInput(f"expected one of {', '.join(_COMPARISONS)} for a comparison, got {unknown[0]!r}")
    if any(name in _COMPARISONS for name in criteria):
        return all(_matches(value, name, operand) for name, operand in criteria.items())
    return isinstance(value, Mapping) and all(passes_filter(value.get(name), part) for name, part in criteria.items())


def _matches(value: Any, name: str, operand: Any) -> bool:
    """Return whether a comparison holds. If two values have no order, only `$ne` holds."""
    try:
        return bool(_COMPARISONS[name](value, operand))
    except TypeError:
        return False


def matches_path(namespace: Sequence[str], path: Sequence[str], end: str) -> bool:
    """Return whether a namespace begins with a path (if `end` is `prefix`) or ends with it (if `suffix`).

    A `*` in the path matches any label.
    """
    n = len(path)
    part = namespace[:n] if end == "prefix" else namespace[max(len(namespace) - n, 0) :]
    return len(part) == n and all(
        pattern_label in ("*", label) for pattern_label, label in zip(path, part, strict=True)
    )
