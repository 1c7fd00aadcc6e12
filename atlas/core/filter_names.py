"""Names in filters: those that a memory has, those that nearly are, and those that no record has yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.filters import Compare, Filter, parse_where
from atlas.core.operations import Marks, Usage

METADATA = "meta."
"""Before the names of a record's own metadata, in the memories that keep it apart from their fields."""

OF_EVERY_MEMORY = frozenset(
    [
        *("id", "title", "created_at", "content_hash", "merged_from"),
        *(f"marks.{field.name}" for field in fields(Marks)),
        *(f"usage.{field.name}" for field in fields(Usage)),
    ]
)

NEAR = 0.82
"""Similarity of two names (`difflib`), from which one is taken for a misspelling: `sucess`, and `created` for
`created_at`, but not `main` for `domain`."""

FEWEST_CHARACTERS = 4
"""Shorter names differ too much by one character to be misspellings."""


def filter_notes(
    where: Mapping[str, Any] | None, own: Set[str], read_keys: Callable[[], Iterable[str]]
) -> tuple[str, ...]:
    """Return a sentence for each name of a filter that no record has.

    Args:
        own: The fields of the memory's records.
        read_keys: Reads the metadata keys that some record has. Called only for names that are no field.

    Raises:
        InvalidInput: A name is near one that exists, or the filter is malformed.
    """
    known = OF_EVERY_MEMORY | own
    unknown = [name for name in dict.fromkeys(_names(parse_where(where))) if name not in known]
    if not unknown:
        return ()
    keys = frozenset(read_keys())
    missing = [name for name in unknown if name not in keys]
    for name in missing:
        if (meant := nearest_name(name, known | keys)) is not None:
            raise InvalidInput(f"a filter names {name!r}, which no record has; did you mean {meant!r}?")
    return tuple(f"No record has {name!r} yet, so nothing passes the filter on it." for name in missing)


def nearest_name(name: str, existing: Iterable[str]) -> str | None:
    """Return the existing name that another one is a misspelling of, or None.

    Names are near if they differ only in case, `_`, `-`, spaces or the prefix `meta.`, if they have the same letters in
    another order, or if `difflib` finds them similar by `NEAR`. Names that differ only in their digits are not.
    """
    prefix, bare = _parts(name)
    by_bare = {
        other: whole for whole in sorted(existing) for other_prefix, other in [_parts(whole)] if other_prefix == prefix
    }
    if bare in by_bare:
        return by_bare[bare]
    if len(bare) < FEWEST_CHARACTERS:
        return None
    similar = [other for other in by_bare if sorted(other) == sorted(bare)]
    similar += get_close_matches(bare, by_bare, n=3, cutoff=NEAR)
    return next((by_bare[other] for other in similar if _without_digits(other) != _without_digits(bare)), None)


def _names(tree: Filter) -> Iterator[str]:
    if isinstance(tree, Compare):
        yield tree.key
    else:
        for part in tree.parts:
            yield from _names(part)


def _parts(name: str) -> tuple[str, str]:
    """Return the prefix of marks or usage, or none, and the name as it is compared."""
    folded = name.casefold().removeprefix(METADATA)
    prefix = next((prefix for prefix in ("marks.", "usage.") if folded.startswith(prefix)), "")
    return prefix, re.sub(r"[-_\s]", "", folded.removeprefix(prefix))


def _without_digits(name: str) -> str:
    return re.sub(r"\d", "", name)
