"""Words of a query that meet a different word of similar meaning in a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from atlas.core.words import FUNCTION_WORDS
from atlas.embedding.foreign_queries import calibration_queries
from atlas.embedding.late_interaction import WordVectors
from atlas.embedding.plain import WORDS
from atlas.infra.duck_typing import get_member
from atlas.protocols.infra import WholeEmbedder

MIN_ABOVE_TYPICAL = 0.35
"""Minimum by which the similarity of two words must exceed the typical one of words of unrelated texts.

With MiniLM, 1 in 100 words matches a word of an unrelated text this well, for example numbers and times.
"""

N_UNRELATED = 8
"""Number of unrelated texts whose words are compared to measure the typical similarity."""

MIN_LETTERS = 3
MAX_SHOWN = 6


@dataclass(frozen=True, slots=True)
class MetWords:
    """A word of a query, and the most similar other word of a text."""

    query_word: str
    text_word: str
    similarity: float
    """Cosine of the two words' contextual vectors."""


def met_words(embedder: WholeEmbedder, query: str, text: str) -> list[MetWords]:
    """Return pairs of similar words of a query and a text, most similar first.

    The result is empty if the model has no word vectors. Words that occur in both, and stop words, are left out.

    Args:
        text: A text that fits the model's window.
    """
    word_vectors = get_member(embedder, WORDS)
    if word_vectors is None:
        return []
    query_words, text_words = word_vectors(query), word_vectors(text)
    if not query_words.words or not text_words.words:
        return []
    cosines = query_words.vectors @ text_words.vectors.T
    typical_cosine = _typical_similarity(embedder, word_vectors)
    shared_words = {word.casefold() for word in query_words.words} & {word.casefold() for word in text_words.words}
    rows, columns = _content_word_indices(query_words, shared_words), _content_word_indices(text_words, shared_words)
    if not columns:
        return []
    pairs: dict[str, MetWords] = {}
    for row in rows:
        column = columns[int(np.argmax(cosines[row, columns]))]
        pair = MetWords(query_words.words[row], text_words.words[column], float(cosines[row, column]))
        best = pairs.get(pair.query_word.casefold(), _NO_PAIR)
        if pair.similarity - typical_cosine >= MIN_ABOVE_TYPICAL and pair.similarity > best.similarity:
            pairs[pair.query_word.casefold()] = pair
    return sorted(pairs.values(), key=lambda pair: -pair.similarity)[:MAX_SHOWN]


_NO_PAIR = MetWords("", "", -1.0)

_typical_similarities: dict[str, float] = {}
"""Typical similarity between words of unrelated texts, keyed by model name."""


def _typical_similarity(embedder: WholeEmbedder, word_vectors: Callable[[str], WordVectors]) -> float:
    """Return the median cosine of words of unrelated texts, which is measured once for each model."""
    if embedder.model_name not in _typical_similarities:
        texts = [word_vectors(text).vectors for text in calibration_queries()[:N_UNRELATED]]
        pair_cosines = [first @ second.T for first, second in combinations(texts, 2)]
        _typical_similarities[embedder.model_name] = float(
            np.median(np.concatenate([cosines.ravel() for cosines in pair_cosines]))
        )
    return _typical_similarities[embedder.model_name]


def _content_word_indices(words: WordVectors, shared_words: set[str]) -> list[int]:
    """Return the indices of the words that are no function words and not in both texts."""
    ignored = shared_words | FUNCTION_WORDS
    return [index for index, word in enumerate(words.words) if _is_word(word) and word.casefold() not in ignored]


def _is_word(word: str) -> bool:
    """Return whether a word is long enough, and not only a number or punctuation."""
    return len(word) >= MIN_LETTERS and any(letter.isalpha() for letter in word)
