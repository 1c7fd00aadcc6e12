"""Filters (`where`): the parser, evaluation in Python, checks of names, and scopes.

`atlas.storage.sql.filters` compiles them to SQL, and a contract test checks that both agree.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.json_values import check_text
from atlas.core.operations import Marks, Usage

MAX_DEPTH = 20
"""Maximum nesting of a filter, a little below the limit of SQLite's parser."""

COMPARISONS = ("$eq", "$in", "$gt", "$gte", "$lt", "$lte")

_COMPARISONS = {"$eq": operator.eq, "$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}

METADATA = "meta."
"""Prefix for the names of a record's own metadata, in memories with such a namespace."""

SCOPE = "scope."
"""Prefix for the names of a record's scope: the user, project, session or other group that it belongs to."""

MAX_SCOPE_CHARACTERS = 200
"""Maximum length of a value. Longer strings of an experience's metadata are not indexed."""

_SCOPE_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

COMMON_NAMES = frozenset(
    [
        *("id", "title", "created_at", "content_hash", "merged_from"),
        *(f"marks.{field.name}" for field in fields(Marks)),
        *(f"usage.{field.name}" for field in fields(Usage)),
    ]
)

MISSPELLING_SIMILARITY = 0.82
"""Minimum similarity of two names (`difflib`) for a misspelling: `sucess`, and `created` for
`created_at`, but not `main` for `domain`."""

MIN_CHARACTERS = 4
"""Shorter names differ too much by one character to be misspellings."""

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of one key with a value, or with several for `$in`."""

    key: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class Combination:
    """All (`$and`) or any (`$or`) of several filters. An empty `$and` is true, an empty `$or` is false."""

    operator: str
    parts: tuple[Filter, ...]


Filter = Comparison | Combination


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
        raise InvalidInput(f"expected a filter such as {{'success': True}}, got {where!r}")
    parts = tuple(_parse_item(key, value, depth) for key, value in (where or {}).items())
    return parts[0] if len(parts) == 1 else Combination("$and", parts)


def _parse_item(key: str, value: Any, depth: int) -> Filter:
    if key in ("$and", "$or"):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise InvalidInput(f"expected a list of filters for {key}, got {value!r}")
        return Combination(key, tuple(_parse(part, depth + 1) for part in value))
    if key.startswith("$"):
        raise InvalidInput(f"unknown filter operator {key!r}; known: $and, $or, {', '.join(COMPARISONS)}")
    check_text(key, "a filter's key")
    if isinstance(value, Mapping):
        return Combination("$and", tuple(_parse_comparison(key, name, operand) for name, operand in value.items()))
    return _parse_comparison(key, "$eq", value)


def _parse_comparison(key: str, operator_name: str, value: Any) -> Comparison:
    if operator_name not in COMPARISONS:
        raise InvalidInput(f"unknown filter operator {operator_name!r} for {key!r}; known: {', '.join(COMPARISONS)}")
    if operator_name == "$in":
        if not isinstance(value, Sequence | set | frozenset) or isinstance(value, str):
            raise InvalidInput(f"expected a list for $in of {key!r}, got {value!r}")
        return Comparison(key, operator_name, tuple(_parse_scalar(key, item) for item in value))
    return Comparison(key, operator_name, _parse_scalar(key, value))


def _parse_scalar(key: str, value: Any) -> Scalar:
    if not isinstance(value, str | int | float) or value != value:
        raise InvalidInput(f"expected a string, number or boolean for the filter on {key!r}, got {value!r}")
    if isinstance(value, str):
        check_text(value, f"the filter on {key!r}")
    return value


def matches(tree: Filter, metadata: Mapping[str, Any]) -> bool:
    """Return whether a record with this metadata passes a filter. Values of different types never match."""
    if isinstance(tree, Combination):
        results = (matches(part, metadata) for part in tree.parts)
        return all(results) if tree.operator == "$and" else any(results)
    value = metadata.get(tree.key)
    values = value if isinstance(value, list | tuple) else [value]
    return any(value is not None and _value_matches(value, tree) for value in values)


def _value_matches(value: Any, comparison: Comparison) -> bool:
    if comparison.operator == "$in":
        return any(_are_comparable(value, option) and value == option for option in comparison.value)
    if not _are_comparable(value, comparison.value):
        return False
    return bool(_COMPARISONS[comparison.operator](value, comparison.value))


def _are_comparable(first: Any, second: Any) -> bool:
    return isinstance(first, str if isinstance(second, str) else (int, float))


def filter_notes(
    where: Mapping[str, Any] | None, fields: Set[str], read_keys: Callable[[], Iterable[str]]
) -> tuple[str, ...]:
    """Return a sentence about each name in a filter that no record has as a key.

    Args:
        fields: The fields of the memory's records.
        read_keys: Reads the metadata keys that some record has. Called only for names that are not fields.

    Raises:
        InvalidInput: A name is misspelt, or the filter is malformed.
    """
    field_names = COMMON_NAMES | fields
    unknown_names = [name for name in dict.fromkeys(_collect_names(parse_where(where))) if name not in field_names]
    if not unknown_names:
        return ()
    keys = frozenset(read_keys())
    missing_names = [name for name in unknown_names if name not in keys]
    for name in missing_names:
        if (suggestion := nearest_name(name, field_names | keys)) is not None:
            raise InvalidInput(f"a filter uses the unknown field {name!r}; did you mean {suggestion!r}?")
    return tuple(f"No record has {name!r} yet, so nothing passes the filter on it." for name in missing_names)


def nearest_name(name: str, existing: Iterable[str]) -> str | None:
    """Return the existing name that a misspelt one resembles, or None.

    Names are near if they differ only in case, `_`, `-`, spaces or the prefix `meta.`, if they have the same letters in
    another order, or if `difflib` finds them similar by `MISSPELLING_SIMILARITY`. Names
    that differ only in digits are not near.
    """
    prefix, normalised = _split_prefix(name)
    names_by_normalised = dict[str, str]()
    for full_name in sorted(existing):
        other_prefix, other_normalised = _split_prefix(full_name)
        if other_prefix == prefix:
            names_by_normalised[other_normalised] = full_name
    if normalised in names_by_normalised:
        return names_by_normalised[normalised]
    if len(normalised) < MIN_CHARACTERS:
        return None
    similar_names = [candidate for candidate in names_by_normalised if sorted(candidate) == sorted(normalised)]
    from difflib import get_close_matches

    similar_names += get_close_matches(normalised, names_by_normalised, n=3, cutoff=MISSPELLING_SIMILARITY)
    return next(
        (names_by_normalised[name] for name in similar_names if _strip_digits(name) != _strip_digits(normalised)), None
    )


def _collect_names(tree: Filter) -> Iterator[str]:
    if isinstance(tree, Comparison):
        yield tree.key
    else:
        for part in tree.parts:
            yield from _collect_names(part)


def _split_prefix(name: str) -> tuple[str, str]:
    """Return a name in two parts: its prefix, and the rest in a form for comparison.

    The prefix is `marks.`, `usage.`, `scope.` or empty.
    """
    folded = name.casefold().removeprefix(METADATA)
    prefix = next((prefix for prefix in ("marks.", "usage.", SCOPE) if folded.startswith(prefix)), "")
    return prefix, re.sub(r"[-_\s]", "", folded.removeprefix(prefix))


def _strip_digits(name: str) -> str:
    return re.sub(r"\d", "", name)


def scope_metadata(scope: Mapping[str, str]) -> dict[str, str]:
    """Return a scope, such as `{"project": "shop"}`, as metadata or as a filter: `{"scope.project": "shop"}`.

    Raises:
        InvalidInput: A name or a value is malformed.
    """
    for name, value in scope.items():
        if not _SCOPE_NAME.fullmatch(name):
            raise InvalidInput(
                f"expected up to 40 of a-z, 0-9 and _ for a scope's name, such as project, got {name!r:.80}"
            )
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(f"expected a string that is not blank for the scope {name!r}, got {value!r:.80}")
        if len(value) > MAX_SCOPE_CHARACTERS:
            raise InvalidInput(
                f"expected at most {MAX_SCOPE_CHARACTERS} characters for the scope {name!r}, got {len(value)}"
            )
    return {f"{SCOPE}{name}": value for name, value in scope.items()}


def is_scope_name(name: object) -> bool:
    """Return whether a name of metadata is part of a scope."""
    return isinstance(name, str) and name.startswith(SCOPE)


def scope_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scope in a record's metadata. Empty if the metadata is not a mapping, which a later check reports."""
    if not isinstance(metadata, Mapping):
        return {}
    return {name: value for name, value in metadata.items() if is_scope_name(name)}


def parse_scope(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the scope of a new record's metadata.

    Raises:
        InvalidInput: A name or a value of the scope is malformed.
    """
    return scope_metadata({name.removeprefix(SCOPE): value for name, value in scope_of(metadata).items()})


def shared_scope(metadatas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the common scope of records, as metadata for records that are derived from them."""
    scopes = [scope_of(metadata) for metadata in metadatas]
    if not scopes:
        return {}
    first_scope, *other_scopes = scopes
    return {
        name: value for name, value in first_scope.items() if all(scope.get(name) == value for scope in other_scopes)
    }


def with_shared_scope(metadata: Mapping[str, Any], sources: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return metadata whose scope is replaced by the scope that all sources share."""
    scope = scope_of(metadata)
    return {**{name: value for name, value in metadata.items() if name not in scope}, **shared_scope(sources)}
