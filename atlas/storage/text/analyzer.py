"""The search terms of a text: words, stems, parts of identifiers, and bigrams of CJK characters.

SQLite's tokenizer `unicode61` splits a text at characters that are neither letters nor digits, and folds case and
accents. It treats `getUserById` as one word, and also a run of CJK, which has no spaces. `searchable` adds what it
would miss, and `query_terms` asks for the same, so that either spelling finds the other.

The index is kept by giving SQLite each old text once more, to be taken out word by word. `searchable` must return the
same of a text for as long as the schema is the same: it uses fixed ranges of characters and Unicode 3.2's
normalisation, not that of this Python. To change its result is a new schema, which indexes all again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from atlas.storage.text.stemming import stem

MAX_QUERY_CHARACTERS = 20_000
MAX_TERMS = 256
"""Queries are truncated to their first characters and terms, because the beginning of a task contains its subject."""

MIN_TYPED = 2
"""Smallest number of letters of a word that may be a prefix of another."""

MAX_RUN = 8
"""Largest number of CJK characters in a row that may be one word. Longer runs are several words."""

MAX_IDENTIFIER = 80
MAX_PARTS = 12
"""Longer identifiers, and those of more parts, are hashes, keys or sentences. They are not parted."""

_CJK = (
    "\u1100-\u11ff\u3005\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003fffd"
)
_LETTERS = [letter for letter in map(chr, range(0x528)) if letter.isalpha() and letter != "\u037f"]
"""Latin, Greek and Cyrillic, as far as SQLite's tokenizer folds their case."""

_UPPER = "".join(letter for letter in _LETTERS if letter.isupper())
_LOWER = "".join(letter for letter in _LETTERS if not letter.isupper())
_WORD = f"{_UPPER}{_LOWER}0-9"
_RUN = rf"(?:[^\W_{_CJK}][\u0300-\u036f]*)+"
_BREAK = "[_\\-\u2010]+"

_LIKENED = re.compile(  # long assigned in full: what is added to Unicode changes nothing here
    "[\0-\u052f\u1100-\u11ff\u1e00-\u20cf\u2100-\u218f\u2460-\u24ff\u2e80-\u33ff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufb06\uff00-\uffef]+"
)
CJK_RUN = re.compile(f"[{_CJK}]+")
_BREAKS = re.compile(_BREAK)
_IDENTIFIER = re.compile(f"[{_WORD}]+(?:{_BREAK}[{_WORD}]+)*")
_PARTS = re.compile(f"[{_UPPER}]{{2,}}s(?![{_LOWER}])|[{_UPPER}]+(?![{_LOWER}])|[{_UPPER}]?[{_LOWER}]+|[0-9]+")
_TOKEN = re.compile(rf"[{_CJK}]+|{_RUN}(?:{_BREAK}{_RUN})*")
_QUOTED = re.compile('"([^"]+)"')
_PLAIN = re.compile("[A-Z]?[a-z]+")
_STEMMED = re.compile("[a-z]{3,40}")


@dataclass(frozen=True, slots=True)
class Term:
    """A word to look up, in the form of the index except for case and accents."""

    text: str

    is_prefix: bool = False
    """True if the term is a prefix."""

    is_composed: bool = False
    """True if other terms cover its parts: the parts of an identifier, the stem of a word."""


def searchable(text: str) -> str:
    """Return a string with extra terms for the index: CJK bigrams, and at the end stems and parts of identifiers.

    Additions are at the end, so that adjacent words remain adjacent.
    """
    spread = text if text.isascii() else CJK_RUN.sub(_in_pairs, _normalised(text))
    added = map(_added, _IDENTIFIER.findall(spread))
    return "\n".join([spread, " ".join(filter(None, added))])


def query_terms(text: str) -> list[Term]:
    """Return the distinct terms of a query, in order. Every character of it is literal.

    Each word is followed by its bigram with the word before, and the bigrams of a short run of CJK by the whole run, so
    that adjacent words in a record score higher.
    """
    terms: dict[str, Term] = {}
    before = ""
    for token in _TOKEN.findall(_normalised(text[:MAX_QUERY_CHARACTERS])):
        for term in (*_terms(token), *_pairs(before, token)):
            terms.setdefault(term.text, term)
        before = token
        if len(terms) >= MAX_TERMS:
            break
    return list(terms.values())[:MAX_TERMS]


def typed_terms(text: str) -> list[Term]:
    """Return the last word of a text as a prefix, because the user may not have finished typing it."""
    tokens = _TOKEN.findall(_normalised(text[:MAX_QUERY_CHARACTERS])) if not text.rstrip().endswith('"') else []
    if not tokens or CJK_RUN.match(tokens[-1]):
        return []
    word = _lower(_BREAKS.split(tokens[-1])[-1])
    return [Term(word, is_prefix=True, is_composed=True)] if len(word) >= MIN_TYPED else []


def phrases(text: str) -> list[Term]:
    """Return the phrases in quotation marks, each as consecutive words."""
    terms = map(_phrase, _QUOTED.findall(_normalised(text[:MAX_QUERY_CHARACTERS])))
    return [phrase for phrase in terms if phrase.text]


def _phrase(quoted: str) -> Term:
    words: list[str] = []
    for token in _TOKEN.findall(quoted):
        words += CJK_RUN.sub(_in_pairs, token).split() if CJK_RUN.match(token) else _BREAKS.split(token)
    if not words or not CJK_RUN.fullmatch(words[-1]):
        return Term(" ".join(words))
    # The last character is a term by itself only at the end of a run, since the record's run may be longer.
    is_alone = len(words) == 1 or not CJK_RUN.fullmatch(words[-2])
    return Term(" ".join(words if is_alone else words[:-1]), is_prefix=is_alone)


def _pairs(before: str, token: str) -> Iterator[Term]:
    """Return the words of a token, each with the one before it. FTS5 takes several words for a phrase."""
    if CJK_RUN.match(token):
        return
    words = [_lower(word) for word in _BREAKS.split(token)]
    last = "" if CJK_RUN.match(before) else _lower(_BREAKS.split(before)[-1])
    for left, right in pairwise([last, *words] if last else words):
        yield Term(f"{left} {right}", is_composed=True)


def _normalised(text: str) -> str:
    """Return a text with compatible characters unified (NFKC).

    These are full and half width, ligatures, and composed and decomposed accents.
    """
    if text.isascii():
        return text
    return _LIKENED.sub(lambda run: unicodedata.ucd_3_2_0.normalize("NFKC", run[0]), text)


def _in_pairs(run: re.Match[str]) -> str:
    """Return character bigrams, and the last character alone, so that a run is found by any of its characters."""
    characters = run[0]
    return f" {' '.join(characters[i : i + 2] for i in range(len(characters)))} "


def _added(identifier: str) -> str:
    if len(identifier) <= MAX_IDENTIFIER:
        return _added_to(identifier)
    return " ".join(_added_to(word) for word in _BREAKS.split(identifier) if len(word) <= MAX_IDENTIFIER)


@lru_cache(maxsize=2**16)
def _added_to(identifier: str) -> str:
    return " ".join(term.text for term in _derived(identifier))


def _terms(token: str) -> Iterator[Term]:
    if CJK_RUN.match(token):
        yield from _of_run(token)
        return
    for word in _BREAKS.split(token):
        yield Term(_lower(word), is_composed=any(True for _ in _of_word(word)))
    for identifier in _IDENTIFIER.findall(token):
        yield from _derived(identifier)


def _of_run(run: str) -> Iterator[Term]:
    """Return the terms of a run of CJK characters: its pairs and itself, or the prefix that a single one is."""
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    yield from map(Term, pairs)
    if not pairs:
        yield Term(run, is_prefix=True)
    elif 2 < len(run) <= MAX_RUN:
        yield Term(" ".join(pairs), is_composed=True)


def _lower(word: str) -> str:
    """Return a word in lower case, or unchanged if the tokenizer would fold it differently."""
    return word.lower() if _IDENTIFIER.fullmatch(word) else word


def _derived(identifier: str) -> Iterator[Term]:
    """Return the other terms of an identifier: all words in one, their parts, and stems."""
    words = _BREAKS.split(identifier)
    if len(words) > 1 and _is_significant(identifier, sum(len(_PARTS.findall(word)) for word in words)):
        yield Term("".join(words).lower(), is_composed=True)
    for word in words:
        yield from _of_word(word)


def _of_word(word: str) -> Iterator[Term]:
    """Return the parts of a word that has several, and each stem that differs from its word."""
    if _PLAIN.fullmatch(word):  # as most are
        yield from _stems(word.lower())
        return
    parts = _PARTS.findall(word[: MAX_IDENTIFIER + 1])
    if len(parts) == 1 or not _is_significant(word, len(parts)):
        yield from _stems(word.lower())
        return
    for part in map(str.lower, parts):
        stems = tuple(_stems(part))
        yield Term(part, is_composed=bool(stems))
        yield from stems


def _stems(word: str) -> Iterator[Term]:
    root = stem(word) if _STEMMED.fullmatch(word) else word
    if root != word:
        yield Term(root)


def _is_significant(identifier: str, n_parts: int) -> bool:
    """Return whether its parts do. They do not in `k8s`, `2026-01-01`, hashes and keys."""
    is_random = n_parts > MAX_PARTS or len(identifier) > MAX_IDENTIFIER or len(identifier) < 1.5 * n_parts
    return not is_random and any(map(str.isalpha, identifier))
