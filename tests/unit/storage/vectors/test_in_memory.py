"""Vectors in memory, compared with a full comparison of what was written last."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.storage.records import Position, VectorChange
from atlas.storage.vectors.in_memory import InMemoryVectors

DIMENSION = 8


def unit(n, seed):
    vectors = np.random.default_rng(seed).standard_normal((n, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def change(seq, vectors, revision=1):
    return VectorChange(seq=seq, id=str(seq), revision=revision, n_windows=len(vectors), vectors=vectors)


def true_neighbours(stored, query, k, among=None):
    values = {seq: float((vectors @ query).max()) for seq, vectors in stored.items() if len(vectors)}
    wanted = values if among is None else {seq: values[seq] for seq in among if seq in values}
    return sorted(wanted, key=lambda seq: -wanted[seq])[:k]


def found(neighbours):
    return [seq for seq, _ in neighbours]


@pytest.mark.parametrize("seed", range(5))
def test_after_many_edits_the_nearest_are_those_of_a_full_comparison(seed):
    random, memory, stored = np.random.default_rng(seed), InMemoryVectors(DIMENSION), {}
    for revision in range(1, 60):
        seqs = random.choice(np.arange(1, 200), size=random.integers(1, 40), replace=False).tolist()
        batch = {seq: unit(int(random.integers(0, 5)), revision * 1_000 + seq) for seq in seqs}
        stored |= batch
        memory.apply([change(seq, vectors, revision) for seq, vectors in batch.items()])
        query, among = unit(1, revision)[0], random.choice(np.arange(1, 250), size=30, replace=False)
        assert found(memory.query(query, 7)) == true_neighbours(stored, query, 7)
        assert found(memory.query(query, 500)) == true_neighbours(stored, query, 500)
        assert found(memory.query(query, 4, among)) == true_neighbours(stored, query, 4, among.tolist())
    assert memory.last_revision == 59
    assert all(memory.covers(seq) for seq in stored)
    assert not memory.covers(1_000)


def test_a_record_counts_by_its_best_window():
    memory, (first, second, third) = InMemoryVectors(DIMENSION), unit(3, seed=9)
    memory.apply([change(1, np.stack([first, second])), change(2, third[None])])
    [(seq, similarity), _] = memory.query(second, 2)
    assert (seq, similarity) == (1, pytest.approx(1.0, abs=1e-6))


def test_equal_vectors_come_in_the_order_of_their_rows():
    memory, vector = InMemoryVectors(DIMENSION), unit(1, seed=3)
    memory.apply([change(seq, vector) for seq in (5, 3, 9)])
    assert found(memory.query(vector[0], 3)) == [5, 3, 9]
    assert found(memory.query(vector[0], 1)) == [5]


def test_a_cleared_memory_finds_nothing_and_begins_at_the_given_position():
    memory, vectors = InMemoryVectors(DIMENSION), unit(2, seed=4)
    memory.apply([change(1, vectors)])
    memory.clear(Position("ledger", 7))
    assert memory.query(vectors[0], 5) == []
    assert (memory.last_revision, memory.start.ledger_id, memory.covers(1)) == (7, "ledger", False)
    memory.apply([change(2, vectors[:1], 8)])
    assert found(memory.query(vectors[0], 5)) == [2]


def test_among_no_records_none_is_nearest():
    memory, vectors = InMemoryVectors(DIMENSION), unit(1, seed=5)
    memory.apply([change(1, vectors)])
    assert memory.query(vectors[0], 3, np.zeros(0, np.int64)) == []
