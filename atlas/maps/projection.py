"""Projection of vectors to the plane: PCA, UMAP, placing of new records, and trustworthiness."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.imports.distribution import extra
from atlas.core.types import Vectors
from atlas.maps import umap_numpy
from atlas.maps.knn import Neighbours, nearest_neighbours

Coordinates = npt.NDArray[np.float32]
"""Shape (n, 2)."""

Progress = Callable[[int, int], None]

ENGINES = ("pca", "umap", "umap-learn")
"""`umap` is implemented here in numpy and starts at once. `umap-learn` is compiled for half a minute first."""

N_NEIGHBOURS = 15
SEED = 42
MIN_POINTS = 4
"""Smallest number of records for UMAP. PCA is used for fewer."""

WINDOW_SIDES, ROTATION_STEP_DEGREES = np.array([1.15, 1.0]), 5
"""Sides of the window that a first map should fill, and the angle in degrees between the tried rotations."""

SIMILARITY_SCALE = 0.05
"""Difference in similarity over which a neighbour's weight decreases by a factor of e."""

N_JUDGED = 1_000
"""Number of sampled points for the trustworthiness of a large map."""


def pca(vectors: Vectors) -> Coordinates:
    """Return the coordinates of vectors along their first two principal components, scaled to [-1, 1]."""
    if not len(vectors):
        return np.zeros((0, 2), np.float32)
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    axes = directions[:, :-3:-1] if vectors.shape[1] > 1 else np.repeat(directions, 2, axis=1)
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(2)])  # the sign of an eigenvector is arbitrary
    return umap_numpy.centre_and_scale((centred @ (axes * signs)).astype(np.float32), 1.0)


def fit(
    vectors: Vectors,
    neighbours: Neighbours,
    *,
    engine: str = "umap",
    seed: int = SEED,
    on_progress: Progress | None = None,
) -> Coordinates:
    """Return the layout of a map: coordinates in [-1, 1], shape (n, 2), with near vectors near each other.

    Args:
        vectors: Rows of unit length.
        neighbours: The nearest neighbours of each vector.
        engine: One of `ENGINES`.
        seed: Equal seeds give equal maps.
        on_progress: Called with the number of rounds done, and their total.

    Raises:
        InvalidInput: There is no such engine.
    """
    if engine not in ENGINES:
        raise InvalidInput(f"expected one of {', '.join(ENGINES)} for the engine, got {engine!r}")
    start = pca(vectors)
    if engine == "pca" or len(vectors) < MIN_POINTS:
        return start
    distances = np.sqrt(np.maximum(2 - 2 * neighbours.similarities, 0))
    if engine == "umap-learn":
        return umap_numpy.centre_and_scale(_umap_learn(vectors, neighbours.indices, distances, start, seed), 1.0)
    graph = umap_numpy.neighbour_graph(neighbours.indices, distances)
    coordinates = umap_numpy.optimise_layout(
        graph, start, n_epochs=n_epochs(len(vectors)), seed=seed, on_progress=on_progress
    )
    return umap_numpy.centre_and_scale(coordinates, 1.0)


def n_epochs(n: int) -> int:
    """Return the number of epochs for a map of n points."""
    if n <= 3_000:
        return 400
    return 200 if n <= 20_000 else 100


def _umap_learn(
    vectors: Vectors, indices: npt.NDArray[np.int32], distances: npt.NDArray[np.float32], start: Coordinates, seed: int
) -> Coordinates:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # umap-learn warns that a seed disables threads, which is intended
        with extra("map", "a map by umap-learn"):
            from umap import UMAP

        n, k = indices.shape
        own_rows = np.arange(n, dtype=np.int32)[:, None]
        neighbours = (np.hstack([own_rows, indices]), np.hstack([np.zeros((n, 1), np.float32), distances]))
        engine: Any = UMAP(
            n_neighbors=k + 1,
            init=umap_numpy.centre_and_scale(start, umap_numpy.EXTENT),
            n_epochs=n_epochs(n),
            random_state=seed,
            precomputed_knn=(*neighbours, None),
            force_approximation_algorithm=True,
        )
        coordinates: Coordinates = np.asarray(engine.fit_transform(vectors), np.float32)
    return np.nan_to_num(coordinates)


def place_newcomers(
    newcomers: Vectors, vectors: Vectors, coordinates: Coordinates, k: int = N_NEIGHBOURS
) -> Coordinates:
    """Return the positions of new records: the weighted mean of their nearest neighbours' positions."""
    nearest = nearest_neighbours(newcomers, k, pool=vectors)
    if not nearest.indices.shape[1]:
        return np.zeros((len(newcomers), 2), np.float32)
    weights = placement_weights(nearest)
    positions: Coordinates = np.einsum("ij,ijk->ik", weights, coordinates[nearest.indices]).astype(np.float32)
    return positions


def placement_weights(nearest: Neighbours) -> npt.NDArray[np.float32]:
    """Return the weights with which neighbours place a new record, shape (n, k). Each row sums to 1."""
    weights = np.exp((nearest.similarities - nearest.similarities[:, :1]) / SIMILARITY_SCALE)
    scaled: npt.NDArray[np.float32] = weights / weights.sum(axis=1, keepdims=True)
    return scaled


def align(
    coordinates: Coordinates, target: Coordinates, shared: tuple[npt.NDArray[Any], npt.NDArray[Any]]
) -> Coordinates:
    """Return the coordinates rotated and reflected to match a target best, and scaled to [-1, 1].

    Args:
        coordinates: Shape (n, 2).
        target: Shape (m, 2).
        shared: The rows, in `coordinates` and in `target`, of the records that both contain.
    """
    source, target_points = coordinates[shared[0]], target[shared[1]]
    if len(source) < 3:
        return coordinates
    left, _, right = np.linalg.svd((source - source.mean(axis=0)).T @ (target_points - target_points.mean(axis=0)))
    return umap_numpy.centre_and_scale((coordinates @ (left @ right)).astype(np.float32), 1.0)


def rotate_to_fill(coordinates: Coordinates) -> Coordinates:
    """Return the coordinates rotated to fill the proportions `WINDOW_SIDES` best, and scaled to [-1, 1]."""
    if len(coordinates) < 3:
        return coordinates
    angles = np.radians(np.arange(0, 180, ROTATION_STEP_DEGREES))
    rotations = [np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) for angle in angles]
    sides = [np.ptp(coordinates @ rotation, axis=0) / WINDOW_SIDES for rotation in rotations]
    best_rotation = rotations[int(np.argmin(np.max(sides, axis=1)))]
    return umap_numpy.centre_and_scale((coordinates @ best_rotation).astype(np.float32), 1.0)


def trustworthiness(
    vectors: Vectors, coordinates: Coordinates, k: int = 15, seed: int = SEED, n_judged: int = N_JUDGED
) -> float:
    """Return the trustworthiness of a map for k neighbours, in [0, 1], higher is better.

    Large maps are sampled.

    Source:
        Venna & Kaski, ICANN 2001.
    """
    n = len(vectors)
    k = min(k, (n - 1) // 2)
    if k < 1:
        return 1.0
    rows = np.arange(n) if n <= n_judged else np.random.default_rng(seed).choice(n, n_judged, replace=False)
    parts = np.array_split(rows, math.ceil(len(rows) / 100))
    excess_ranks = sum(_sum_of_excess_ranks(vectors, coordinates, part, k) for part in parts)
    return float(1 - excess_ranks * 2 / (len(rows) * k * (2 * n - 3 * k - 1)))


def _sum_of_excess_ranks(vectors: Vectors, coordinates: Coordinates, rows: npt.NDArray[Any], k: int) -> float:
    """Return the sum of ranks beyond k, in the vectors, of each row's k nearest neighbours on the map."""
    positions = np.arange(len(rows))
    distances = np.square(coordinates[rows, None, :] - coordinates[None]).sum(axis=2)
    distances[positions, rows] = np.inf
    map_neighbours = np.argpartition(distances, k - 1, axis=1)[:, :k]
    similarities = vectors[rows] @ vectors.T
    similarities[positions, rows] = np.inf
    ordered = np.sort(-similarities, axis=1)
    map_similarities = -np.take_along_axis(similarities, map_neighbours, 1)
    # Equally near ones share the best of their ranks, so that identical vectors are not intruders to each other.
    ranks = np.stack(
        [np.searchsorted(sorted_row, values) for sorted_row, values in zip(ordered, map_similarities, strict=True)]
    )
    return float(np.maximum(ranks - k, 0).sum())
