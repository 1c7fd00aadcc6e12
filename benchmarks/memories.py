"""Whole memories to look at: many experiences with clustered vectors, texts that go with them, outcomes, days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

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
        importing = memory.experience.within("import", "made for a measurement")
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
