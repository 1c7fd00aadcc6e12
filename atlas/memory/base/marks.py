"""Changes of marks that keep all marks without a new value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from atlas.core.errors import InvalidInput, NotAllowed
from atlas.core.operations import Marks
from atlas.infra.actor import actor_name, is_under_review
from atlas.memory.base.merging import joined


@dataclass(frozen=True, slots=True, kw_only=True)
class MarksChange:
    """Changes of a record's marks. None leaves something as it is."""

    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    pinned: bool | None = None
    buried: bool | None = None
    note: str | None = None

    @classmethod
    def checked(
        cls,
        *,
        add_tags: Sequence[str],
        remove_tags: Sequence[str],
        pinned: bool | None,
        buried: bool | None,
        note: str | None,
    ) -> Self:
        """Return the change, with tags without the spaces around them.

        Raises:
            InvalidInput: A tag is empty, or one text came in place of a list of tags.
        """
        return cls(
            add_tags=_tags("add_tags", add_tags),
            remove_tags=_tags("remove_tags", remove_tags),
            pinned=pinned,
            buried=buried,
            note=note,
        )

    def __call__(self, marks: Marks) -> Marks:
        """Return the marks as they are after it."""
        return replace(
            marks,
            tags=tuple(tag for tag in joined(marks.tags, self.add_tags) if tag not in self.remove_tags),
            pinned=marks.pinned if self.pinned is None else self.pinned,
            buried=marks.buried if self.buried is None else self.buried,
            note=marks.note if self.note is None else self.note,
        )


def check_own_under_review(marks: Mapping[str, Marks], act: str) -> None:
    """Raise `NotAllowed` where a writer under review would change records that it did not write itself.

    Args:
        marks: Marks of the records, by id.
        act: The act that is refused, for the message, such as `promote entries`.
    """
    if is_under_review() and any(mark.held_for != actor_name("") for mark in marks.values()):
        raise NotAllowed(
            f"{actor_name('')} writes under review and may {act} only of its own, until a curator accepts them; "
            "ask a curator"
        )


def _tags(name: str, tags: Sequence[str]) -> tuple[str, ...]:
    if isinstance(tags, str):
        raise InvalidInput(f"{name} should be a list of tags, but is the text {tags!r}; put it in a list")
    stripped = tuple(tag.strip() for tag in tags)
    if "" in stripped:
        raise InvalidInput(f"{name} should hold tags of at least one character, but one is empty; leave it out")
    return stripped
