"""Phrases that contain the distinctive words of a domain: `surface area`, which is clearer than `area` alone."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

LONGEST = 3
"""Words of a phrase."""

CHARACTERS = 24
FEWEST = 3
"""Texts that must have a phrase."""

STANDS_FOR, STAND_TOGETHER = 0.4, 0.1
"""Shares of a distinctive word's texts that need a phrase of it: with any other word, or with distinctive ones."""

AS_FREQUENT = 0.8
"""Share of a phrase's texts from which a longer one is taken instead."""

_RUN = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+)*")
"""Words with only spaces and hyphens between them."""

Plain = Callable[[str], str | None]
"""Function that returns the normalised word, or None for a word that no name may contain."""

Phrase = tuple[str, ...]
"""Words as they are counted."""


def insert_phrases(terms: Sequence[str], texts: Iterable[str], plain: Plain) -> tuple[str, ...]:
    """Return the distinctive words of a domain, with phrases in place of words that form one.

    Args:
        terms: The distinctive words, best first.
        texts: The domain's texts, without code.
        plain: Function that normalises words.
    """
    phrases = _count_phrases(texts, plain)
    parts: list[str] = []
    covered: set[str] = set()
    for term in terms:
        if term not in covered:
            phrase = _phrase_of(term, terms, covered, phrases)
            covered.update(phrase)
            parts.append(_spelled(phrases[phrase]) if len(phrase) > 1 else term)
    return tuple(parts)


def _count_phrases(texts: Iterable[str], plain: Plain) -> Mapping[Phrase, Counter[str]]:
    """Return how many texts have each phrase, by how they spell it."""
    phrases: defaultdict[Phrase, Counter[str]] = defaultdict(Counter)
    for text in texts:
        spellings = {phrase: spelled for run in _RUN.findall(text) for phrase, spelled in _phrases(run, plain)}
        for phrase, spelled in spellings.items():
            phrases[phrase][spelled] += 1
    return phrases


def _phrases(run: str, plain: Plain) -> Iterable[tuple[Phrase, str]]:
    """Yield each phrase that words in a row make, and its spelling. A single word is one, too."""
    spelled = run.split(" ")
    counted = [plain(word) for word in spelled]
    for start in range(len(spelled)):
        for end in range(start + 1, min(start + LONGEST, len(spelled)) + 1):
            phrase = tuple(word for word in counted[start:end] if word is not None)
            if len(phrase) < end - start:
                break
            yield phrase, " ".join(spelled[start:end])


def _phrase_of(term: str, terms: Sequence[str], covered: set[str], phrases: Mapping[Phrase, Counter[str]]) -> Phrase:
    """Return the phrase that stands for a word: the most frequent one, or a longer one that is nearly as frequent."""
    n_of = {phrase: of.total() for phrase, of in phrases.items() if term in phrase and covered.isdisjoint(phrase)}
    fit = {
        phrase: n
        for phrase, n in n_of.items()
        if len(phrase) > 1 and len(_spelled(phrases[phrase])) <= CHARACTERS
        and n >= max(FEWEST, n_of[term,] * (STAND_TOGETHER if set(phrase) <= set(terms) else STANDS_FOR))
    }  # fmt: skip
    most = max(fit.values(), default=0)
    nearly = [phrase for phrase, n in fit.items() if n >= AS_FREQUENT * most]
    return max(nearly, key=lambda phrase: (len(phrase), fit[phrase], phrase), default=(term,))


def _spelled(spellings: Counter[str]) -> str:
    return max(spellings, key=lambda spelled: (spellings[spelled], spelled))
