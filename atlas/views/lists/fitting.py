"""Texts that fit the cells of a table, which would cut longer ones through the middle of a line."""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import east_asian_width

ELLIPSIS = "…"

_GROUPS = {
    2.9: " ",
    4.1: "!',.:;Iijl|",
    5.0: "()-/[\\]frt{}",
    6.0: '"*?sz',
    7.1: "#$+0123456789<=>FJLY^_acegkvxy~",
    8.3: "ABCEKPRSTVXZ`bdhnopqu",
    9.3: "&DGHNOQU",
    12.0: "%@MWmw—→",
    13.4: ELLIPSIS,
}
PIXELS = {character: pixels for pixels, characters in _GROUPS.items() for character in characters}
"""Widths of characters in the font of the tables, Source Sans at 14 pixels, rounded up by group."""

OTHER_PIXELS, CAPITAL_PIXELS, FULL_PIXELS = 8.3, 12.0, 14.7
"""Widths of other characters: small ones, capitals, and those of full width, as Chinese has."""


def fitted(text: str, pixels: float, n_lines: int) -> str:
    """Return a text that is drawn in so many lines of this width. It ends in `…` where some was cut off.

    Args:
        text: White space counts as one blank.
        pixels: Width of a line.
        n_lines: At least 1.
    """
    words = text.split()
    if n_lines_of(words, pixels) <= n_lines:
        return text
    low, high = 0, len(whole := " ".join(words))
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        fits = n_lines_of(f"{whole[:middle].rstrip()}{ELLIPSIS}".split(), pixels) <= n_lines
        low, high = (middle, high) if fits else (low, middle - 1)
    return f"{whole[:low].rstrip()}{ELLIPSIS}"


def n_lines_of(words: list[str], pixels: float) -> int:
    """Return the number of lines that words take. One that is wider than a line is broken anywhere."""
    lines, left = 1, pixels
    for word in words:
        for part in _parts(word, pixels):
            needed = _width(part) + (0 if left == pixels else PIXELS[" "])
            if needed > left:
                lines, left, needed = lines + 1, pixels, _width(part)
            left -= needed
    return lines


def _parts(word: str, pixels: float) -> Iterator[str]:
    """Yield a word in parts that fit a line."""
    start, width = 0, 0.0
    for place, character in enumerate(word):
        width += _width(character)
        if width > pixels and place > start:
            yield word[start:place]
            start, width = place, _width(character)
    yield word[start:]


def _width(text: str) -> float:
    return sum(map(_pixels_of, text))


def _pixels_of(character: str) -> float:
    if character in PIXELS:
        return PIXELS[character]
    if east_asian_width(character) in "WF":
        return FULL_PIXELS
    return CAPITAL_PIXELS if character.isupper() else OTHER_PIXELS
