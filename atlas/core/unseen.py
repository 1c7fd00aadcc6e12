"""Invisible characters of a string, shown as Python escapes."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters that control a terminal, end a line, change the direction of text, or cannot be seen."""

NON_JOINER, JOINER, AS_EMOJI, KEYCAP = "\u200c", "\u200d", "\ufe0f", "\u20e3"

_PUNCTUATION_EMOJI = "\u203c\u2049\u3030"
"""Signs that may be emoji too, but that Unicode counts as punctuation."""

_VIRAMA = 9
"""The combining class of signs that bind a letter to the next one, or, with a joiner, end it."""


SHORT_ID = 8
"""Number of characters that are shown of an id that ATLAS made."""

_FORBIDDEN_IN_ID = "[]<>≮&\\‹⟨〈«"  # noqa: RUF001
"""Characters that could close the brackets or the block around an id, and characters that look like these."""

ID_CHARACTERS = 64
"""Maximum number of characters that are shown of any other id."""


def escape_invisible(line: str) -> str:
    """Return a line with invisible characters as Python escapes, except those that adjacent characters need.

    A joiner or non-joiner is kept between letters, a joiner between emoji too, and so is the selector of an emoji form.
    """
    return _UNSEEN.sub(_escape_match, line)


def has_invisible(text: str) -> bool:
    """Return whether a string contains an invisible character, including legitimate ones."""
    return _UNSEEN.search(text) is not None


def shown_id(record_id: str) -> str:
    """Return an id as a context block shows it: short, on one line, and usable in `used` of an attempt."""
    if re.fullmatch(r"[0-9a-f]{32}", record_id):
        return record_id[:SHORT_ID]
    line = unicodedata.normalize("NFKC", " ".join(record_id.split()))
    text = "".join(character if _may_be_in_id(character) else "_" for character in line)
    return text if len(text) <= ID_CHARACTERS else f"{text[: ID_CHARACTERS - 1].rstrip()}…"


def _may_be_in_id(character: str) -> bool:
    return character.isprintable() and character not in _FORBIDDEN_IN_ID and not has_invisible(character)


def _escape_match(match: re.Match[str]) -> str:
    unseen, text, start = match[0], match.string, match.start()
    before, after = text[max(0, start - 2) : start], text[start + 1 : start + 2]
    is_needed = _is_needed_selector(before, after) if unseen == AS_EMOJI else _is_needed_joiner(unseen, before, after)
    return unseen if is_needed else unseen.encode("unicode_escape").decode()


def _is_needed_selector(before: str, after: str) -> bool:
    return _is_emoji(before[-1:]) or (before[-1:] in set("0123456789#*") and after == KEYCAP)


def _is_needed_joiner(unseen: str, before: str, after: str) -> bool:
    if unseen not in (JOINER, NON_JOINER):
        return False
    if _is_letter(before[-1:]):
        return _is_letter(after) or unicodedata.combining(before[-1:]) == _VIRAMA
    return unseen == JOINER and _is_emoji(before.removesuffix(AS_EMOJI)[-1:]) and _is_emoji(after)


def _is_letter(character: str) -> bool:
    return character != "" and unicodedata.category(character)[0] in "LM" and not has_invisible(character)


def _is_emoji(character: str) -> bool:
    if character <= "\x7f":
        return False
    return unicodedata.category(character)[0] == "S" or character in _PUNCTUATION_EMOJI
