"""Editable fields in a form."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableFields:
    """The values of a form."""

    def changes(self, begun: Any, record: Any) -> dict[str, Any]:
        """Return a person's changes to a record, as arguments of `edit`.

        Args:
            begun: Initial contents of the text fields.
            record: The stored record.

        Raises:
            InvalidInput: A text cannot be parsed.
        """
        return self.differing_by_field(begun)

    def changed_texts(self, other: Any) -> dict[str, str]:
        """Return the texts that differ from another's, by our own words for the fields."""
        return {name.capitalize(): str(value) for name, value in self.differing_by_field(other).items()}

    def differing_by_field(self, other: Any) -> dict[str, Any]:
        """Return the values that differ from another's, by the names of the fields."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(other, name)}
