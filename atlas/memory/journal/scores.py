"""How well an agent did by its own count: the score that an entry names, in its metadata or in what it says."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

SCORE = "score"
"""The key of an entry's metadata, and the word in its text, before a score."""

MOST = 100.0
"""The highest number that is taken for a score."""

MIDDLING = 0.5
"""What an entry without a score counts as."""

_NUMBER = r"[-+]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+"
_WRITTEN = re.compile(rf"({_NUMBER})(?!\.?\w)\s*(?:(%)|/\s*({_NUMBER}))?")
_IN_TEXT = re.compile(rf"\b{SCORE}\b[\"']?\s*(?:[:=]|is|of)?\s*(?={_NUMBER})", re.IGNORECASE)


def score_of(content: str, metadata: Mapping[str, Any]) -> float | None:
    """The score that an entry names, in [0, 100], higher being better; None where it names none, or an odd one.

    That of the metadata counts before that of the text, such as `Score: 0.95`, of which the last is taken. `95 %` and
    `19/20` are shares. Other numbers are compared as they are, whether an agent counts to 1, 10 or 100.
    """
    given = _value(metadata.get(SCORE))
    if given is not None:
        return given
    told = [_read(content, match.end()) for match in _IN_TEXT.finditer(content)]
    return next((score for score in reversed(told) if score is not None), None)


def _value(given: Any) -> float | None:
    if isinstance(given, str):
        return _read(given.strip(), 0)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return given * 1.0 if 0 <= given <= MOST else None  # compared first: a huge whole number is no float


def _read(text: str, start: int) -> float | None:
    written = _WRITTEN.match(text, start)
    if written is None:
        return None
    number, percent, whole = written.groups()
    score = float(number) / (100.0 if percent else float(whole or 1) or math.nan)
    return score if 0 <= score <= MOST else None
