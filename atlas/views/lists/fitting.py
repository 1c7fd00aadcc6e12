"""Truncation of texts to the width of a table cell."""

from __future__ import annotations

from unicodedata import east_asian_width

ELLIPSIS = "…"

_GROUPS = {
    2.9: " ",
    3.7: "!',.:;Iijl|·",
    4.5: "()-[]ft{}",
    5.0: "/\\r",
    6.0: '"*?csxz',
    7.0: "#$+0123456789<=>FJLY^_aegkvy~",
    7.8: "AEPSTVXZ`bdhnopqu",
    8.6: "&BCDGKR→",
    9.3: "HNOQU",
    10.2: "Mw",
    11.9: "%@Wm—",
    13.4: ELLIPSIS,
}
PIXELS = {character: pixels for pixels, characters in _GROUPS.items() for character in characters}
"""Widths of characters in the font of the tables, Source Sans at 14 pixels, by group."""

OTHER_PIXELS, CAPITAL_PIXELS, FULL_PIXELS = 8.3, 11.0, 14.7
"""Widths of other characters: small letters, capitals, and full-width characters, such as Chinese."""


def fitted(text: str, pixels: float) -> str:
    """Return a text truncated to a width in pixels, with `…` after the last whole word.

    Args:
        text: Runs of white space count as one blank.
        pixels: Width of the line.
    """
    line = " ".join(text.split())
    if _width(line) <= pixels:
        return line
    low, high = 0, len(line)
    while low < high:  # the longest prefix that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _width(line[:middle]) + PIXELS[ELLIPSIS] <= pixels else (low, middle - 1)
    word_end = line.rfind(" ", low // 2, low + 1)  # a word of more than half the line is cut itself
    return f"{line[: low if word_end < 0 else word_end].rstrip(' ·,;:')}{ELLIPSIS}"


def _width(text: str) -> float:
    return sum(map(_pixels_of, text))


def _pixels_of(character: str) -> float:
    if character in PIXELS:
        return PIXELS[character]
    if east_asian_width(character) in "WF":
        return FULL_PIXELS
    return CAPITAL_PIXELS if character.isupper() else OTHER_PIXELS
