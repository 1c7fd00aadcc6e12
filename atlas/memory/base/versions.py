"""Earlier versions of a memory's records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from atlas.storage.records import Version

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVersion(Generic[T]):
    """An earlier version of a record."""

    item: T
    replaced_at: datetime
    actor: str
    operation_id: str
    number: int
    """Number of the change that replaced the version. One operation may make several changes."""


def item_versions(versions: Sequence[Version], decode: Callable[[dict[str, Any]], T]) -> list[ItemVersion[T]]:
    """Return the versions of a record with their contents decoded, in the given order."""
    return [
        ItemVersion(
            item=decode(version.content),
            replaced_at=version.replaced_at,
            actor=version.actor,
            operation_id=version.operation_id,
            number=version.number,
        )
        for version in versions
    ]
