"""Partial updates of marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from atlas.core.errors import InvalidInput, NotAllowed
from atlas.core.operations import Marks
from atlas.infra.actor import Role, actor_name, check_role, has_role, is_under_review
from atlas.storage.collection import Collection


@dataclass(frozen=True, slots=True, kw_only=True)
class MarksChange:
    """A change of records' marks. None leaves a mark unchanged."""

    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    pinned: bool | None = None
    buried: bool | None = None
    note: str | None = None

    @classmethod
    def parse(
        cls,
        *,
        add_tags: Sequence[str],
        remove_tags: Sequence[str],
        pinned: bool | None,
        buried: bool | None,
        note: str | None,
    ) -> Self:
        """Return a change from a caller's arguments, with whitespace around tags removed.

        Raises:
            InvalidInput: A tag is empty, or the tags are a string instead of a list.
        """
        return cls(
            add_tags=_parse_tags("add_tags", add_tags),
            remove_tags=_parse_tags("remove_tags", remove_tags),
            pinned=pinned,
            buried=buried,
            note=note,
        )

    def __call__(self, marks: Marks) -> Marks:
        """Return a record's marks after the change."""
        return replace(
            marks,
            tags=tuple(tag for tag in dict.fromkeys(marks.tags + self.add_tags) if tag not in self.remove_tags),
            pinned=marks.pinned if self.pinned is None else self.pinned,
            buried=marks.buried if self.buried is None else self.buried,
            note=marks.note if self.note is None else self.note,
        )


def check_may_change(collection: Collection, ids: Sequence[str]) -> None:
    """Raise `NotAllowed` for a viewer, and for a writer if other actors stored some of the records.

    Call it before an operation whose first write adds records. The store checks all other operations itself.
    """
    check_role(Role.WRITER, "change records")
    if not has_role(Role.CURATOR):
        collection.check_may_change(ids)


def check_own_under_review(marks: Mapping[str, Marks], action: str) -> None:
    """Raise `NotAllowed` if the actor writes under review, unless all records are its own and still wait for review.

    Args:
        marks: Marks of the records, keyed by id.
        action: Name of the action for the error message, such as `promote entries`.
    """
    if is_under_review() and any(mark.held_for != actor_name("") for mark in marks.values()):
        raise NotAllowed(
            f"{actor_name('')} writes under review, so it may only change its own records that were not accepted yet; "
            f"ask a curator to {action}"
        )


def _parse_tags(name: str, tags: Sequence[str]) -> tuple[str, ...]:
    if isinstance(tags, str):
        raise InvalidInput(f"expected a list of tags for {name}, got the string {tags!r}; put it in a list")
    stripped = tuple(tag.strip() for tag in tags)
    if "" in stripped:
        raise InvalidInput(f"{name} should not contain an empty tag; leave it out")
    return stripped
