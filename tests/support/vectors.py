"""Vectors and records to analyse."""

from __future__ import annotations

import numpy as np

from atlas.core.types import Vectors
from atlas.maps.snapshot import EmbeddedRecords

DIMENSION = 64
TOPICS = (
    "cancel flight refund passenger",
    "sort numbers list function",
    "grid colour rotate puzzle",
    "deploy pipeline build container",
    "slow query index postgres",
    "chart revenue report spreadsheet",
)


def unit(vectors) -> Vectors:
    scaled: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def clustered(n, n_clusters, *, seed=0, noise=0.06):
    """Vectors about as many centres, and which centre each is about."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(n_clusters, DIMENSION)) / np.sqrt(DIMENSION)
    labels = generator.integers(0, n_clusters, n)
    return unit(centres[labels] + generator.normal(0, noise, (n, DIMENSION))), labels


def embedded(vectors, texts=None, *, first=0, revision=1) -> EmbeddedRecords:
    ids = tuple(f"r{number}" for number in range(first, first + len(vectors)))
    texts = tuple(texts or [f"text {number}" for number in ids])
    return EmbeddedRecords(ids=ids, vectors=vectors, titles=texts, texts=texts, revision=revision, model="hash")


def topical(n, *, seed=0, n_topics=6, first=0, revision=1) -> EmbeddedRecords:
    """Records on several topics, whose texts have their topic's words."""
    vectors, labels = clustered(n, n_topics, seed=seed)
    generator = np.random.default_rng(seed)
    fillers = np.array(["please", "carefully", "quickly", "today", "again", "urgent", "small", "large"])
    texts = [
        f"{' '.join(generator.choice(fillers, 2))} {TOPICS[label]} order {generator.integers(9999)}" for label in labels
    ]
    return embedded(vectors, texts, first=first, revision=revision)
