"""What a person can change of something by hand, as texts in the boxes of a form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableTexts:
    """Texts by the names of the fields that they are of."""

    def changes(self, begun: Any) -> dict[str, Any]:
        """What `edit` takes to make something say this, where the person has changed what they began with.

        Raises:
            InvalidInput: A text cannot be read as what it stands for.
        """
        return dict(self.differing_by_field(begun))

    def differing(self, other: Any) -> dict[str, str]:
        """What this says where another says something else, by our own words for it."""
        return {name.capitalize(): text for name, text in self.differing_by_field(other).items()}

    def differing_by_field(self, other: Any) -> Mapping[str, str]:
        """The same, by the names of the fields."""
        texts = {field.name: str(getattr(self, field.name)) for field in fields(self)}
        return {name: text for name, text in texts.items() if text != getattr(other, name)}
