"""Scopes: the user, project, session or other group that a record belongs to.

A scope is part of a record's metadata, under names such as `scope.project`. Every memory filters by these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from atlas.core.errors import InvalidInput

PREFIX = "scope."

MAX_CHARACTERS = 200
"""Maximum length of a value. Longer strings of an experience's metadata are not indexed."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def scope_metadata(scope: Mapping[str, str]) -> dict[str, str]:
    """Return a scope, such as `{"project": "shop"}`, as metadata or as a filter: `{"scope.project": "shop"}`.

    Raises:
        InvalidInput: A name or a value is malformed.
    """
    for name, value in scope.items():
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"a scope's name should be up to 40 of a-z, 0-9 and _, such as project, but is {name!r:.80}"
            )
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_CHARACTERS:
            raise InvalidInput(
                f"the scope {name!r} should be a string of 1 to {MAX_CHARACTERS} characters, but is {value!r:.80}"
            )
    return {f"{PREFIX}{name}": value for name, value in scope.items()}


def scope_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a record's metadata that is its scope. Empty for metadata that a check is still to refuse."""
    if not isinstance(metadata, Mapping):
        return {}
    return {name: value for name, value in metadata.items() if isinstance(name, str) and name.startswith(PREFIX)}


def shared_scope(metadatas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the scope that all of some records share, as metadata. What is derived from them has it."""
    scopes = [scope_of(metadata) for metadata in metadatas]
    if not scopes:
        return {}
    first, *others = scopes
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def with_shared_scope(metadata: Mapping[str, Any], sources: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return metadata whose scope is replaced by the one that its sources share."""
    unscoped = {name: value for name, value in metadata.items() if name not in scope_of(metadata)}
    return {**unscoped, **shared_scope(sources)}
