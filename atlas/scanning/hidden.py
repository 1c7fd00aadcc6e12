"""Characters and markup that people do not see, but models read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from atlas.scanning.rules import HIDDEN_TEXT, Rule

TAG_START = 0xE0000
"""Code point of the first tag character. Each ASCII character has one, at this distance."""

_ZERO_WIDTH = "\u200b\u200c\u200d\u2060-\u2064\ufeff\u00ad\u180e"
_LATIN = "[A-Za-z0-9 .,;:!?()'\"-]"
_ADDRESSEES = (
    r"(?:\b(?:assistants?|agents?|ai|llms?|models?|system|instructions?|ignore|disregard|reveal|passwords?|secrets?|"
    r"must|upgrade|praise|reply)\b|from now on)"
)


def _make_rule(name: str, weight: float, why: str, pattern: str, *cues: str) -> Rule:
    return Rule(name, HIDDEN_TEXT, weight, why, re.compile(pattern, re.IGNORECASE), cues)


UNSEEN_CHARACTERS: tuple[Rule, ...] = (
    _make_rule(
        "tag characters",
        0.9,
        "It contains invisible copies of ASCII characters.",
        "(?<!\U0001f3f4)(?<![\U000e0020-\U000e007f])[\U000e0001\U000e0020-\U000e007f]{2,}",
    ),
    _make_rule(
        "zero-width characters",
        0.7,
        "It contains invisible characters inside of Latin text.",
        f"[{_ZERO_WIDTH}]{{4,}}|(?:(?<={_LATIN})[{_ZERO_WIDTH}]{_LATIN}{{1,40}}){{3,}}",
    ),
    _make_rule(
        "variation selectors",
        0.8,
        "It contains a series of invisible variation selectors, which can encode any text.",
        "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}",
    ),
    _make_rule(
        "blank letters",
        0.7,
        "It contains a series of letters that look like spaces.",
        "[\u115f\u1160\u3164\uffa0\u2800]{4,}",
    ),
    _make_rule(
        "mixed alphabets",
        0.4,
        "It contains words that mix Latin letters with Cyrillic ones, which look the same.",
        "[a-z][\u0430-\u044f\u0455\u0456\u0458]+[a-z]|[\u0430-\u044f]+[a-z][\u0430-\u044f]",
    ),
)
"""The rules on characters outside of ASCII, in the text as stored."""

DIRECTION_RULE = _make_rule(
    "direction of writing",
    0.7,
    "It reverses the direction of text that is written from left to right.",
    "[\u202d\u202e\u2066\u2067\u2068](?=[\x00-\u024f])",
)
"""The rule on characters that change the direction of writing. It is not used on texts in right-to-left scripts."""

MARKUP: tuple[Rule, ...] = (
    _make_rule(
        "text out of sight",
        0.6,
        "It contains a long gap, followed by an order outside of the visible area.",
        r"(?<![ \t\u00a0])[ \t\u00a0]{120,}+[^\n]{0,80}\b(?:also|ignore|send|copy|delete|run|execute|reveal|always)\b",
        " " * 60,
        "\t" * 60,
        "\u00a0" * 60,
    ),
    _make_rule(
        "hidden comment",
        0.6,
        "It contains an instruction in a comment that a page does not show.",
        rf"<!--[^>]{{0,200}}?{_ADDRESSEES}|(?:^|\s)\[//\]:\s*#\s*[(\"'][^\n]{{0,200}}?{_ADDRESSEES}",
        "<!--",
        "[//]",
    ),
    _make_rule(
        "hidden element",
        0.6,
        "It contains an instruction in an element that a page does not show.",
        r"<\w+\s[^<>]{0,200}?(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])|"
        rf"\bhidden\b)[^<>]{{0,100}}>[^<]{{0,200}}?{_ADDRESSEES}",
        "<",
    ),
)
"""The rules on hidden places in visible characters, in the text as stored."""

_RTL = re.compile("[\u0590-\u08ff]")


def hidden_rules(text: str) -> tuple[Rule, ...]:
    """Return the rules on hidden text that apply to a text."""
    if text.isascii():
        return MARKUP
    if _RTL.search(text):
        return (*MARKUP, *UNSEEN_CHARACTERS)
    return (*MARKUP, *UNSEEN_CHARACTERS, DIRECTION_RULE)


def hidden_messages(text: str) -> Iterator[str]:
    """Yield the messages that tag characters and variation selectors encode."""
    if text.isascii():
        return
    tags = "".join(chr(ord(c) - TAG_START) for c in text if TAG_START + 0x20 <= ord(c) < TAG_START + 0x7F)
    selected = bytes(value for c in text if (value := _selected_byte(ord(c))) is not None)
    yield from (message for message in (tags, selected.decode(errors="ignore")) if len(message) > 1)


def _selected_byte(code: int) -> int | None:
    """Return the byte that a variation selector encodes, or None for other characters."""
    if 0xFE00 <= code <= 0xFE0F:
        return code - 0xFE00
    return code - 0xE0100 + 16 if 0xE0100 <= code <= 0xE01EF else None
