"""BM25 scores of records, computed for as few of them as possible.

The score of a record is bounded by the score of an empty record with the same term frequencies. Records are scored in
the order of these bounds until the next bound is below the n-th score, because no other record can be among the best.

Source:
    Robertson & Zaragoza, The probabilistic relevance framework, 2009; the stopping rule is from Fagin,
    Lotem & Naor's threshold algorithm, PODS 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atlas.core.ranking.tuned import FIELD_WEIGHTS, K1, B
from atlas.storage.records import Seqs

FIRST_SCORED = 1_024
"""Number of records that are scored before the bound is checked again."""


Numbers = npt.NDArray[np.float64]
"""Shape (n,)."""


SEARCH_TEXT = 2**30
"""Offset of the first word of a search text, so that no phrase spans the document and the search text."""

POSITION_BITS = 32
"""Number of low bits of an occurrence for the word's position."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of a word or phrase: one entry for each record, in the order of record numbers."""

    seqs: Seqs
    frequencies: Numbers
    """Term frequency in each record, weighted by field."""

    occurrences: Seqs
    """Each occurrence as one number, sorted: the record in the high 32 bits, the word's position in the low bits."""

    @classmethod
    def from_occurrences(cls, occurrences: Seqs) -> Postings:
        """Return the postings of sorted occurrences."""
        owners = occurrences >> POSITION_BITS
        is_first = np.ones(len(owners), bool)
        np.not_equal(owners[1:], owners[:-1], out=is_first[1:])  # `np.diff` takes ten times as long for short arrays
        starts = np.flatnonzero(is_first)
        is_in_search_text = (occurrences & SEARCH_TEXT).astype(bool)
        weights = np.where(is_in_search_text, FIELD_WEIGHTS[1], FIELD_WEIGHTS[0])
        frequencies = np.add.reduceat(weights, starts) if len(starts) else np.zeros(0)
        return cls(owners[starts], frequencies, occurrences)

    def followed_by(self, word: Postings) -> Postings:
        """Return the postings of the phrase of this word and the given word, at the positions of the given word."""
        next_positions = self.occurrences + 1
        shorter, longer = sorted((next_positions, word.occurrences), key=len)
        if not len(shorter):
            return Postings.from_occurrences(shorter)
        is_common = longer[np.minimum(np.searchsorted(longer, shorter), len(longer) - 1)] == shorter
        return Postings.from_occurrences(shorter[is_common])

    def with_changes(self, seqs: Seqs, occurrences: Seqs) -> Postings:
        """Return the postings after a change of some records, given the sorted new occurrences in these records."""
        if not len(self.seqs) or seqs.min(initial=self.seqs[-1] + 1) > self.seqs[-1]:
            return self._with_later(Postings.from_occurrences(occurrences)) if len(occurrences) else self
        is_changed = np.isin(self.occurrences >> POSITION_BITS, seqs)
        if not len(occurrences) and not is_changed.any():
            return self
        return Postings.from_occurrences(np.sort(np.concatenate([self.occurrences[~is_changed], occurrences])))

    def truncate_after(self, seq: int) -> Postings:
        """Return the postings of the records whose numbers are at most `seq`."""
        n_records = np.searchsorted(self.seqs, seq, "right")
        n_occurrences = np.searchsorted(self.occurrences, (seq + 1) << POSITION_BITS)
        return Postings(self.seqs[:n_records], self.frequencies[:n_records], self.occurrences[:n_occurrences])

    def _with_later(self, later: Postings) -> Postings:
        """Return these postings, followed by the postings of later records."""
        return Postings(
            np.concatenate([self.seqs, later.seqs]),
            np.concatenate([self.frequencies, later.frequencies]),
            np.concatenate([self.occurrences, later.occurrences]),
        )

    def select(self, is_kept: npt.NDArray[np.bool_]) -> Postings:
        """Return the postings of the records that a mask selects, without occurrences."""
        return Postings(self.seqs[is_kept], self.frequencies[is_kept], np.zeros(0, np.int64))


class Scores:
    """BM25 scores of the records that contain any of several words."""

    def __init__(
        self,
        postings: Sequence[Postings],
        weights: Sequence[float],
        other_scores: Mapping[int, float],
        lengths_of: Callable[[Seqs], Numbers],
    ) -> None:
        """Compute the bounds from the postings and weight of each word.

        Args:
            weights: The inverse document frequency of each word.
            other_scores: Scores that other terms add to records, keyed by record number.
            lengths_of: Function that returns the lengths of records, as multiples of the average length.
        """
        other_seqs = np.array([*other_scores], np.int64)
        other_weights = np.array([*other_scores.values()], np.float64)
        self._seqs = np.concatenate([np.zeros(0, np.int64), *(part.seqs for part in postings)])
        self._frequencies = np.concatenate([np.zeros(0), *(part.frequencies for part in postings)])
        self._weights = np.repeat(np.array(weights, np.float64), [len(part.seqs) for part in postings])
        self._size = int(max(self._seqs.max(initial=-1), other_seqs.max(initial=-1))) + 1
        self._other_scores = np.bincount(other_seqs, other_weights, self._size)
        self._bounds = self._other_scores + np.bincount(self._seqs, self._contributions(slice(None), 0.0), self._size)
        self._lengths_of = lengths_of

    def best(self, n: int) -> dict[int, float]:
        """Return the n highest scores, highest first, keyed by record number. Ties are in the order of the records."""
        remaining = np.flatnonzero(self._bounds > 0)
        scored_seqs = np.zeros(0, np.int64)
        values = np.zeros(0)
        while n > 0 and len(remaining := remaining[self._bounds[remaining] >= _nth_highest(values, n)]):
            n_next = min(len(remaining), max(FIRST_SCORED, 2 * n, len(values)))
            remaining = remaining[np.argpartition(-self._bounds[remaining], n_next - 1)]
            batch, remaining = remaining[:n_next], remaining[n_next:]
            scored_seqs = np.concatenate([scored_seqs, batch])
            values = np.concatenate([values, self._score(batch)])
        best = np.lexsort((scored_seqs, -values))[: max(n, 0)]
        return dict(zip(scored_seqs[best].tolist(), values[best].tolist(), strict=True))

    def scores_of(self, seqs: Seqs) -> dict[int, float]:
        """Return the scores of those of the given records that contain any of the words, keyed by record number."""
        is_given = np.zeros(self._size, bool)
        is_given[seqs[seqs < self._size]] = True
        matching_seqs = np.flatnonzero(is_given & (self._bounds > 0))
        return dict(zip(matching_seqs.tolist(), self._score(matching_seqs).tolist(), strict=True))

    def _score(self, seqs: Seqs) -> Numbers:
        """Return the scores of distinct records that contain any of the words."""
        index_by_seq = np.full(self._size, -1)
        index_by_seq[seqs] = np.arange(len(seqs))
        positions = index_by_seq[self._seqs]
        selected = np.flatnonzero(positions >= 0)
        terms = self._contributions(selected, self._lengths_of(seqs)[positions[selected]])
        return np.asarray(self._other_scores[seqs] + np.bincount(positions[selected], terms, len(seqs)), np.float64)

    def _contributions(self, selection: slice | Seqs, lengths: Numbers | float) -> Numbers:
        """Return each posting's contribution to the score of its record, given the record's length."""
        frequencies = self._frequencies[selection]
        contributions: Numbers = (
            self._weights[selection] * frequencies * (K1 + 1) / (frequencies + K1 * (1 - B + B * lengths))
        )
        return contributions


def _nth_highest(values: Numbers, n: int) -> float:
    return float(np.partition(values, -n)[-n]) if len(values) >= n else 0.0
