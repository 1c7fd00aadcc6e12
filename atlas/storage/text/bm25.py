"""BM25 scores of records, computed for as few of them as possible.

The score of a record is bounded by that of an empty one with the same term frequencies. Records are scored in the order
of these bounds until the next bound is below the n-th score, because the remaining ones cannot be among the best.

Source:
    Robertson & Zaragoza, The probabilistic relevance framework, 2009; the stop is that of Fagin, Lotem & Naor's
    threshold algorithm, PODS 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atlas.core.ranking.tuned import K1, B
from atlas.storage.records import Seqs

FIRST_SCORED = 1_024
"""Number of records that are scored before the bound is checked again."""


Numbers = npt.NDArray[np.float64]
"""Shape (n,)."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of a word: one entry for each record, in the order of record numbers."""

    seqs: Seqs
    often: Numbers
    """Term frequency in each record, weighted by field."""


class Scores:
    """The scores of the records that contain any of some words."""

    def __init__(
        self,
        postings: Sequence[Postings],
        weights: Sequence[float],
        other_values: Mapping[int, float],
        lengths_of: Callable[[Seqs], Numbers],
    ) -> None:
        """Begin with the postings and weight of each word.

        Args:
            weights: The inverse document frequency of each word.
            other_values: Values that other terms add to records.
            lengths_of: Function that returns lengths of records, as multiples of the usual length.
        """
        other_seqs, other_scores = np.array([*other_values], np.int64), np.array([*other_values.values()], np.float64)
        self._seqs = np.concatenate([np.zeros(0, np.int64), *(part.seqs for part in postings)])
        self._often = np.concatenate([np.zeros(0), *(part.often for part in postings)])
        self._weights = np.repeat(np.array(weights, np.float64), [len(part.seqs) for part in postings])
        self._size = int(max(self._seqs.max(initial=-1), other_seqs.max(initial=-1))) + 1
        self._other_scores = np.bincount(other_seqs, other_scores, self._size)
        self._bounds = self._other_scores + np.bincount(self._seqs, self._terms(slice(None), 0.0), self._size)
        self._lengths_of = lengths_of

    def best(self, n: int) -> dict[int, float]:
        """Return the n highest values by record, the highest first. Equal ones in the order of their records."""
        left, scored, values = np.flatnonzero(self._bounds > 0), np.zeros(0, np.int64), np.zeros(0)
        while n > 0 and len(left := left[self._bounds[left] >= _nth_highest(values, n)]):
            n_next = min(len(left), max(FIRST_SCORED, 2 * n, len(values)))
            left = left[np.argpartition(-self._bounds[left], n_next - 1)]
            following, left = left[:n_next], left[n_next:]
            scored = np.concatenate([scored, following])
            values = np.concatenate([values, self._values(following)])
        best = np.lexsort((scored, -values))[: max(n, 0)]
        return dict(zip(scored[best].tolist(), values[best].tolist(), strict=True))

    def of(self, seqs: Seqs) -> dict[int, float]:
        """Return the scores of the given records that contain any of the words."""
        is_wanted = np.zeros(self._size, bool)
        is_wanted[seqs[seqs < self._size]] = True
        wanted = np.flatnonzero(is_wanted & (self._bounds > 0))
        return dict(zip(wanted.tolist(), self._values(wanted).tolist(), strict=True))

    def _values(self, seqs: Seqs) -> Numbers:
        """Return the scores of records that contain any of the words. Ids must be distinct."""
        places = np.full(self._size, -1)
        places[seqs] = np.arange(len(seqs))
        at = places[self._seqs]
        wanted = np.flatnonzero(at >= 0)
        terms = self._terms(wanted, self._lengths_of(seqs)[at[wanted]])
        return np.asarray(self._other_scores[seqs] + np.bincount(at[wanted], terms, len(seqs)), np.float64)

    def _terms(self, which: slice | Seqs, lengths: Numbers | float) -> Numbers:
        """Return each posting's part in the value of its record, given the records' lengths."""
        often = self._often[which]
        added: Numbers = self._weights[which] * often * (K1 + 1) / (often + K1 * (1 - B + B * lengths))
        return added


def _nth_highest(values: Numbers, n: int) -> float:
    return float(np.partition(values, -n)[-n]) if len(values) >= n else 0.0
