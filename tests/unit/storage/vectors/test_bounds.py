"""What bounds spare the product is none of the nearest."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.storage.vectors import exact
from atlas.storage.vectors.exact import ExactIndex, top
from atlas.storage.vectors.heads import ROUNDING, Heads

DIMENSION = 128


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def drawn(generator: np.random.Generator, n: int, fall: float) -> np.ndarray:
    """Vectors whose spread falls off with a power of the direction's number. With 0 all directions say as much."""
    return unit(generator.normal(size=(n, DIMENSION)) / np.arange(1, DIMENSION + 1) ** fall + 0.1)


@pytest.mark.parametrize("fall", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("k", [1, 10, 40])
def test_the_nearest_are_those_of_comparing_all(monkeypatch, fall, k):
    monkeypatch.setattr(exact, "MANY", 1_000)
    generator, index = np.random.default_rng(1), ExactIndex(DIMENSION)
    held: dict[str, np.ndarray] = {}
    for turn, n in enumerate((3_000, 2_500, 4_000)):  # so that directions are chosen again, and not
        keys = [f"{turn}-{i}" for i in range(n)]
        vectors = drawn(generator, n, fall)
        index.upsert(keys, vectors)
        held |= dict(zip(keys, vectors, strict=True))
        gone = [*held][:: 7 + turn]
        index.remove(gone)
        for key in gone:
            del held[key]
        changed = [*held][:50]
        again = drawn(generator, 50, fall)
        index.upsert(changed, again)
        held |= dict(zip(changed, again, strict=True))
        names, matrix = [*held], np.stack([*held.values()])
        for query in [*drawn(generator, 10, fall), again[3], -again[3]]:
            found = index.query(query, k)
            best = top(matrix @ query, k)
            assert [value for _, value in found] == pytest.approx((matrix @ query)[best].tolist(), abs=1e-5)
            assert {key for key, _ in found[: k // 2]} <= {names[row] for row in top(matrix @ query, k + 5)}
            assert all(value == pytest.approx(float(held[key] @ query), abs=1e-5) for key, value in found)


def test_rows_that_most_bounds_reach_are_compared_all(monkeypatch):
    monkeypatch.setattr(exact, "MANY", 1_000)
    index, same = ExactIndex(DIMENSION), unit(np.ones((2_000, DIMENSION)))
    index.upsert([str(i) for i in range(2_000)], same)
    assert [key for key, _ in index.query(same[0], 3)] == ["0", "1", "2"]


@pytest.mark.parametrize("fall", [0.0, 0.5, 1.5, 6.0])
@pytest.mark.parametrize("step", [1, 50])
def test_no_product_is_above_its_bounds_and_the_closer_ones_are_lower(fall, step):
    generator = np.random.default_rng(2)
    matrix = drawn(generator, 3_001, fall)
    heads, rows = Heads(matrix), np.arange(0, 3_001, step)
    for query in drawn(generator, 5, fall):
        head = heads.head(query)
        bounds = heads.bounds(head, len(matrix))[rows]
        closer = heads.closer(head, rows, bounds)
        assert (matrix[rows] @ query <= closer + ROUNDING).all()
        assert (closer <= bounds + ROUNDING).all()
