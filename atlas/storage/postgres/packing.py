"""Packing of postings (the records that contain a word, and the word's positions) into table rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from atlas.storage.records import Seqs
from atlas.storage.text.bm25 import SEARCH_TEXT, Postings

MAX_RECORDS = 4_096
"""Maximum number of records in a row."""


@dataclass(slots=True)
class StoredPostings:
    """The postings of one word as they are stored: the records with the word, and its positions in each record."""

    seqs: Seqs
    """Numbers of the records, in ascending order."""

    n_positions: Seqs
    """Number of positions in each record."""

    positions: Seqs
    """The positions in all records, one record after the other."""


def group_by_term(records: Sequence[tuple[int, list[str], list[str]]]) -> Iterator[tuple[str, StoredPostings]]:
    """Yield each word of the records, with the word's postings."""
    number_by_word: dict[str, int] = {}
    word_numbers, seq_parts, position_parts = [], [], []
    for seq, document, search_text in sorted(records):
        for offset, words_of_part in ((0, document), (SEARCH_TEXT, search_text)):
            word_numbers += [number_by_word.setdefault(word, len(number_by_word)) for word in words_of_part]
            seq_parts.append(np.full(len(words_of_part), seq))
            position_parts.append(np.arange(offset, offset + len(words_of_part)))
    if not word_numbers:
        return
    order = np.argsort(word_numbers, kind="stable")  # stable, so that records and positions stay sorted within a word
    words = np.array(word_numbers, np.int64)[order]
    seqs, positions = np.concatenate(seq_parts)[order], np.concatenate(position_parts)[order]
    # A pair is a word and a record that contains the word, at one or more positions.
    is_new_pair = np.diff(words).astype(bool) | np.diff(seqs).astype(bool)
    pair_starts = np.concatenate([[0], np.flatnonzero(is_new_pair) + 1])
    pair_seqs, n_positions = seqs[pair_starts], np.diff(np.append(pair_starts, len(order)))
    pair_ends = np.cumsum(np.bincount(words[pair_starts], minlength=len(number_by_word)))
    position_ends = np.cumsum(np.bincount(words, minlength=len(number_by_word)))
    pair_start, position_start = 0, 0
    for word, pair_end, position_end in zip(number_by_word, pair_ends.tolist(), position_ends.tolist(), strict=True):
        pairs = slice(pair_start, pair_end)
        yield word, StoredPostings(pair_seqs[pairs], n_positions[pairs], positions[position_start:position_end])
        pair_start, position_start = pair_end, position_end


def merge(parts: Sequence[StoredPostings]) -> StoredPostings:
    """Merge parts of a word's postings. A record in several parts gets the positions of all these parts."""
    if not parts:
        return empty_postings()
    if len(parts) == 1:
        return parts[0]
    sorted_parts = sorted(parts, key=lambda part: int(part.seqs[0]))
    if all(part.seqs[-1] < next_part.seqs[0] for part, next_part in pairwise(sorted_parts)):
        return StoredPostings(
            np.concatenate([part.seqs for part in sorted_parts]),
            np.concatenate([part.n_positions for part in sorted_parts]),
            np.concatenate([part.positions for part in sorted_parts]),
        )
    owners = np.concatenate([np.repeat(part.seqs, part.n_positions) for part in parts])
    positions = np.concatenate([part.positions for part in parts])
    order = np.lexsort((positions, owners))
    seqs, n_positions = np.unique(owners[order], return_counts=True)
    return StoredPostings(seqs, n_positions, positions[order])


def split(postings: StoredPostings) -> Iterator[StoredPostings]:
    """Split the postings of a word into parts of at most `MAX_RECORDS` records, one for each row."""
    ends = np.cumsum(postings.n_positions)
    for start in range(0, len(postings.seqs), MAX_RECORDS):
        stop = min(start + MAX_RECORDS, len(postings.seqs))
        first_position = int(ends[start - 1]) if start else 0
        yield StoredPostings(
            postings.seqs[start:stop],
            postings.n_positions[start:stop],
            postings.positions[first_position : int(ends[stop - 1])],
        )


def remove_record(postings: StoredPostings, seq: int) -> StoredPostings:
    """Return the postings of a word without one record."""
    is_kept = postings.seqs != seq
    return StoredPostings(
        postings.seqs[is_kept],
        postings.n_positions[is_kept],
        postings.positions[np.repeat(is_kept, postings.n_positions)],
    )


def to_postings(postings: StoredPostings) -> Postings:
    """Return stored postings in the form for scoring, with the word's weighted frequency in each record."""
    return Postings.from_occurrences(occurrences(postings))


def empty_postings() -> StoredPostings:
    """Return empty postings."""
    return StoredPostings(*(np.zeros(0, np.int64) for _ in range(3)))


def to_row(table_key: int, term: str, postings: StoredPostings) -> tuple[Any, ...]:
    """Return a row of the table of postings, for the records of one keyword table."""
    return table_key, term, int(postings.seqs[0]), int(postings.seqs[-1]), len(postings.seqs), *to_bytes(postings)


def to_bytes(postings: StoredPostings) -> tuple[bytes, bytes, bytes]:
    """Return the record numbers, frequencies and positions of a word as bytes."""
    return (
        postings.seqs.astype("<i8").tobytes(),
        postings.n_positions.astype("<u4").tobytes(),
        postings.positions.astype("<i4").tobytes(),
    )


def from_bytes(seqs: bytes, n_positions: bytes, positions: bytes) -> StoredPostings:
    """Return the postings of a word from the bytes of a row."""
    return StoredPostings(
        np.frombuffer(seqs, "<i8").astype(np.int64),
        np.frombuffer(n_positions, "<u4").astype(np.int64),
        np.frombuffer(positions, "<i4").astype(np.int64),
    )


def find_phrase(words: Sequence[StoredPostings]) -> StoredPostings:
    """Return the postings of a phrase, given those of its words. Positions are those of the last word."""
    if len(words) < 2:
        return words[0] if words else empty_postings()
    keys = occurrences(words[-1]) - (len(words) - 1)
    for offset, word in enumerate(words[:-1]):
        keys = np.intersect1d(keys, occurrences(word) - offset, assume_unique=True)
    seqs, starts = np.unique(keys >> 32, return_index=True)
    return StoredPostings(seqs, np.diff(np.append(starts, len(keys))), keys & (2**32 - 1))


def occurrences(postings: StoredPostings) -> Seqs:
    """Return each occurrence as one integer: the record number in the high 32 bits, the position in the low bits."""
    keys: Seqs = np.sort((np.repeat(postings.seqs, postings.n_positions) << 32) | postings.positions)
    return keys
