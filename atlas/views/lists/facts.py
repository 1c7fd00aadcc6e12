"""Parts of a panel: its head, facts in a grid, and longer texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from atlas.core.operations import Marks
from atlas.views.kinds.kind import Kind
from atlas.views.shared.texts import Headline, Text
from atlas.views.shared.wording import outcome_with_sign


@dataclass(frozen=True, slots=True)
class Fact:
    """One short value of a record."""

    name: str
    """A word of our own."""

    value: str
    """May be untrusted text."""


@dataclass(frozen=True, slots=True)
class Badge:
    """A word on a record that stands beside its title. Both are trusted."""

    text: str
    colour: str
    """`green`, `red`, `orange` or `gray`."""

    @classmethod
    def of_outcome(cls, label: str) -> Badge:
        """Return `✓ succeeded` in green for `succeeded`."""
        return cls(outcome_with_sign(label), {"succeeded": "green", "failed": "red"}.get(label, "gray"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The first thing to read of an opened record, of any kind."""

    headline: Headline
    is_log: bool = False
    """True for a text whose lines, if it has several, are to be shown as they are."""

    badges: tuple[Badge, ...] = ()
    ending: str = ""
    """One line of untrusted text on what came of it, behind the badges and in the colour of the first of them."""

    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One text of a record."""

    name: str
    """Trusted text."""

    text: Text


@dataclass(frozen=True, slots=True)
class RecordLink:
    """A record that another one leads to."""

    kind: Kind
    id: str
    title: str
    """The beginning of its text, which is untrusted."""

    record: str = ""
    """How it went, as trusted text: `12 of 12 uses succeeded`, `✓ succeeded`, or empty if that is not known."""


def facts_of(named: Mapping[str, str]) -> tuple[Fact, ...]:
    """Return the facts that are known, by our own words for them."""
    return tuple(Fact(name, value) for name, value in named.items() if value)


def marks_facts(marks: Marks) -> tuple[Fact, ...]:
    """Return what people noted about a record."""
    return facts_of({"Tags": ", ".join(marks.tags), "Note": marks.note})


def plain_facts(metadata: Mapping[str, Any], *above: str) -> Iterator[Fact]:
    """Yield the metadata of a record as names and values, which are untrusted text.

    Args:
        metadata: JSON values.
        above: Names of the enclosing objects. A nested name is `outer, inner`.
    """
    for name, value in metadata.items():
        if isinstance(value, Mapping):
            yield from plain_facts(value, *above, name)
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            yield Fact(", ".join((*above, name)).replace("_", " "), text)


def parts_of(*named: tuple[str, Text | None]) -> tuple[Part, ...]:
    """Return the texts that there are, by our own words for them."""
    return tuple(Part(name, text) for name, text in named if text)
