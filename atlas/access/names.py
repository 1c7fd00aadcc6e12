"""Names of people and keys in the history. No two look alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

NAME_CHARACTERS = 120

_UNPRINTED = frozenset({"Cc", "Cf", "Cs"})
"""Categories of characters that no name has: they steer a terminal, turn text around, or are not text."""

_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Me"})
"""Categories of characters that a name is compared without, as they are not seen or only decorate a letter."""


def plain_name(name: str) -> str:
    """Return a name as it is shown: composed, on one line, without control characters, and not too long."""
    line = " ".join(unicodedata.normalize("NFC", name).split())
    seen = "".join(letter for letter in line if unicodedata.category(letter) not in _UNPRINTED)
    return " ".join(seen.split())[:NAME_CHARACTERS].strip() or "somebody"


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Return a name, numbered where another one looks like it."""
    plain, looks = plain_name(name), {_looks(candidate) for candidate in taken}
    numbered = (f"{plain} ({number})" for number in range(2, len(looks) + 3))
    return (
        plain
        if _looks(plain) not in looks
        else next(candidate for candidate in numbered if _looks(candidate) not in looks)
    )


def look_alike(name: str, other: str) -> bool:
    """Return whether two names look the same. Letters of other scripts do not."""
    return _looks(name) == _looks(other)


def _looks(name: str) -> str:
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return " ".join("".join(letter for letter in letters if unicodedata.category(letter) not in _UNSEEN).split())
