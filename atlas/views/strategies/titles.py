"""Titles of strategies for display."""

from __future__ import annotations

import re

TITLE_CHARACTERS = 90
SHORTEST = 30
"""Characters that a title keeps at least, if it is cut at the end of a clause."""

_PARAMETER = re.compile(r"\{\w+\}")
_REPEATED = re.compile(r"…(?:[\s,:/-]*…)+")
_CLAUSE = re.compile(r"[.:;!?](?=\s)|,(?= (?:and|but|so|while|although|because)\b)|(?= (?:because|although|while) )")


def readable_title(title: str) -> str:
    """Return the first clause of a title, with `…` for each parameter, cut at a word boundary.

    A title with only parameters is returned unchanged.
    """
    is_cut = title.endswith("…")
    text = _REPEATED.sub("…", _PARAMETER.sub("…", title.removesuffix("…")))
    text = " ".join(text.split()).lstrip("… ,.:;-")
    if not re.search(r"\w{3}", text):
        return title
    if is_cut or len(text) > TITLE_CHARACTERS:
        text = _shorten(text, is_cut)
    return text if text[:1] == title[:1] else text[:1].upper() + text[1:]


def _shorten(text: str, is_cut: bool) -> str:
    """Return a long title up to the end of a clause, or else of a word."""
    ends = [match.start() for match in _CLAUSE.finditer(text) if SHORTEST <= match.start() <= TITLE_CHARACTERS]
    if ends:
        return text[: ends[-1]].rstrip(" ,")
    if len(text) <= TITLE_CHARACTERS and not is_cut:
        return text
    return f"{text[:TITLE_CHARACTERS].rsplit(' ', 1)[0].rstrip(' ,.:;…')} …"
