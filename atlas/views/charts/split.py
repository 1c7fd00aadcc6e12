"""A number of things in parts, as one bar with words below it. It contains no text of memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar."""

    words: str
    """`better at 11`."""

    n: int
    colour: str
    """A colour that can be told from those of the other parts, on light and on dark."""


def split_bar(parts: Sequence[Part]) -> str:
    """Return the parts as HTML: a bar for the eye, and their words for everybody."""
    bar = "".join(
        f'<span style="flex: {part.n}; border-radius: 3px; background: {part.colour}"></span>'
        for part in parts
        if part.n
    )
    words = "".join(
        f'<span><span style="color: {part.colour}" aria-hidden="true">■</span> {escape(part.words)}</span>'
        for part in parts
    )
    return (
        f'<div aria-hidden="true" style="display: flex; gap: 3px; height: 12px">{bar}</div>'
        f'<div style="display: flex; flex-wrap: wrap; gap: 0 14px; padding-top: 6px; font-size: 0.875rem">{words}</div>'
    )
