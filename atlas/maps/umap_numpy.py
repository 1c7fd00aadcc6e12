"""UMAP in plain numpy, without compilation, and deterministic for a seed.

Source:
    McInnes, Healy, Melville: UMAP, arXiv 1802.03426. umap-learn applies the edges one by one. Here a quarter of an
    epoch's edges are applied together, with half the step, which preserves as many neighbours (see
    `benchmarks/dashboard/mapping.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.imports.distribution import extra

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]

A, B = 1.56, 0.875
"""Parameters of the curve 1 / (1 + A·d^2B). umap-learn uses 1.577 and 0.895. B = 7/8 needs only three square roots."""

N_NEGATIVE_SAMPLES = 5
"""Number of negative samples for each edge."""

MAX_STEP = 4.0
FIRST_STEP = 0.5
N_BATCHES = 4
"""Number of batches of an epoch. Batch i contains every fourth edge, starting with edge i."""

ISLAND_GAP = 1.5
"""Width of the gap between islands, in the curve's units. `pack_islands` preserves it."""

MAX_ISLANDS = 200
"""Largest number of islands that are moved together. More islands fill the plane by themselves."""

EXTENT = 10.0
"""Half the initial width of the layout, in the curve's units."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A weighted graph of neighbours, with each edge in both directions, sorted by the edge's first point."""

    n: int
    heads: Numbers
    tails: Numbers
    weights: Floats
    """Weights of the edges, in (0, 1]."""


def neighbour_graph(indices: npt.NDArray[np.int32], distances: Floats) -> Graph:
    """Return the fuzzy union of all points' neighbourhoods. Both arguments have shape (n, k), nearest first."""
    with extra("map", "the map"):
        from scipy.sparse import coo_matrix

    n, k = indices.shape
    weights = memberships(distances)
    rows = np.repeat(np.arange(n), k)
    one_way = coo_matrix((weights.ravel(), (rows, indices.ravel())), shape=(n, n)).tocsr()
    other_way = one_way.T.tocsr()
    union = (one_way + other_way - one_way.multiply(other_way)).tocsr()
    union.sort_indices()
    return Graph(
        n=n,
        heads=np.repeat(np.arange(n), np.diff(union.indptr)),
        tails=union.indices.astype(np.int64),
        weights=union.data.astype(np.float32),
    )


def memberships(distances: Floats) -> Floats:
    """Return the fuzzy membership of each neighbour, in (0, 1], shape (n, k). Each row sums to log2(k + 1)."""
    n, k = distances.shape
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1, initial=np.inf, keepdims=True)
    distances_beyond_nearest = np.maximum(distances - np.where(np.isfinite(nearest), nearest, 0.0), 0.0)
    low, high = np.zeros((n, 1)), np.full((n, 1), np.inf)
    scale, target_sum = np.ones((n, 1)), np.log2(k + 1)
    for _ in range(48):
        is_too_wide = np.exp(-distances_beyond_nearest / scale).sum(axis=1, keepdims=True) > target_sum
        high, low = np.where(is_too_wide, scale, high), np.where(is_too_wide, low, scale)
        scale = np.where(np.isfinite(high), (low + np.minimum(high, 1e30)) / 2, scale * 2)
        scale = np.clip(scale, 1e-6, 1e6)
    smallest_scale = 1e-3 * np.maximum(distances.mean(axis=1, keepdims=True), 1e-3)
    weights: Floats = np.exp(-distances_beyond_nearest / np.maximum(scale, smallest_scale)).astype(np.float32)
    return np.maximum(weights, 1e-6)


def optimise_layout(
    graph: Graph,
    start: Floats,
    *,
    n_epochs: int,
    seed: int,
    on_progress: Callable[[int, int], None] | None = None,
) -> Floats:
    """Return coordinates, shape (n, 2), with connected points near each other.

    Args:
        graph: Result of `neighbour_graph`.
        start: Initial positions of the points, shape (n, 2); equal points are parted at random.
        n_epochs: At least 1. An edge pulls in a share of the epochs equal to its weight.
        seed: Seed of the random steps.
        on_progress: Called with the number of epochs done, and their total.
    """
    generator = np.random.default_rng(seed)
    points = centre_and_scale(start, EXTENT) + generator.normal(0, 1e-3, start.shape).astype(np.float32)
    x, y = np.ascontiguousarray(points[:, 0]), np.ascontiguousarray(points[:, 1])
    phases = generator.random(len(graph.weights), np.float32)
    for epoch in range(n_epochs):
        is_pulled = np.floor(graph.weights * (epoch + 1) + phases) > np.floor(graph.weights * epoch + phases)
        edges = np.flatnonzero(is_pulled)
        step = FIRST_STEP * (1 - epoch / n_epochs)
        for batch_number in range(N_BATCHES):
            batch = edges[batch_number::N_BATCHES]
            _move_points(x, y, graph.heads[batch], graph.tails[batch], step, generator)
        if on_progress and epoch % 20 == 19:
            on_progress(epoch + 1, n_epochs)
    layout = np.stack([x, y], axis=1)
    return pack_islands(layout, label_islands(layout))


def label_islands(points: Floats) -> Numbers:
    """Return the label of each point's island, shape (n,). Gaps without points separate islands.

    The largest island has the number 0.
    """
    with extra("map", "the map"):
        from scipy.ndimage import label

    cells = np.floor((points - points.min(axis=0)) / ISLAND_GAP).astype(np.int64)
    is_land = np.zeros(cells.max(axis=0) + 1, np.bool_)
    is_land[cells[:, 0], cells[:, 1]] = True
    land_labels, _ = label(is_land, np.ones((3, 3)))
    island_numbers = land_labels[cells[:, 0], cells[:, 1]] - 1
    ranks = np.argsort(np.argsort(-np.bincount(island_numbers), kind="stable"))
    numbers: Numbers = ranks[island_numbers]
    return numbers


def pack_islands(points: Floats, island_numbers: Numbers) -> Floats:
    """Return points with the islands moved next to the largest one, because their distances have no meaning.

    Args:
        points: Shape (n, 2).
        island_numbers: The number of each point's island, 0 for the largest.
    """
    with extra("map", "the map"):
        from scipy.spatial import cKDTree

    result = points.copy()
    main_centre = points[island_numbers == 0].mean(axis=0)
    rows = {
        number: np.flatnonzero(island_numbers == number)
        for number in range(1, min(int(island_numbers.max()) + 1, MAX_ISLANDS))
    }
    offsets = {number: points[island_rows].mean(axis=0) - main_centre for number, island_rows in rows.items()}
    islands = [_thin_out(points[(island_numbers == 0) | (island_numbers >= MAX_ISLANDS)])]
    for number in sorted(rows, key=lambda number: float(np.linalg.norm(offsets[number]))):
        island_points, tree = _thin_out(points[rows[number]]), cKDTree(np.concatenate(islands))
        shifts = (share * offsets[number] for share in np.linspace(-1, 0, 41))
        shift = next(
            (shift for shift in shifts if tree.query(island_points + shift)[0].min() >= ISLAND_GAP), np.zeros(2)
        )
        result[rows[number]] += shift.astype(np.float32)
        islands.append(island_points + shift)
    return result


def _thin_out(points: Floats) -> Floats:
    return points[:: math.ceil(len(points) / 2_000)]


def centre_and_scale(points: Floats, extent: float) -> Floats:
    """Return points centred and scaled, so that the largest absolute coordinate is `extent`."""
    if not len(points):
        return points
    centred = points - (points.max(axis=0) + points.min(axis=0)) / 2
    largest = float(np.abs(centred).max())
    scaled: Floats = (centred * (extent / largest) if largest > 0 else centred).astype(np.float32)
    return scaled


def _move_points(
    x: Floats, y: Floats, heads: Numbers, tails: Numbers, step: float, generator: np.random.Generator
) -> None:
    """Move the ends of some edges together, and each first end away from randomly sampled points."""
    pull_x, pull_y = _attraction(x[heads] - x[tails], y[heads] - y[tails])
    random_points = generator.integers(0, len(x), (N_NEGATIVE_SAMPLES, len(heads)), np.int32)
    push_x, push_y = _repulsion(x[heads] - x[random_points], y[heads] - y[random_points])
    for points, pull, push in ((x, pull_x, push_x), (y, pull_y, push_y)):
        moves = np.bincount(heads, pull + push.sum(axis=0), len(points)) - np.bincount(tails, pull, len(points))
        points += (step * moves).astype(np.float32)


def _attraction(dx: Floats, dy: Floats) -> tuple[Floats, Floats]:
    square = dx * dx + dy * dy
    root = _eighth_root(square)
    strength = -2 * A * B / (root + A * square)
    return _clip_forces(strength * dx), _clip_forces(strength * dy)


def _repulsion(dx: Floats, dy: Floats) -> tuple[Floats, Floats]:
    square = dx * dx + dy * dy
    strength = 2 * B / ((0.001 + square) * (1 + A * square / _eighth_root(square)))
    return _clip_forces(strength * dx), _clip_forces(strength * dy)


def _eighth_root(square: Floats) -> Floats:
    root: Floats = np.sqrt(np.sqrt(np.sqrt(np.maximum(square, 1e-12))))
    return root


def _clip_forces(forces: npt.NDArray[Any]) -> Floats:
    bounded: Floats = np.clip(forces, -MAX_STEP, MAX_STEP, out=forces)
    return bounded
