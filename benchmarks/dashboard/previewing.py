"""The time of a preview with what the plan would cost: 100 of 10,000 experiences, searched by the bundled model."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import atlas
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from benchmarks.measuring import Figure
from benchmarks.memories import N_TOPICS, Texts

N_WORDS = 30
N_ATTEMPTS = 3
"""Attempts at each task. The first two fail."""

BATCH = 1_000
N_REMOVED = 100
N_PREVIEWS = 5


def figures(n_records: int = 10_000) -> Iterator[Figure]:
    embedder = SentenceTransformerEmbedder(BUNDLED)
    with tempfile.TemporaryDirectory() as scratch, atlas.open_memory(Path(scratch), embedder=embedder) as memory:
        attempts = list(_attempts(n_records))
        for start in range(0, n_records, BATCH):
            memory.experience.store_many(attempts[start : start + BATCH])
        criteria = {"max_count": n_records - N_REMOVED}
        first, *others = (_preview(memory, criteria) for _ in range(1 + N_PREVIEWS))
    what = f"preview of pruning {N_REMOVED} of {n_records:,} records, with what agents would lose"
    for name, (seconds, processor_seconds) in (
        (", the first of a process", first),
        ("", tuple(np.median(others, axis=0))),
    ):
        yield Figure(what=what + name, ours=seconds, baseline=None, unit="s", aim="≤ 3 s")
        yield Figure(what=f"{what}{name}, processor time", ours=processor_seconds, baseline=None, unit="s", aim="")


def _preview(memory: atlas.MemorySystem, criteria: dict[str, int]) -> tuple[float, float]:
    """Return the seconds of the day and of the processor that a preview takes."""
    start, processor_start = time.perf_counter(), time.process_time()
    memory.with_loss(memory.experience.plan_prune(criteria))
    return time.perf_counter() - start, time.process_time() - processor_start


def _attempts(n: int) -> Iterator[atlas.Trajectory]:
    topics = np.random.default_rng(0).integers(0, N_TOPICS, n // N_ATTEMPTS + 1)
    texts = list(Texts(N_TOPICS, seed=0).on(topics, N_WORDS))
    for number in range(n):
        task, trial = divmod(number, N_ATTEMPTS)
        yield atlas.Trajectory(
            task=atlas.Task(id=f"task-{task}", domain="", description=texts[task]),
            steps=(atlas.Step(action=f"try {trial}"),),
            outcome=atlas.Outcome(success=trial == N_ATTEMPTS - 1),
        )
