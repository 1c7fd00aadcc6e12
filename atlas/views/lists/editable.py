"""What a person can change of something by hand, as it stands in the boxes of a form."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableFields:
    """What the boxes hold, by the names of the fields that they are of."""

    def changes(self, begun: Any) -> dict[str, Any]:
        """What `edit` takes to make something say this, where the person has changed what they began with.

        Raises:
            InvalidInput: A text cannot be read as what it stands for.
        """
        return self.differing_by_field(begun)

    def differing(self, other: Any) -> dict[str, str]:
        """What this says where another says something else, by our own words for it."""
        return {name.capitalize(): str(value) for name, value in self.differing_by_field(other).items()}

    def differing_by_field(self, other: Any) -> dict[str, Any]:
        """The same as values, by the names of the fields."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(other, name)}
