"""Made-up memories and texts.

Memories have clustered vectors, texts that go with them, outcomes and days. The words of texts are as frequent, and as
common among texts, as those of real agent runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt

import atlas
from atlas.core.exchange import ExportedExperience
from atlas.core.operations import NO_MARKS, NO_USAGE
from atlas.core.types import Experience
from atlas.testing import HashEmbedder
from benchmarks.measuring import DIMENSION, WORDS

MODEL = "all-MiniLM-L6-v2"
"""The model that the dashboard opens them with. The vectors are made up, which takes seconds and not half an hour."""

N_TOPICS = 40
BATCH = 2_000
START = datetime(2026, 1, 1, tzinfo=UTC)

N_WORDS = 30_000
EXPONENT, SHIFT = 1.05, 1.2
"""The word of rank r is met with a frequency proportional to (r + shift) to the power −exponent (Zipf and Mandelbrot).

So the 1st, 10th, 100th and 1,000th word make up 5, 0.9, 0.1 and 0.01% of a text; of 1,220 texts of the given agent
runs, with 5,206 words, it is 6, 1.5, 0.2 and 0.01%."""

N_TOPIC_WORDS = 150
TOPIC_SHARE = 0.35
"""Share of a text's words that are of its topic, and number of words of a topic, all among the rarer half."""

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


def open_made(directory: Path) -> atlas.MemorySystem:
    """Open a made-up memory without the model that its vectors are not from."""
    settings = atlas.Settings(store=directory)
    return atlas.open_memory(directory, embedder=HashEmbedder(DIMENSION, MODEL), settings=settings)


def remembered(directory: Path, n: int, *, seed: int = 0) -> None:
    """Fill a store with n experiences on 40 topics, some of which mostly fail."""
    generator = np.random.default_rng(seed)
    topics = generator.integers(0, N_TOPICS, n)
    centres = generator.normal(size=(N_TOPICS, DIMENSION))
    vectors = (centres[topics] + 0.6 * generator.normal(size=(n, DIMENSION))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = [generator.choice(WORDS, 6, replace=False) for _ in range(N_TOPICS)]
    with open_made(directory) as memory:
        importing = memory.experience.as_operation("import", "made for a measurement")
        for start in range(0, n, BATCH):
            numbers = range(start, min(n, start + BATCH))
            importing.restore_many(
                [
                    _experience(
                        i, int(topics[i]), " ".join(generator.permutation(words[topics[i]])), vectors[i : i + 1]
                    )
                    for i in numbers
                ]
            )


def _experience(number: int, topic: int, words: str, vectors: np.ndarray) -> ExportedExperience:
    text = f"Attempt {number}: {words}"
    succeeded = number * 7919 % 100 < 30 + topic * 60 // N_TOPICS
    experience = Experience(
        id=f"{number:032x}",
        task=atlas.Task(id=f"task-{number // 3}", domain="", description=text),
        trajectory_summary="1 step",
        outcome=atlas.Outcome(success=succeeded),
        embedding_text=text,
        created_at=START + timedelta(minutes=4 * number % 460_000),
        metadata={"source": f"source-{number % 5}"},
        solution_output=f"answer {number}",
        agent_id=f"agent-{number % 4}",
        steps=(atlas.Step(action=f"try {number}"),),
    )
    return ExportedExperience(
        experience=experience, marks=NO_MARKS, usage=NO_USAGE, vectors=vectors, embedding_model=MODEL
    )


def word(rank: int) -> str:
    """Return the made-up word of a rank, from 0. Frequent ones are short."""
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    number, letters = rank + 1, ""
    while number:
        number, syllable = divmod(number - 1, len(syllables))
        letters += syllables[syllable]
    return letters + "k"  # no ending that stemming takes off


class Texts:
    """Texts on topics. Those of a topic share its rarer words, as attempts at like tasks do."""

    def __init__(self, n_topics: int, *, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._words = np.array([word(rank) for rank in range(N_WORDS)])
        self._cumulative = np.cumsum((np.arange(N_WORDS) + 1 + SHIFT) ** -EXPONENT)
        self._topics = np.random.default_rng(0).integers(200, N_WORDS // 2, (n_topics, N_TOPIC_WORDS))

    def on(self, topics: npt.NDArray[np.int64], n_words: int) -> Iterator[str]:
        """Yield a text for each topic, of half to one and a half times `n_words` words."""
        for topic in topics:
            n = int(self._generator.integers(n_words // 2, n_words * 3 // 2))
            ranks = np.searchsorted(self._cumulative, self._generator.random(n) * self._cumulative[-1])
            is_topical = self._generator.random(n) < TOPIC_SHARE
            topic_words = self._generator.integers(0, N_TOPIC_WORDS, n)
            yield " ".join(self._words[np.where(is_topical, self._topics[topic][topic_words], ranks)])
