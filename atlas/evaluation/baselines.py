"""Plain BM25 as a baseline, independent of ATLAS's own search."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from atlas.evaluation.measures import Ranking, plain_words

K1, B = 1.2, 0.75
"""Usual values of BM25's parameters for term saturation and length normalisation."""


class PlainBM25:
    """A BM25 retriever that neither stems words nor ignores stop words.

    Source:
        Robertson & Zaragoza, Foundations and Trends in Information Retrieval 2009. The inverse document frequency is
        Lucene's, which is positive for every word.
    """

    name = "plain BM25"
    about = "BM25 over the descriptions, words as they stand, without ATLAS's search; nothing was tuned"
    baselines: Sequence[str] = ()
    has_threshold = False

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._ids = list(texts)
        counts = [Counter(plain_words(text)) for text in texts.values()]
        lengths = np.array([count.total() for count in counts], np.float64)
        self._length_penalties = K1 * (1.0 - B + B * lengths / max(float(lengths.mean()), 1.0)) if counts else lengths
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for position, count in enumerate(counts):
            for word, n_times in count.items():
                postings[word].append((position, n_times))
        self._postings = {word: np.array(pairs, np.int64) for word, pairs in postings.items()}

    def rank(self, text: str, excluded: Collection[str], depth: int) -> Ranking:
        """Return the ids of texts that share a word with the query, highest score first. Ties keep the given order."""
        scores = self._scores(text)
        order = (self._ids[position] for position in np.argsort(-scores, kind="stable") if scores[position] > 0)
        return Ranking(tuple(record_id for record_id in order if record_id not in excluded)[:depth])

    def _scores(self, text: str) -> npt.NDArray[np.float64]:
        """Return the BM25 score of each text for a query."""
        scores = np.zeros(len(self._ids))
        postings = [self._postings[word] for word in dict.fromkeys(plain_words(text)) if word in self._postings]
        for positions, n_times in (word_postings.T for word_postings in postings):
            n_texts = len(positions)
            rarity = math.log(1.0 + (len(self._ids) - n_texts + 0.5) / (n_texts + 0.5))
            scores[positions] += rarity * n_times * (K1 + 1.0) / (n_times + self._length_penalties[positions])
        return scores
