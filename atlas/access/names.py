"""Names of people and keys for the history, which must be visually distinct."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

NAME_CHARACTERS = 120

_REMOVED_CATEGORIES = frozenset({"Cc", "Cf", "Cs"})
"""Unicode categories that are removed from names: control and bidirectional characters, and others that are not
text."""

_IGNORED_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Me"})
"""Unicode categories that are ignored when names are compared: invisible and combining characters."""


def plain_name(name: str) -> str:
    """Return a name for display: normalised, on one line, without control characters, and of limited length."""
    line = " ".join(unicodedata.normalize("NFC", name).split())
    printable = "".join(letter for letter in line if unicodedata.category(letter) not in _REMOVED_CATEGORIES)
    return " ".join(printable.split())[:NAME_CHARACTERS].strip() or "somebody"


def unique_name(name: str, taken_names: Iterable[str]) -> str:
    """Return a plain form of a name, with a number such as ` (2)` if it looks the same as a taken name."""
    clean_name = plain_name(name)
    appearances = {_visual_form(taken_name) for taken_name in taken_names}
    if _visual_form(clean_name) not in appearances:
        return clean_name
    numbered = (f"{clean_name} ({number})" for number in range(2, len(appearances) + 3))
    return next(candidate for candidate in numbered if _visual_form(candidate) not in appearances)


def is_look_alike(name: str, other: str) -> bool:
    """Return whether two names look the same. Similar letters of different scripts count as different."""
    return _visual_form(name) == _visual_form(other)


def _visual_form(name: str) -> str:
    """Return a text that is equal for names that look the same."""
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(
        "".join(letter for letter in letters if unicodedata.category(letter) not in _IGNORED_CATEGORIES).split()
    )
