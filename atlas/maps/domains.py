"""Domains: clusters of records on a map, and their matching with the domains of an earlier map."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atlas.core.imports.distribution import extra
from atlas.core.types import Vectors
from atlas.maps.knn import nearest_neighbours
from atlas.maps.projection import N_NEIGHBOURS, Coordinates, placement_weights

UNCLUSTERED = -1
"""Label of records outside all domains."""

SEED = 42
MAX_CLUSTERED_POINTS = 20_000
"""Largest number of points that are clustered directly. Of more, a sample is clustered and the rest assigned."""

MIN_SAMPLES = 3
"""`min_samples` of HDBSCAN. Lower values leave fewer points unclustered, higher ones are robust to outliers."""

MAX_SHARE = 0.6
"""Largest share of all points in a domain. A larger cluster is split."""

MIN_OVERLAP = 0.2
"""Smallest overlap (Jaccard) at which a domain gets the number of an earlier domain."""

Labels = npt.NDArray[np.int32]
Strengths = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Clusters:
    """The cluster of each point, and the strength of its membership."""

    labels: Labels
    """Shape (n,): the number of each point's cluster, 0 for the largest, or `UNCLUSTERED`."""

    strengths: Strengths
    """Shape (n,): strength of membership, in [0, 1]."""


def default_min_size(n: int) -> int:
    """Return the default size of the smallest domain: 10 for 300 records, 39 for 5,000, 174 for 100,000."""
    return max(5, round(0.55 * math.sqrt(n)))


def find_domains(coordinates: Coordinates, min_size: int = 0) -> Clusters:
    """Return the HDBSCAN clusters of points.

    Args:
        coordinates: Shape (n, 2).
        min_size: Smallest number of points of a cluster. 0 for `default_min_size`.
    """
    n = len(coordinates)
    min_size = max(2, min_size or default_min_size(n))
    if n < 2 * min_size:  # too few points for two clusters
        return Clusters(np.full(n, UNCLUSTERED, np.int32), np.zeros(n, np.float32))
    if n <= MAX_CLUSTERED_POINTS:
        return _number_by_size(_cluster_persistently(coordinates, min_size))
    rows = np.sort(np.random.default_rng(SEED).choice(n, MAX_CLUSTERED_POINTS, replace=False))
    sample_clusters = _cluster_persistently(coordinates[rows], max(5, round(min_size * MAX_CLUSTERED_POINTS / n)))
    return _number_by_size(_extend_to_all(coordinates, coordinates[rows], sample_clusters))


def _cluster_persistently(coordinates: Coordinates, min_size: int) -> Clusters:
    """Return the most persistent HDBSCAN clusters ("excess of mass").

    If the largest one is too large, the finest clusters (the leaves of the tree) are returned instead.
    """
    persistent = _run_hdbscan(coordinates, min_size, "eom")
    largest_size = np.bincount(persistent.labels[persistent.labels >= 0], minlength=1).max()
    if largest_size <= MAX_SHARE * len(coordinates):
        return persistent
    return _run_hdbscan(coordinates, min_size, "leaf")


def _run_hdbscan(coordinates: Coordinates, min_size: int, method: str) -> Clusters:
    with extra("map", "the map"):
        from sklearn.cluster import HDBSCAN

    model = HDBSCAN(min_size, min_samples=min(MIN_SAMPLES, min_size), cluster_selection_method=method, copy=True)
    labels = model.fit_predict(coordinates.astype(np.float64))
    return Clusters(labels.astype(np.int32), np.nan_to_num(model.probabilities_).astype(np.float32))


def _extend_to_all(coordinates: Coordinates, sample: Coordinates, sample_clusters: Clusters) -> Clusters:
    """Return the clusters of all points. Each point joins the cluster of its nearest point in the sample."""
    with extra("map", "the map"):
        from scipy.spatial import cKDTree

    _, nearest = cKDTree(sample).query(coordinates)
    return Clusters(sample_clusters.labels[nearest], sample_clusters.strengths[nearest])


def _number_by_size(clusters: Clusters) -> Clusters:
    """Return the clusters with new numbers: 0 for the largest, 1 for the next."""
    labels, sizes = np.unique(clusters.labels[clusters.labels >= 0], return_counts=True)
    order = labels[np.argsort(-sizes, kind="stable")]
    return Clusters(renumber(clusters.labels, {int(old): new for new, old in enumerate(order)}), clusters.strengths)


def renumber(labels: Labels, numbers: Mapping[int, int]) -> Labels:
    """Return labels replaced according to a mapping. Labels that are not in it become `UNCLUSTERED`."""
    renumbered_labels = np.full(len(labels), UNCLUSTERED, np.int32)
    for old, new in numbers.items():
        renumbered_labels[labels == old] = new
    return renumbered_labels


def match_domains(old: Labels, new: Labels) -> dict[int, int]:
    """Return the number of each new domain, keyed by its label: that of the matching old domain, or an unused one.

    Args:
        old: Labels of the records on both maps.
        new: Labels of the same records in the same order, possibly followed by labels of more records.

    Source:
        The assignment with the greatest sum of Jaccard overlaps (Kuhn, 1955).
    """
    with extra("map", "the map"):
        from scipy.optimize import linear_sum_assignment

    old_numbers, new_numbers = _distinct_labels(old), _distinct_labels(new)
    shared = new[: len(old)]
    overlap = np.zeros((len(new_numbers), len(old_numbers)))
    for row, number in enumerate(new_numbers):
        for column, old_number in enumerate(old_numbers):
            is_in_new, is_in_old = shared == number, old == old_number
            overlap[row, column] = (is_in_new & is_in_old).sum() / max(1, (is_in_new | is_in_old).sum())
    rows, columns = linear_sum_assignment(-overlap) if overlap.size else ([], [])
    matches = {
        new_numbers[row]: old_numbers[column]
        for row, column in zip(rows, columns, strict=True)
        if overlap[row, column] >= MIN_OVERLAP
    }
    first_unused = max(old_numbers, default=-1) + 1
    unmatched = [number for number in new_numbers if number not in matches]
    return matches | {number: first_unused + offset for offset, number in enumerate(unmatched)}


def labels_from_neighbours(
    newcomers: Vectors, old: Vectors, labels: Labels, strengths: Strengths
) -> tuple[Labels, Strengths]:
    """Return the label and membership strength of each new record, by a weighted vote of its nearest neighbours."""
    nearest = nearest_neighbours(newcomers, N_NEIGHBOURS, pool=old)
    weights = placement_weights(nearest)
    new_labels = np.full(len(newcomers), UNCLUSTERED, np.int32)
    new_strengths, best_shares = np.zeros(len(newcomers), np.float32), np.zeros(len(newcomers), np.float32)
    for number in np.unique(labels):
        weights_in_domain = weights * (labels[nearest.indices] == number)
        shares = weights_in_domain.sum(axis=1)
        is_better = shares > best_shares
        new_labels[is_better], best_shares[is_better] = number, shares[is_better]
        new_strengths[is_better] = (weights_in_domain * strengths[nearest.indices]).sum(axis=1)[is_better]
    return new_labels, np.clip(new_strengths, 0, 1)


def _distinct_labels(labels: Labels) -> list[int]:
    return [int(number) for number in np.unique(labels) if number != UNCLUSTERED]
