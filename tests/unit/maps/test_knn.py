"""Nearest neighbours among many vectors."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.maps import knn as neighbours
from atlas.maps.knn import nearest_neighbours
from tests.support.vectors import clustered


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(neighbours, "BLOCK_ROWS", 32)
    monkeypatch.setattr(neighbours, "BLOCK_COLUMNS", 64)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n", [2, 16, 33, 200])
def test_they_are_those_of_comparing_all_with_all(n):
    vectors, _ = clustered(n, 3)
    similarities = vectors @ vectors.T
    np.fill_diagonal(similarities, -2)
    found = nearest_neighbours(vectors, 15)
    expected = np.sort(similarities, axis=1)[:, ::-1][:, : min(15, n - 1)]
    assert np.allclose(found.similarities, expected, atol=1e-6)
    assert np.allclose(np.take_along_axis(similarities, found.indices, 1), expected, atol=1e-6)


@pytest.mark.usefixtures("small_blocks")
def test_those_among_others_may_be_the_same_vector():
    vectors, _ = clustered(150, 3)
    found = nearest_neighbours(vectors[:5], 3, pool=vectors)
    assert found.indices[:, 0].tolist() == [0, 1, 2, 3, 4]


def test_nothing_has_no_neighbours():
    nothing = np.zeros((0, 8), np.float32)
    assert nearest_neighbours(nothing, 15).indices.shape == (0, 0)
    assert nearest_neighbours(clustered(3, 1)[0], 15, pool=np.zeros((0, 64), np.float32)).indices.shape == (3, 0)


def test_it_says_how_far_it_is():
    told = []
    nearest_neighbours(clustered(50, 2)[0], 5, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(50, 50)]
