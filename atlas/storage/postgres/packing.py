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
class WordPositions:
    """The postings of one word: the records with the word, and the word's positions in each record."""

    seqs: Seqs
    """Numbers of the records, in ascending order."""

    n_positions: Seqs
    """Number of positions in each record."""

    positions: Seqs
    """The positions in all records, one record after the other."""


def group_by_term(records: Sequence[tuple[int, list[str], list[str]]]) -> Iterator[tuple[str, WordPositions]]:
    """Yield each word of the records, with the word's postings."""
    numbers: dict[str, int] = {}
    words, seqs, positions = [], [], []
    for seq, document, search_text in sorted(records):
        for offset, words_of_part in ((0, document), (SEARCH_TEXT, search_text)):
            words += [numbers.setdefault(word, len(numbers)) for word in words_of_part]
            seqs.append(np.full(len(words_of_part), seq))
            positions.append(np.arange(offset, offset + len(words_of_part)))
    if not words:
        return
    word_numbers = np.array(words, np.int64)
    order = np.argsort(word_numbers, kind="stable")  # stable, so that records and positions stay sorted within a word
    owners, sorted_positions = np.concatenate(seqs)[order], np.concatenate(positions)[order]
    is_new = np.diff(word_numbers[order]).astype(bool) | np.diff(owners).astype(bool)
    starts = np.concatenate([[0], np.flatnonzero(is_new) + 1])  # of each pair of a word and a record
    n_positions, word_seqs = np.diff(np.append(starts, len(order))), owners[starts]
    record_ends = np.cumsum(np.bincount(word_numbers[order][starts], minlength=len(numbers)))
    position_ends = np.cumsum(np.bincount(word_numbers, minlength=len(numbers)))
    record_start, position_start = 0, 0
    for word, record_end, position_end in zip(numbers, record_ends.tolist(), position_ends.tolist(), strict=True):
        records_of_word = slice(record_start, record_end)
        positions_of_word = sorted_positions[position_start:position_end]
        yield word, WordPositions(word_seqs[records_of_word], n_positions[records_of_word], positions_of_word)
        record_start, position_start = record_end, position_end


def merge(parts: Sequence[WordPositions]) -> WordPositions:
    """Merge parts of a word's postings. A record in several parts gets the positions of all these parts."""
    if not parts:
        return empty_postings()
    if len(parts) == 1:
        return parts[0]
    sorted_parts = sorted(parts, key=lambda part: int(part.seqs[0]))
    if all(part.seqs[-1] < next_part.seqs[0] for part, next_part in pairwise(sorted_parts)):
        return WordPositions(
            np.concatenate([part.seqs for part in sorted_parts]),
            np.concatenate([part.n_positions for part in sorted_parts]),
            np.concatenate([part.positions for part in sorted_parts]),
        )
    owners = np.concatenate([np.repeat(part.seqs, part.n_positions) for part in parts])
    positions = np.concatenate([part.positions for part in parts])
    order = np.lexsort((positions, owners))
    seqs, n_positions = np.unique(owners[order], return_counts=True)
    return WordPositions(seqs, n_positions, positions[order])


def split(postings: WordPositions) -> Iterator[WordPositions]:
    """Split the postings of a word into parts of at most `MAX_RECORDS` records, one for each row."""
    ends = np.cumsum(postings.n_positions)
    for start in range(0, len(postings.seqs), MAX_RECORDS):
        stop = min(start + MAX_RECORDS, len(postings.seqs))
        first = int(ends[start - 1]) if start else 0
        yield WordPositions(
            postings.seqs[start:stop], postings.n_positions[start:stop], postings.positions[first : int(ends[stop - 1])]
        )


def remove_record(postings: WordPositions, seq: int) -> WordPositions:
    """Return the postings of a word without one record."""
    is_kept = postings.seqs != seq
    return WordPositions(
        postings.seqs[is_kept],
        postings.n_positions[is_kept],
        postings.positions[np.repeat(is_kept, postings.n_positions)],
    )


def to_postings(postings: WordPositions) -> Postings:
    """Return the records with a word, and the word's frequency in each, weighted by field."""
    return Postings.from_occurrences(occurrences(postings))


def empty_postings() -> WordPositions:
    """Return empty postings."""
    return WordPositions(*(np.zeros(0, np.int64) for _ in range(3)))


def to_row(table_key: int, term: str, postings: WordPositions) -> tuple[Any, ...]:
    """Return a row of the table of postings, for the records of one keyword table."""
    return table_key, term, int(postings.seqs[0]), int(postings.seqs[-1]), len(postings.seqs), *to_bytes(postings)


def to_bytes(postings: WordPositions) -> tuple[bytes, bytes, bytes]:
    """Return the record numbers, frequencies and positions of a word as bytes."""
    return (
        postings.seqs.astype("<i8").tobytes(),
        postings.n_positions.astype("<u4").tobytes(),
        postings.positions.astype("<i4").tobytes(),
    )


def from_bytes(seqs: bytes, n_positions: bytes, positions: bytes) -> WordPositions:
    """Return the postings of a word from the bytes of a row."""
    return WordPositions(
        np.frombuffer(seqs, "<i8").astype(np.int64),
        np.frombuffer(n_positions, "<u4").astype(np.int64),
        np.frombuffer(positions, "<i4").astype(np.int64),
    )


def find_phrase(words: Sequence[WordPositions]) -> WordPositions:
    """Return the postings of a phrase, given those of its words. Positions are those of the last word."""
    if len(words) < 2:
        return words[0] if words else empty_postings()
    keys = occurrences(words[-1]) - (len(words) - 1)
    for offset, word in enumerate(words[:-1]):
        keys = np.intersect1d(keys, occurrences(word) - offset, assume_unique=True)
    seqs, starts = np.unique(keys >> 32, return_index=True)
    return WordPositions(seqs, np.diff(np.append(starts, len(keys))), keys & (2**32 - 1))


def occurrences(postings: WordPositions) -> Seqs:
    """Return each occurrence as one integer: the record number in the high 32 bits, the position in the low bits."""
    keys: Seqs = np.sort((np.repeat(postings.seqs, postings.n_positions) << 32) | postings.positions)
    return keys
