"""From vectors to the plane."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import trustworthiness as by_sklearn

from atlas.core.errors import InvalidInput
from atlas.maps.knn import nearest_neighbours
from atlas.maps.projection import align, fit, pca, place_newcomers, rotate_to_fill, trustworthiness
from atlas.maps.umap_numpy import memberships
from tests.support.vectors import clustered, unit


def laid_out(vectors, **given):
    return fit(vectors, nearest_neighbours(vectors, 15), **given)


def test_neighbours_on_the_map_are_neighbours_in_truth():
    vectors, _ = clustered(1_200, 12)
    assert trustworthiness(vectors, laid_out(vectors)) > 0.96
    assert trustworthiness(vectors, pca(vectors)) < 0.95


def test_groups_come_out_apart():
    vectors, labels = clustered(600, 6)
    coordinates = laid_out(vectors)
    centres = np.stack([coordinates[labels == label].mean(axis=0) for label in range(6)])
    nearest = np.linalg.norm(coordinates[:, None] - centres[None], axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.99


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 15, 16, 17])
def test_a_few_records_have_a_map_too(n):
    vectors = clustered(n, 2)[0] if n else np.zeros((0, 8), np.float32)
    coordinates = laid_out(vectors)
    assert coordinates.shape == (n, 2)
    assert coordinates.dtype == np.float32
    assert np.isfinite(coordinates).all()
    assert np.abs(coordinates).max(initial=0) <= 1


def test_identical_vectors_have_places():
    vectors = np.repeat(clustered(1, 1)[0], 60, axis=0)
    assert np.isfinite(laid_out(vectors)).all()
    assert trustworthiness(vectors, laid_out(vectors)) == 1.0


def test_clumps_of_duplicates_stay_together():
    vectors, _ = clustered(8, 8)
    coordinates = laid_out(np.repeat(vectors, 40, axis=0)).reshape(8, 40, 2)
    within = coordinates.std(axis=1).max()
    between = np.linalg.norm(coordinates.mean(axis=1)[:, None] - coordinates.mean(axis=1)[None], axis=2)
    assert np.isfinite(coordinates).all()
    assert within < between[~np.eye(8, dtype=bool)].min() / 2


def test_the_same_seed_gives_the_same_map():
    vectors, _ = clustered(200, 4)
    assert np.array_equal(laid_out(vectors), laid_out(vectors))
    assert not np.array_equal(laid_out(vectors), laid_out(vectors, seed=7))


def test_an_unknown_engine_is_refused():
    with pytest.raises(InvalidInput, match="expected one of pca, umap, umap-learn for the engine, got 'tsne'"):
        laid_out(clustered(20, 2)[0], engine="tsne")


def test_it_says_how_far_it_is():
    told = []
    laid_out(clustered(50, 2)[0], on_progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (400, 400)


def test_a_neighbourhood_has_its_size_however_far_its_members_are():
    distances = np.sort(np.random.default_rng(0).random((50, 15)).astype(np.float32) * 3, axis=1)
    assert np.allclose(memberships(distances).sum(axis=1), np.log2(16), atol=0.01)


def test_newcomers_come_amid_their_neighbours():
    vectors, labels = clustered(600, 6)
    newcomers, theirs = clustered(60, 6, seed=5)
    coordinates = laid_out(vectors)
    placed = place_newcomers(newcomers, vectors, coordinates)
    nearest = np.linalg.norm(placed[:, None] - coordinates[None], axis=2).argmin(axis=1)
    assert (labels[nearest] == theirs).mean() == 1.0


def test_a_newcomer_without_others_stands_in_the_middle():
    nothing = np.zeros((0, 64), np.float32)
    assert place_newcomers(clustered(2, 1)[0], nothing, np.zeros((0, 2), np.float32)).tolist() == [[0, 0], [0, 0]]


def test_a_turned_and_mirrored_map_is_turned_back():
    target = pca(clustered(40, 4)[0])
    angle = np.array([[np.cos(2), -np.sin(2)], [np.sin(2), np.cos(2)]], np.float32)
    turned = (target * [-1, 1]).astype(np.float32) @ angle
    rows = np.arange(30)
    assert np.allclose(align(turned, target, (rows, rows)), target, atol=0.05)


def test_two_shared_points_turn_nothing():
    coordinates = pca(clustered(10, 2)[0])
    rows = np.arange(2)
    assert np.array_equal(align(coordinates, -coordinates, (rows, rows)), coordinates)


def test_trustworthiness_is_that_of_the_literature():
    vectors, _ = clustered(300, 5)
    expected = by_sklearn(vectors, pca(vectors), n_neighbors=15, metric="cosine")
    assert trustworthiness(vectors, pca(vectors)) == pytest.approx(expected, abs=1e-6)


def test_trustworthiness_of_a_sample_is_about_that_of_all():
    vectors, _ = clustered(1_500, 5)
    expected = by_sklearn(vectors, pca(vectors), n_neighbors=15, metric="cosine")
    assert trustworthiness(vectors, pca(vectors)) == pytest.approx(expected, abs=0.01)


def test_one_direction_is_a_map_as_well():
    vectors = unit(np.ones((5, 1)))
    assert np.isfinite(pca(vectors)).all()


def test_groups_that_share_no_neighbours_do_not_drift_off():
    vectors, labels = clustered(300, 2, noise=0.01)
    coordinates = laid_out(vectors)
    one, other = coordinates[labels == 0], coordinates[labels == 1]
    apart = np.linalg.norm(one[:, None] - other[None], axis=2).min()
    assert 0.02 < apart < 0.8 * min(np.ptp(one, axis=0).max(), np.ptp(other, axis=0).max())


def test_a_first_map_is_turned_until_it_fills_its_window_and_keeps_all_distances_in_proportion():
    along = np.linspace(-1, 1, 50, dtype=np.float32)
    coordinates = np.column_stack([along, 0.2 * np.sin(9 * along)]).astype(np.float32)
    filled = rotate_to_fill(coordinates)
    assert np.ptp(coordinates, axis=0)[1] < 0.25 * np.ptp(coordinates, axis=0)[0]
    assert np.ptp(filled, axis=0)[1] > 0.7 * np.ptp(filled, axis=0)[0]
    before, after = (np.linalg.norm(points - points[0], axis=1) for points in (coordinates, filled))
    assert np.allclose(after / after[-1], before / before[-1], atol=1e-3)
