"""Words of a query and of a text that mean the same, though they are not the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from atlas.core.words import FUNCTION_WORDS
from atlas.embedding.foreign_queries import calibration_queries
from atlas.embedding.late_interaction import WordVectors
from atlas.embedding.plain import WORDS
from atlas.infra.duck_typing import get_offered
from atlas.protocols.infra import WholeEmbedder

NEAR = 0.35
"""How much nearer two words have to be than words of unrelated texts usually are to the model. With MiniLM 1 in 100
words has one so near in an unrelated text, such as numbers and times."""

UNRELATED = 8
"""Texts whose words are compared to see how near words of unrelated texts usually are."""

MIN_LETTERS = 3
MAX_SHOWN = 6


@dataclass(frozen=True, slots=True)
class MetWords:
    """A word of a query, and the word of a text that comes nearest to it."""

    query_word: str
    text_word: str
    similarity: float
    """Their cosine, each in its context."""


def met_words(embedder: WholeEmbedder, query: str, text: str) -> list[MetWords]:
    """Return pairs of near words of a query and a text, nearest first. Empty if the model has no word vectors.

    Words that both have, and words without a meaning of their own, are left out.

    Args:
        text: A text that fits the model's window.
    """
    word_vectors = get_offered(embedder, WORDS)
    if word_vectors is None:
        return []
    query_words, text_words = word_vectors(query), word_vectors(text)
    if not query_words.words or not text_words.words:
        return []
    near, usual = query_words.vectors @ text_words.vectors.T, _usual(embedder, word_vectors)
    shared = {word.casefold() for word in query_words.words} & {word.casefold() for word in text_words.words}
    rows, columns = _content_words(query_words, shared), _content_words(text_words, shared)
    pairs: dict[str, MetWords] = {}
    for row in rows if columns else ():
        column = columns[int(np.argmax(near[row, columns]))]
        met = MetWords(query_words.words[row], text_words.words[column], float(near[row, column]))
        if met.similarity - usual >= NEAR and met.similarity > pairs.get(met.query_word.casefold(), _NONE).similarity:
            pairs[met.query_word.casefold()] = met
    return sorted(pairs.values(), key=lambda met: -met.similarity)[:MAX_SHOWN]


_NONE = MetWords("", "", -1.0)

_usual_values: dict[str, float] = {}
"""How near words of unrelated texts usually are, by the model's name."""


def _usual(embedder: WholeEmbedder, word_vectors: Callable[[str], WordVectors]) -> float:
    if embedder.model_name not in _usual_values:
        texts = [word_vectors(text).vectors for text in calibration_queries()[:UNRELATED]]
        near = [first @ other.T for first, other in combinations(texts, 2)]
        _usual_values[embedder.model_name] = float(np.median(np.concatenate([cosines.ravel() for cosines in near])))
    return _usual_values[embedder.model_name]


def _content_words(words: WordVectors, shared: set[str]) -> list[int]:
    """Return the places of content words that the other text does not have."""
    return [
        place
        for place, word in enumerate(words.words)
        if len(word) >= MIN_LETTERS
        and any(letter.isalpha() for letter in word)
        and word.casefold() not in FUNCTION_WORDS
        and word.casefold() not in shared
    ]
