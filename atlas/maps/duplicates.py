"""Groups of near-duplicate records, and of attempts at one task."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.types import Vectors
from atlas.maps.snapshot import EmbeddedRecords, select_rows

THRESHOLD = 0.97
"""Smallest cosine of two near-duplicates."""

N_DIRECTIONS = 64
"""Number of directions that are compared first. Pairs that they do not exclude are compared in full."""

BLOCK_ROWS = 2_048
REPORT_EVERY = 1_000
MAX_PAIRS = 256
"""Largest number of near-duplicates that are read for one vector. A larger cluster is returned as several groups."""

TOLERANCE = 1e-5

Rows = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateGroup:
    """Records that are pairwise near-duplicates."""

    ids: tuple[str, ...]
    """Ids of the records: the one with the most near-duplicates, then the others by their similarity to it."""

    similarity_min: float
    """Smallest similarity of two records of the group, between the threshold and 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """The groups of near-duplicates of a collection, and the revision of the store at which they were found."""

    groups: tuple[DuplicateGroup, ...]
    """Groups of near-duplicates, largest first."""

    threshold: float
    revision: int
    """Revision of the store at which the groups were found."""

    ledger_id: str = ""
    """Id of the ledger that was searched, or empty if unknown. A restore changes the id."""

    digests: Mapping[str, str] = field(default_factory=dict)
    """Digest of each attempt's solution and actions, keyed by id. Attempts without a digest count as different."""


def duplicate_attempts(
    embedded: EmbeddedRecords,
    tasks: Sequence[Sequence[int]],
    threshold: float = THRESHOLD,
    on_progress: Progress | None = None,
) -> tuple[DuplicateGroup, ...]:
    """Return the near-duplicates among the attempts at each task, largest group first.

    Vectors alone do not suffice, because texts that differ in one number or name are as similar as paraphrases.

    Args:
        embedded: The attempts.
        tasks: For each task, the rows of its attempts in `embedded`. No row is in two tasks.
        threshold: See `near_duplicates`.
        on_progress: Called with the number of tasks done, and their total.
    """
    groups: list[DuplicateGroup] = []
    for n_done, rows in enumerate(tasks, 1):
        groups += near_duplicates(select_rows(embedded, rows), threshold)
        if on_progress and (n_done % REPORT_EVERY == 0 or n_done == len(tasks)):
            on_progress(n_done, len(tasks))
    return _sort_by_size(groups)


def near_duplicates(
    embedded: EmbeddedRecords, threshold: float = THRESHOLD, on_progress: Progress | None = None
) -> tuple[DuplicateGroup, ...]:
    """Return groups of records whose pairwise similarity reaches the threshold, largest first.

    Greedy complete linkage: starting from the record with the most near-duplicates, a record joins a group if it is
    similar to all members. Similarities are exact.

    Args:
        embedded: The experiences to search.
        threshold: Lowest cosine within a group, above 0 and at most 1.
        on_progress: Called with the number of records done, and their total.

    Raises:
        InvalidInput: The threshold is not in its range.
    """
    if not 0 < threshold <= 1:
        raise InvalidInput(f"expected a threshold above 0 and at most 1, got {threshold!r}")
    distinct, vector_of_row = _distinct_vectors(embedded.vectors)
    rows_by_vector = _group_rows(vector_of_row, len(distinct))
    pairs = similar_pairs(distinct, threshold, on_progress)
    row_groups = _group_pairs(distinct, pairs, threshold)
    ungrouped = set(range(len(distinct))) - {row for rows, _ in row_groups for row in rows}
    row_groups += [((row,), 1.0) for row in sorted(ungrouped) if len(rows_by_vector[row]) > 1]
    groups = []
    for rows, lowest_similarity in row_groups:
        member_rows = chain.from_iterable(rows_by_vector[row] for row in rows)
        groups.append(
            DuplicateGroup(ids=tuple(embedded.ids[row] for row in member_rows), similarity_min=lowest_similarity)
        )
    return _sort_by_size(groups)


def _sort_by_size(groups: Sequence[DuplicateGroup]) -> tuple[DuplicateGroup, ...]:
    return tuple(sorted(groups, key=lambda group: (-len(group.ids), -group.similarity_min, group.ids)))


def similar_pairs(vectors: Vectors, threshold: float, on_progress: Progress | None = None) -> Rows:
    """Return the pairs of rows whose similarity reaches the threshold, shape (n_pairs, 2), the lower row first.

    By Cauchy-Schwarz, the similarity along a few directions plus the product of the lengths of the residuals is an
    upper bound. Only pairs whose bound reaches the threshold are compared in full.
    """
    n, pair_blocks = len(vectors), [np.zeros((0, 2), np.int64)]
    projected, n_pairs_by_row = _project(vectors), np.zeros(len(vectors), np.int64)
    for start in range(0, n, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        for other_start in range(start, n, BLOCK_ROWS):
            is_candidate = (
                projected[rows] @ projected[other_start : other_start + BLOCK_ROWS].T >= threshold - TOLERANCE
            )
            is_candidate = np.triu(is_candidate, 1) if other_start == start else is_candidate
            if np.count_nonzero(is_candidate) > MAX_PAIRS:
                is_candidate[n_pairs_by_row[rows] >= MAX_PAIRS] = False
                _limit_candidates(
                    is_candidate, vectors[rows], vectors[other_start : other_start + BLOCK_ROWS], threshold
                )
            row_numbers, column_numbers = np.divmod(np.flatnonzero(is_candidate), is_candidate.shape[1])
            pairs = _keep_similar_pairs(
                vectors, np.stack([row_numbers + start, column_numbers + other_start], axis=1), threshold
            )
            n_pairs_by_row += np.bincount(pairs[:, 0], minlength=n)
            pair_blocks.append(pairs)
        if on_progress:
            on_progress(min(start + BLOCK_ROWS, n), n)
    return np.concatenate(pair_blocks)


def _limit_candidates(
    is_candidate: npt.NDArray[np.bool_], rows: Vectors, candidates: Vectors, threshold: float
) -> None:
    """Limit each row to its first `MAX_PAIRS` candidates above the threshold.

    The first candidates are kept, not the nearest, because all rows of a dense cluster share the nearest ones.
    """
    crowded_rows = np.flatnonzero(np.count_nonzero(is_candidate, axis=1) > MAX_PAIRS)
    if len(crowded_rows):
        similar = is_candidate[crowded_rows] & (rows[crowded_rows] @ candidates.T >= threshold)
        is_candidate[crowded_rows] = similar & (np.cumsum(similar, axis=1, dtype=np.int32) <= MAX_PAIRS)


def _project(vectors: Vectors) -> Vectors:
    """Return the coordinates of vectors along a few principal directions, with the residual's length as last column.

    Vectors of a single block are returned unchanged, because comparing them in full is faster.
    """
    if vectors.shape[1] <= N_DIRECTIONS or len(vectors) <= BLOCK_ROWS:
        return vectors
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    projections = vectors @ directions[:, -N_DIRECTIONS:]
    residual_lengths = np.sqrt(np.maximum(np.square(vectors).sum(axis=1) - np.square(projections).sum(axis=1), 0))
    return np.ascontiguousarray(np.column_stack([projections, residual_lengths]), np.float32)


def _keep_similar_pairs(vectors: Vectors, pairs: Rows, threshold: float) -> Rows:
    """Return the pairs whose similarity, computed in full, reaches the threshold."""
    parts = np.array_split(pairs, max(1, math.ceil(len(pairs) / 20_000)))
    return np.concatenate(
        [part[np.einsum("ij,ij->i", vectors[part[:, 0]], vectors[part[:, 1]]) >= threshold] for part in parts]
    )


def _group_pairs(vectors: Vectors, pairs: Rows, threshold: float) -> list[tuple[tuple[int, ...], float]]:
    """Return groups of pairwise similar rows, each with the lowest similarity between its members."""
    first_rows, second_rows = pairs.ravel(), pairs[:, ::-1].ravel()
    degrees = np.bincount(first_rows, minlength=len(vectors))
    neighbours = np.split(second_rows[np.argsort(first_rows, kind="stable")], np.cumsum(degrees)[:-1])
    is_grouped = np.zeros(len(vectors), np.bool_)
    groups = []
    for leader in np.argsort(-degrees, kind="stable")[: np.count_nonzero(degrees)].tolist():
        candidates = neighbours[leader][~is_grouped[neighbours[leader]]][:MAX_PAIRS].tolist()
        if is_grouped[leader] or not candidates:
            continue
        group, lowest_similarity = _similar_group(vectors[[leader, *candidates]], [leader, *candidates], threshold)
        if len(group) > 1:
            is_grouped[list(group)] = True
            groups.append((group, lowest_similarity))
    return groups


def _similar_group(vectors: Vectors, rows: list[int], threshold: float) -> tuple[tuple[int, ...], float]:
    """Return the group of pairwise similar rows that contains the first row, and the lowest similarity within it.

    Rows join greedily, the most similar to the first row first, if they are similar to all members so far.
    """
    similarities = vectors @ vectors.T
    members = [0]
    is_similar_to_all = similarities[0] >= threshold
    for index in 1 + np.argsort(-similarities[0, 1:], kind="stable"):
        if is_similar_to_all[index]:
            members.append(int(index))
            is_similar_to_all &= similarities[index] >= threshold
    lowest_similarity = float(similarities[np.ix_(members, members)].min())
    return tuple(rows[index] for index in members), min(1.0, lowest_similarity)


def _distinct_vectors(vectors: Vectors) -> tuple[Vectors, Rows]:
    """Return the distinct vectors in order of first appearance, and the index of each vector in this list."""
    index_by_vector: dict[bytes, int] = {}
    index_of_row = np.array(
        [index_by_vector.setdefault(row.tobytes(), len(index_by_vector)) for row in vectors], np.int64
    )
    first_rows = np.zeros(len(index_by_vector), np.int64)
    first_rows[index_of_row[::-1]] = np.arange(len(vectors))[::-1]
    return vectors[first_rows], index_of_row


def _group_rows(numbers: Rows, n_numbers: int) -> list[list[int]]:
    """Return the rows that have each number, in a list indexed by the number."""
    rows: list[list[int]] = [[] for _ in range(n_numbers)]
    for row, number in enumerate(numbers.tolist()):
        rows[number].append(row)
    return rows
