"""The tokens of a text, equal to those of SQLite's tokenizer `unicode61` with `remove_diacritics 2`.

So both engines have the same keyword hits, as a contract test checks, and postings read from FTS5 can be updated by
the text of a changed record. SQLite itself classifies the characters, because its tables are those of Unicode 6.1,
whichever version Python has.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from functools import lru_cache

from atlas.storage.text.analyzer import expand_for_index

_ASCII_TOKEN = re.compile("[a-z0-9]+")
_SEPARATOR = " "

_lock = threading.Lock()
_tokenizer = sqlite3.connect(":memory:", check_same_thread=False)
_tokenizer.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')")
_tokenizer.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, instance)")


def tokenize_record(text: str) -> list[str]:
    """Return the tokens of a record's text, with the additional tokens of `expand_for_index`."""
    return tokenize(expand_for_index(text))


def tokenize(text: str) -> list[str]:
    """Return the tokens of a text in order, with case and accents folded."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text.lower())
    folded = "".join(_fold(character) for character in text)
    return [
        token
        for part in folded.split(_SEPARATOR)
        if (token := part.lstrip(_COMBINING_MARK).replace(_COMBINING_MARK, ""))
    ]


_COMBINING_MARK = "\0"
"""Placeholder of a combining mark, which cannot begin a word."""


@lru_cache(maxsize=2**16)
def _fold(character: str) -> str:
    """Return a character without case and accents, or `_COMBINING_MARK`, or `_SEPARATOR` if it separates words."""
    with _lock:
        _tokenizer.execute("DELETE FROM texts")
        _tokenizer.execute("INSERT INTO texts VALUES (?)", (f"a{character}b",))
        terms = [term for (term,) in _tokenizer.execute("SELECT term FROM terms ORDER BY offset")]
    if len(terms) != 1:
        return _SEPARATOR
    return terms[0][1:-1] or _COMBINING_MARK
