"""The tokens of a text, as SQLite's tokenizer `unicode61` with `remove_diacritics 2` parts it.

So that both engines find the same by the same words, which a contract test holds. Letters are those of this Python's
Unicode, where SQLite knows version 6.1: what was added since is parted otherwise.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from atlas.storage.text.analyzer import searchable

_MARKS = "\u0300-\u036f"
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010fffd"
_TOKEN = re.compile(rf"(?:[^\W_]|[{_PRIVATE}])(?:[^\W_]|[{_PRIVATE}{_MARKS}])*")


def tokens_of_record(text: str) -> list[str]:
    """Return the tokens of a record's text, with those that are added so that it is found."""
    return tokens(searchable(text))


def tokens(text: str) -> list[str]:
    """Return the tokens of a text in their order, without case and accents."""
    if text.isascii():
        return _TOKEN.findall(text.lower())
    return [
        token if token.isascii() and token.islower() else "".join(map(_folded, token)) for token in _TOKEN.findall(text)
    ]


@lru_cache(maxsize=2**14)
def _folded(character: str) -> str:
    """Return a letter without case, and one of the Latin alphabet without what stands above or below it."""
    if "\u0300" <= character <= "\u036f":
        return ""
    base = unicodedata.normalize("NFD", character)[0]
    lower = (base if base.isascii() else character).lower()
    return lower if len(lower) == 1 else character
