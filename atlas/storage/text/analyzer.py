"""The search terms of a text: words, stems, parts of identifiers, and bigrams of CJK characters.

SQLite's tokenizer `unicode61` splits a text at characters that are neither letters nor digits, and folds case and
accents. The tokenizer treats `getUserById` as one word, and also a run of CJK, which has no spaces. The missing terms
are added to the index by `expand_for_index`, and to the query by `query_terms`, so that each spelling finds the other.

To remove a record from the index, SQLite needs its indexed text again. So `expand_for_index` must not change its result
unless the schema version changes too, which rebuilds the index. For this, it uses fixed ranges of characters, and
Unicode 3.2's normalisation instead of Python's.
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

MIN_PREFIX = 2
"""Minimum length of a word that is searched as a prefix."""

MAX_RUN = 8
"""Maximum length of a run of CJK characters that may be one word."""

MAX_IDENTIFIER = 80
MAX_PARTS = 12
"""Maximum length and number of parts of an identifier. Longer ones are hashes, keys or sentences, and are not split."""

_CJK = (
    "\u1100-\u11ff\u3005\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003fffd"
)
_LETTERS = [letter for letter in map(chr, range(0x528)) if letter.isalpha() and letter != "\u037f"]
"""Latin, Greek and Cyrillic letters whose case SQLite's tokenizer folds."""

_UPPER = "".join(letter for letter in _LETTERS if letter.isupper())
_LOWER = "".join(letter for letter in _LETTERS if not letter.isupper())
_WORD = f"{_UPPER}{_LOWER}0-9"
_RUN = rf"(?:[^\W_{_CJK}][\u0300-\u036f]*)+"
_BREAK = "[_\\-\u2010]+"

_NORMALIZED_CHARACTERS = re.compile(  # blocks without unassigned characters, which are stable across Unicode versions
    "[\0-\u052f\u1100-\u11ff\u1e00-\u20cf\u2100-\u218f\u2460-\u24ff\u2e80-\u33ff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufb06\uff00-\uffef]+"
)
CJK_RUN = re.compile(f"[{_CJK}]+")
_BREAKS = re.compile(_BREAK)
_IDENTIFIER = re.compile(f"[{_WORD}]+(?:{_BREAK}[{_WORD}]+)*")
_PARTS = re.compile(f"[{_UPPER}]{{2,}}s(?![{_LOWER}])|[{_UPPER}]+(?![{_LOWER}])|[{_UPPER}]?[{_LOWER}]+|[0-9]+")
_TOKEN = re.compile(rf"[{_CJK}]+|{_RUN}(?:{_BREAK}{_RUN})*")
_QUOTATION = re.compile('"([^"]+)"')
_PLAIN = re.compile("[A-Z]?[a-z]+")
_STEMMABLE_WORD = re.compile("[a-z]{3,40}")


@dataclass(frozen=True, slots=True)
class Term:
    """A search term, in the index's form except for case and accents."""

    text: str

    is_prefix: bool = False
    """True if the term is a prefix."""

    is_composed: bool = False
    """True if other terms cover its parts: the parts of an identifier, the stem of a word."""


def expand_for_index(text: str) -> str:
    """Return a text for the index, with CJK runs split into bigrams, and with stems and parts of identifiers added.

    The stems and parts are added at the end, so that adjacent words remain adjacent.
    """
    separated = text if text.isascii() else CJK_RUN.sub(_split_bigrams, _normalize(text))
    extra_terms = map(_extra_terms, _IDENTIFIER.findall(separated))
    return "\n".join([separated, " ".join(filter(None, extra_terms))])


def query_terms(text: str) -> tuple[Term, ...]:
    """Return the distinct terms of a query, in order. There is no query syntax.

    Bigrams of adjacent words, and short runs of CJK as a whole, are terms too, so that records with adjacent words
    score higher. The terms are cached, because a query of a memory system searches several memories.
    """
    return _query_terms(text[:MAX_QUERY_CHARACTERS])


@lru_cache(maxsize=64)
def _query_terms(text: str) -> tuple[Term, ...]:
    terms: dict[str, Term] = {}
    previous = ""
    for token in _TOKEN.findall(_normalize(text)):
        for term in (*_iterate_terms(token), *_iterate_pairs(previous, token)):
            terms.setdefault(term.text, term)
        previous = token
        if len(terms) >= MAX_TERMS:
            break
    return tuple(terms.values())[:MAX_TERMS]


def prefix_terms(text: str) -> list[Term]:
    """Return the last word of a text as a prefix, because the user may not have finished typing it."""
    tokens = _TOKEN.findall(_normalize(text[:MAX_QUERY_CHARACTERS])) if not text.rstrip().endswith('"') else []
    if not tokens or CJK_RUN.match(tokens[-1]):
        return []
    word = _lower(_BREAKS.split(tokens[-1])[-1])
    return [Term(word, is_prefix=True, is_composed=True)] if len(word) >= MIN_PREFIX else []


def find_phrases(text: str) -> list[Term]:
    """Return each phrase in quotation marks as a term of consecutive words."""
    terms = map(_parse_phrase, _QUOTATION.findall(_normalize(text[:MAX_QUERY_CHARACTERS])))
    return [phrase for phrase in terms if phrase.text]


def _parse_phrase(quoted: str) -> Term:
    """Return the text in quotation marks as a term of consecutive words."""
    words: list[str] = []
    for token in _TOKEN.findall(quoted):
        words += CJK_RUN.sub(_split_bigrams, token).split() if CJK_RUN.match(token) else _BREAKS.split(token)
    if not words or not CJK_RUN.fullmatch(words[-1]):
        return Term(" ".join(words))
    # The last character is a term by itself only at the end of a run, since the record's run may be longer.
    is_alone = len(words) == 1 or not CJK_RUN.fullmatch(words[-2])
    return Term(" ".join(words if is_alone else words[:-1]), is_prefix=is_alone)


def _iterate_pairs(previous: str, token: str) -> Iterator[Term]:
    """Yield the pairs of adjacent words in a token. The first pair begins with the last word of the previous token.

    Each pair is one term, because FTS5 treats several words as a phrase.
    """
    if CJK_RUN.match(token):
        return
    words = [_lower(word) for word in _BREAKS.split(token)]
    previous_word = "" if CJK_RUN.match(previous) else _lower(_BREAKS.split(previous)[-1])
    for left, right in pairwise([previous_word, *words] if previous_word else words):
        yield Term(f"{left} {right}", is_composed=True)


def _normalize(text: str) -> str:
    """Return a text in NFKC, which unifies widths, ligatures, and composed and decomposed accents."""
    if text.isascii():
        return text
    return _NORMALIZED_CHARACTERS.sub(lambda run: unicodedata.ucd_3_2_0.normalize("NFKC", run[0]), text)


def _split_bigrams(run: re.Match[str]) -> str:
    """Return character bigrams, and the last character alone, so that a run is found by any of its characters."""
    characters = run[0]
    return f" {' '.join(characters[i : i + 2] for i in range(len(characters)))} "


def _extra_terms(identifier: str) -> str:
    """Return the additional terms of an identifier, or of its words if it is too long, separated by spaces."""
    if len(identifier) <= MAX_IDENTIFIER:
        return _derived_terms(identifier)
    return " ".join(_derived_terms(word) for word in _BREAKS.split(identifier) if len(word) <= MAX_IDENTIFIER)


@lru_cache(maxsize=2**16)
def _derived_terms(identifier: str) -> str:
    return " ".join(term.text for term in _iterate_derived(identifier))


def _iterate_terms(token: str) -> Iterator[Term]:
    """Yield the terms of a token: its words, and their parts and stems."""
    if CJK_RUN.match(token):
        yield from _iterate_run(token)
        return
    for word in _BREAKS.split(token):
        yield Term(_lower(word), is_composed=any(True for _ in _iterate_parts(word)))
    for identifier in _IDENTIFIER.findall(token):
        yield from _iterate_derived(identifier)


def _iterate_run(run: str) -> Iterator[Term]:
    """Yield the terms of a run of CJK characters: its bigrams and the whole run. A single character is a prefix."""
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    yield from map(Term, pairs)
    if not pairs:
        yield Term(run, is_prefix=True)
    elif 2 < len(run) <= MAX_RUN:
        yield Term(" ".join(pairs), is_composed=True)


def _lower(word: str) -> str:
    """Return a word in lower case, or unchanged if the tokenizer would fold it differently."""
    return word.lower() if _IDENTIFIER.fullmatch(word) else word


def _iterate_derived(identifier: str) -> Iterator[Term]:
    """Yield the additional terms of an identifier: the joined words, their parts, and stems."""
    words = _BREAKS.split(identifier)
    if len(words) > 1 and _is_significant(identifier, sum(len(_PARTS.findall(word)) for word in words)):
        yield Term("".join(words).lower(), is_composed=True)
    for word in words:
        yield from _iterate_parts(word)


def _iterate_parts(word: str) -> Iterator[Term]:
    """Yield the parts of a word with several parts, and each stem that differs from its word."""
    if _PLAIN.fullmatch(word):  # most words
        yield from _iterate_stems(word.lower())
        return
    parts = _PARTS.findall(word[: MAX_IDENTIFIER + 1])
    if len(parts) == 1 or not _is_significant(word, len(parts)):
        yield from _iterate_stems(word.lower())
        return
    for part in map(str.lower, parts):
        stems = tuple(_iterate_stems(part))
        yield Term(part, is_composed=bool(stems))
        yield from stems


def _iterate_stems(word: str) -> Iterator[Term]:
    """Yield the stem of a word, if it differs from the word."""
    root = stem(word) if _STEMMABLE_WORD.fullmatch(word) else word
    if root != word:
        yield Term(root)


def _is_significant(identifier: str, n_parts: int) -> bool:
    """Return whether the parts of an identifier are words. False for `k8s`, `2026-01-01`, hashes and keys."""
    is_random = n_parts > MAX_PARTS or len(identifier) > MAX_IDENTIFIER or len(identifier) < 1.5 * n_parts
    return not is_random and any(map(str.isalpha, identifier))
