"""Earlier versions of a record, with their differences."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from atlas.core.errors import NotFound
from atlas.memory.base.versions import ItemVersion
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import utc_time_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionView:
    """A record as it was before an edit."""

    number: int
    when: str
    """Trusted text."""

    actor: str
    """Who replaced it: untrusted text."""

    difference: Text
    """Difference between this version and the next."""

    is_now: bool
    """True if this is the present state of the record."""


def version_views(
    now: T, versions: Sequence[ItemVersion[T]], editable: Sequence[str], texts: Callable[[T], Mapping[str, str]]
) -> tuple[VersionView, ...]:
    """Return the versions, the most recently replaced first.

    Args:
        editable: The names of the fields that an edit can change.
        texts: Function that returns the texts of a record, keyed by part.
    """
    after = [now, *(version.item for version in versions)]
    return tuple(
        VersionView(
            number=version.number,
            when=utc_time_text(version.replaced_at),
            actor=version.actor,
            difference=_difference(texts(version.item), texts(later)),
            is_now=not changes_to(now, version.item, editable),
        )
        for version, later in zip(versions, after, strict=False)
    )


def version_changes(
    now: T | None, versions: Sequence[ItemVersion[T]], number: int, editable: Sequence[str]
) -> dict[str, Any]:
    """Return the arguments of `edit` that restore a version, empty for the current state.

    Raises:
        NotFound: It, or that version of it, does not exist.
    """
    items = {version.number: version.item for version in versions}
    if now is None or number not in items:
        raise NotFound("this version is no longer in the store")
    return changes_to(now, items[number], editable)


def changes_to(now: T, wanted: T, editable: Sequence[str]) -> dict[str, Any]:
    """Return the fields whose values differ from the current ones."""
    return {name: getattr(wanted, name) for name in editable if getattr(wanted, name) != getattr(now, name)}


def _difference(before: Mapping[str, str], after: Mapping[str, str]) -> Text:
    lines = difflib.unified_diff(_lines(before), _lines(after), "before", "after", lineterm="")
    return Text("\n".join(lines) or "(only what is not shown here differs)", "diff")


def _lines(texts: Mapping[str, str]) -> list[str]:
    return [line for name, text in texts.items() if text for line in (f"# {name}", *text.splitlines())]
