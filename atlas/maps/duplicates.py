"""Groups of near-duplicate records, and of attempts at one task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from atlas.core.errors import InvalidInput
from atlas.core.types import Vectors
from atlas.maps.snapshot import EmbeddedRecords, among

THRESHOLD = 0.97
"""Cosine from which two records count as near-duplicates."""

KEPT_DIRECTIONS = 64
"""Directions that are compared first. What they cannot rule out is compared whole."""

BLOCK = 2_048
REPORT_EVERY = 1_000
MAX_PAIRS = 256
"""Near-duplicates of one vector that are looked at. A larger clump comes out as several groups."""

ROUNDING = 1e-5

Rows = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateGroup:
    """Records each of which is a near-duplicate of every other."""

    ids: tuple[str, ...]
    """The one that most are near to comes first, then the nearest to it."""

    similarity_min: float
    """Smallest similarity of two records of the group. At least the threshold, at most 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """The groups of near-duplicates of a collection, as they were found."""

    groups: tuple[DuplicateGroup, ...]
    """Largest first."""

    threshold: float
    revision: int
    """The store's revision that they were found at."""

    ledger_id: str = ""
    """Id of the ledger that they were read from, which a restore changes. Empty if unknown."""

    digests: Mapping[str, str] = field(default_factory=dict)
    """Of the solution and the actions of each attempt, by its id. Attempts without one are taken for different."""


def duplicate_attempts(
    embedded: EmbeddedRecords,
    tasks: Sequence[Sequence[int]],
    threshold: float = THRESHOLD,
    on_progress: Progress | None = None,
) -> tuple[DuplicateGroup, ...]:
    """Return the near-duplicates among the attempts at each task. Largest group first.

    Texts that differ in one number or name lie as near to each other as paraphrases do, so a vector alone is
    not enough.

    Args:
        embedded: The attempts.
        tasks: The rows of the attempts at each task, no row in two of them.
        threshold: See `near_duplicates`.
        on_progress: Called with the number of tasks done, and their total.
    """
    groups: list[DuplicateGroup] = []
    for done, rows in enumerate(tasks, 1):
        groups += near_duplicates(among(embedded, rows), threshold)
        if on_progress and (done % REPORT_EVERY == 0 or done == len(tasks)):
            on_progress(done, len(tasks))
    return _largest_first(groups)


def near_duplicates(
    embedded: EmbeddedRecords, threshold: float = THRESHOLD, on_progress: Progress | None = None
) -> tuple[DuplicateGroup, ...]:
    """Return groups of at least two records, any two of which are at least as similar as the threshold. Largest first.

    Complete linkage, greedy: the record with the most near-duplicates gathers those that are near to all it gathered
    before, then the next one. Exact over the vectors.

    Args:
        embedded: The experiences to search.
        threshold: Lowest cosine within a group, above 0 and at most 1.
        on_progress: Called with the number of records done, and their total.

    Raises:
        InvalidInput: The threshold is not in its range.
    """
    if not 0 < threshold <= 1:
        raise InvalidInput(f"the threshold should be above 0 and at most 1, but is {threshold!r}")
    distinct, inverse = _distinct(embedded.vectors)
    equal = _rows_by_number(inverse, len(distinct))
    pairs = similar_pairs(distinct, threshold, on_progress)
    gathered = _gather(distinct, pairs, threshold)
    alone = set(range(len(distinct))) - {row for rows, _ in gathered for row in rows}
    gathered += [((row,), 1.0) for row in sorted(alone) if len(equal[row]) > 1]
    groups = [
        DuplicateGroup(ids=tuple(embedded.ids[i] for row in rows for i in equal[row]), similarity_min=lowest)
        for rows, lowest in gathered
    ]
    return _largest_first(groups)


def _largest_first(groups: Sequence[DuplicateGroup]) -> tuple[DuplicateGroup, ...]:
    return tuple(sorted(groups, key=lambda group: (-len(group.ids), -group.similarity_min, group.ids)))


def similar_pairs(vectors: Vectors, threshold: float, on_progress: Progress | None = None) -> Rows:
    """Return the pairs of rows that are at least so similar, shape (n_pairs, 2), the lower row first.

    The similarity along a few directions plus the product of what is left of either vector is never less than the
    whole similarity (Cauchy-Schwarz), so only pairs above the threshold by that bound are compared whole.
    """
    n, blocks = len(vectors), [np.zeros((0, 2), np.int64)]
    short, n_found = _reduce(vectors), np.zeros(len(vectors), np.int64)
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        for other in range(start, n, BLOCK):
            near = short[rows] @ short[other : other + BLOCK].T >= threshold - ROUNDING
            near = np.triu(near, 1) if other == start else near
            if np.count_nonzero(near) > MAX_PAIRS:
                near[n_found[rows] >= MAX_PAIRS] = False
                _thin_out(near, vectors[rows], vectors[other : other + BLOCK], threshold)
            left, right = np.divmod(np.flatnonzero(near), near.shape[1])
            pairs = _confirmed(vectors, np.stack([left + start, right + other], axis=1), threshold)
            n_found += np.bincount(pairs[:, 0], minlength=n)
            blocks.append(pairs)
        if on_progress:
            on_progress(min(start + BLOCK, n), n)
    return np.concatenate(blocks)


def _thin_out(near: npt.NDArray[np.bool_], rows: Vectors, candidates: Vectors, threshold: float) -> None:
    """Cut rows with more than `MAX_PAIRS` candidates to the first that pass the threshold.

    The first rather than the nearest, so that the rows of a clump do not all choose the same few.
    """
    crowded = np.flatnonzero(np.count_nonzero(near, axis=1) > MAX_PAIRS)
    if len(crowded):
        similar = near[crowded] & (rows[crowded] @ candidates.T >= threshold)
        near[crowded] = similar & (np.cumsum(similar, axis=1, dtype=np.int32) <= MAX_PAIRS)


def _reduce(vectors: Vectors) -> Vectors:
    """Return the vectors along the directions that hold most of them, and the length of what is left.

    One block of them is compared whole in less time than it takes to find those directions.
    """
    if vectors.shape[1] <= KEPT_DIRECTIONS or len(vectors) <= BLOCK:
        return vectors
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    along = vectors @ directions[:, -KEPT_DIRECTIONS:]
    left = np.sqrt(np.maximum(np.square(vectors).sum(axis=1) - np.square(along).sum(axis=1), 0))
    return np.ascontiguousarray(np.column_stack([along, left]), np.float32)


def _confirmed(vectors: Vectors, pairs: Rows, threshold: float) -> Rows:
    parts = np.array_split(pairs, -(-len(pairs) // 20_000) or 1)
    return np.concatenate(
        [part[np.einsum("ij,ij->i", vectors[part[:, 0]], vectors[part[:, 1]]) >= threshold] for part in parts]
    )


def _gather(vectors: Vectors, pairs: Rows, threshold: float) -> list[tuple[tuple[int, ...], float]]:
    """Return groups of rows any two of which are similar, and the lowest similarity in each."""
    ends, others_of = pairs.ravel(), pairs[:, ::-1].ravel()
    degrees = np.bincount(ends, minlength=len(vectors))
    near = np.split(others_of[np.argsort(ends, kind="stable")], np.cumsum(degrees)[:-1])
    is_taken = np.zeros(len(vectors), np.bool_)
    groups = []
    for leader in np.argsort(-degrees, kind="stable")[: np.count_nonzero(degrees)].tolist():
        candidates = near[leader][~is_taken[near[leader]]][:MAX_PAIRS].tolist()
        if is_taken[leader] or not candidates:
            continue
        group, lowest = _around(vectors[[leader, *candidates]], [leader, *candidates], threshold)
        if len(group) > 1:
            is_taken[list(group)] = True
            groups.append((group, lowest))
    return groups


def _around(vectors: Vectors, rows: list[int], threshold: float) -> tuple[tuple[int, ...], float]:
    """Return a group of the first row and the rows that are similar to all its members, nearest first."""
    similarities = vectors @ vectors.T
    members = [0]
    allowed = similarities[0] >= threshold
    for place in 1 + np.argsort(-similarities[0, 1:], kind="stable"):
        if allowed[place]:
            members.append(int(place))
            allowed &= similarities[place] >= threshold
    lowest = float(similarities[np.ix_(members, members)].min())
    return tuple(rows[place] for place in members), min(1.0, lowest)


def _distinct(vectors: Vectors) -> tuple[Vectors, Rows]:
    """Return the vectors without repetitions, in order, and which of them each one is."""
    places: dict[bytes, int] = {}
    inverse = np.array([places.setdefault(row.tobytes(), len(places)) for row in vectors], np.int64)
    first = np.zeros(len(places), np.int64)
    first[inverse[::-1]] = np.arange(len(vectors))[::-1]
    return vectors[first], inverse


def _rows_by_number(numbers: Rows, n: int) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(n)]
    for row, number in enumerate(numbers.tolist()):
        rows[number].append(row)
    return rows
