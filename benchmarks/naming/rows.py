"""The row of a table of well-known functions: ways to write one, and the names that fit."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A piece of work, and what a function that does it may be called."""

    names: frozenset[str]
    sources: tuple[str, ...]
    """Ways to write it, with placeholders for names."""


def row(names: str, *sources: str) -> Row:
    return Row(names=frozenset(names.split()), sources=tuple(map(function, sources)))


def function(source: str) -> str:
    """Return the source of a function, from that or from `parameters: expression`."""
    parameters, stop, value = source.partition(": ")
    is_short = bool(stop) and "\n" not in source and not source.startswith("def ")
    return f"def concept_0({parameters}):\n    return {value}\n" if is_short else dedent(source).strip() + "\n"
