"""Made-up texts whose words are as frequent, and as common among them, as those of real agent runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

N_WORDS = 30_000
EXPONENT, SHIFT = 1.05, 1.2
"""The word of rank r is met with a frequency proportional to (r + shift) to the power −exponent (Zipf and Mandelbrot).

So the 1st, 10th, 100th and 1,000th word make up 5, 0.9, 0.1 and 0.01 % of a text; of 1,220 texts of the given agent
runs, with 5,206 words, it is 6, 1.5, 0.2 and 0.01 %."""

N_TOPIC_WORDS = 150
TOPIC_SHARE = 0.35
"""Share of a text's words that are of its topic, and number of words of a topic, all among the rarer half."""

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


def word(rank: int) -> str:
    """Return the made-up word of a rank, from 0. Frequent ones are short."""
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    number, made = rank + 1, ""
    while number:
        number, syllable = divmod(number - 1, len(syllables))
        made += syllables[syllable]
    return made + "k"  # no ending that stemming takes off


class Texts:
    """Texts on topics. Those of a topic share its rarer words, as attempts at like tasks do."""

    def __init__(self, n_topics: int, *, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._words = np.array([word(rank) for rank in range(N_WORDS)])
        self._cumulative = np.cumsum((np.arange(N_WORDS) + 1 + SHIFT) ** -EXPONENT)
        self._topics = np.random.default_rng(0).integers(200, N_WORDS // 2, (n_topics, N_TOPIC_WORDS))

    def on(self, topics: npt.NDArray[np.int64], n_words: int) -> Iterator[str]:
        """Yield a text for each topic, of half to one and a half times so many words."""
        for topic in topics:
            n = int(self._generator.integers(n_words // 2, n_words * 3 // 2))
            ranks = np.searchsorted(self._cumulative, self._generator.random(n) * self._cumulative[-1])
            is_topical = self._generator.random(n) < TOPIC_SHARE
            own = self._generator.integers(0, N_TOPIC_WORDS, n)
            yield " ".join(self._words[np.where(is_topical, self._topics[topic][own], ranks)])
