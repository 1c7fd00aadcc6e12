"""Titles of strategies as a person reads them."""

from __future__ import annotations

import re

TITLE_CHARACTERS = 90
SHORTEST = 30
"""Characters that a title keeps at least, where it is cut at the end of a clause."""

_PARAMETER = re.compile(r"\{\w+\}")
_REPEATED = re.compile(r"…(?:[\s,:/-]*…)+")
_CLAUSE = re.compile(r"[.:;!?](?=\s)|,(?= (?:and|but|so|while|although|because)\b)|(?= (?:because|although|while) )")


def readable_title(title: str) -> str:
    """Return the first clause of a title, with `…` in place of each parameter, and no word cut in two.

    What is left of a title that holds nothing but parameters is the title itself.
    """
    is_cut = title.endswith("…")
    told = _REPEATED.sub("…", _PARAMETER.sub("…", title.removesuffix("…")))
    told = " ".join(told.split()).lstrip("… ,.:;-")
    if not re.search(r"\w{3}", told):
        return title
    if is_cut or len(told) > TITLE_CHARACTERS:
        told = _shortened(told, is_cut)
    return told if told[:1] == title[:1] else told[:1].upper() + told[1:]


def _shortened(told: str, is_cut: bool) -> str:
    """Return a long title up to the end of a clause, or else of a word."""
    ends = [match.start() for match in _CLAUSE.finditer(told) if SHORTEST <= match.start() <= TITLE_CHARACTERS]
    if ends:
        return told[: ends[-1]].rstrip(" ,")
    if len(told) <= TITLE_CHARACTERS and not is_cut:
        return told
    return f"{told[:TITLE_CHARACTERS].rsplit(' ', 1)[0].rstrip(' ,.:;…')} …"
