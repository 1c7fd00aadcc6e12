"""Parts of a panel: facts in a row, and longer texts."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.views.shared.texts import Text


@dataclass(frozen=True, slots=True)
class Fact:
    """One short value of a record."""

    name: str
    """A word of our own."""

    value: str
    """May be untrusted text."""


@dataclass(frozen=True, slots=True)
class Part:
    """One text of a record."""

    name: str
    """Words of our own."""

    text: Text


def parts_of(*named: tuple[str, Text | None]) -> tuple[Part, ...]:
    """Return the texts that there are, by our own words for them."""
    return tuple(Part(name, text) for name, text in named if text)
