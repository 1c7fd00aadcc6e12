"""Packing of postings (the records that contain a word, and its positions) into table rows."""

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
class WordPlaces:
    """The postings of one word: its records, and its positions in each."""

    seqs: Seqs
    """Numbers of the records, in ascending order."""

    n_places: Seqs
    """Number of positions in each record."""

    places: Seqs
    """The positions in all records, one record after the other."""


def group_by_term(records: Sequence[tuple[int, list[str], list[str]]]) -> Iterator[tuple[str, WordPlaces]]:
    """Yield each word of the records, with its postings."""
    numbers: dict[str, int] = {}
    words, seqs, places = [], [], []
    for seq, document, search_text in sorted(records):
        for offset, words_of_part in ((0, document), (SEARCH_TEXT, search_text)):
            words += [numbers.setdefault(word, len(numbers)) for word in words_of_part]
            seqs.append(np.full(len(words_of_part), seq))
            places.append(np.arange(offset, offset + len(words_of_part)))
    if not words:
        return
    word_numbers = np.array(words, np.int64)
    order = np.argsort(word_numbers, kind="stable")  # stable, so that records and places stay sorted within a word
    owners, word_places = np.concatenate(seqs)[order], np.concatenate(places)[order]
    is_new = np.diff(word_numbers[order]).astype(bool) | np.diff(owners).astype(bool)
    starts = np.concatenate([[0], np.flatnonzero(is_new) + 1])  # of each pair of a word and a record
    often, holders = np.diff(np.append(starts, len(order))), owners[starts]
    n_holders = np.bincount(word_numbers[order][starts], minlength=len(numbers))
    to_holder, to_place = np.cumsum(n_holders), np.cumsum(np.bincount(word_numbers, minlength=len(numbers)))
    first_holder, first_place = 0, 0
    for word, last_holder, last_place in zip(numbers, to_holder.tolist(), to_place.tolist(), strict=True):
        span = slice(first_holder, last_holder)
        yield word, WordPlaces(holders[span], often[span], word_places[first_place:last_place])
        first_holder, first_place = last_holder, last_place


def merge(parts: Sequence[WordPlaces]) -> WordPlaces:
    """Merge postings of a word. A record in several parts gets the places of all of them."""
    if not parts:
        return empty_postings()
    if len(parts) == 1:
        return parts[0]
    sorted_parts = sorted(parts, key=lambda part: int(part.seqs[0]))
    if all(part.seqs[-1] < next_part.seqs[0] for part, next_part in pairwise(sorted_parts)):
        return WordPlaces(
            np.concatenate([part.seqs for part in sorted_parts]),
            np.concatenate([part.n_places for part in sorted_parts]),
            np.concatenate([part.places for part in sorted_parts]),
        )
    owners = np.concatenate([np.repeat(part.seqs, part.n_places) for part in parts])
    places = np.concatenate([part.places for part in parts])
    order = np.lexsort((places, owners))
    seqs, often = np.unique(owners[order], return_counts=True)
    return WordPlaces(seqs, often, places[order])


def split(postings: WordPlaces) -> Iterator[WordPlaces]:
    """Split the postings of a word into parts of at most `MAX_RECORDS` records, one for each row."""
    ends = np.cumsum(postings.n_places)
    for start in range(0, len(postings.seqs), MAX_RECORDS):
        stop = min(start + MAX_RECORDS, len(postings.seqs))
        first = int(ends[start - 1]) if start else 0
        yield WordPlaces(
            postings.seqs[start:stop], postings.n_places[start:stop], postings.places[first : int(ends[stop - 1])]
        )


def without(postings: WordPlaces, seq: int) -> WordPlaces:
    """Return the postings of a word without one record."""
    is_kept = postings.seqs != seq
    return WordPlaces(
        postings.seqs[is_kept], postings.n_places[is_kept], postings.places[np.repeat(is_kept, postings.n_places)]
    )


def postings_of(postings: WordPlaces) -> Postings:
    """Return a word's records with its frequency in each, weighted by field."""
    return Postings.of_occurrences(occurrences(postings))


def empty_postings() -> WordPlaces:
    """Return empty postings."""
    return WordPlaces(*(np.zeros(0, np.int64) for _ in range(3)))


def row_of(key: int, term: str, postings: WordPlaces) -> tuple[Any, ...]:
    """Return the row of a word, for the table of postings."""
    return key, term, int(postings.seqs[0]), int(postings.seqs[-1]), len(postings.seqs), *pack(postings)


def pack(postings: WordPlaces) -> tuple[bytes, bytes, bytes]:
    """Return the record numbers, frequencies and places of a word as bytes."""
    return (
        postings.seqs.astype("<i8").tobytes(),
        postings.n_places.astype("<u4").tobytes(),
        postings.places.astype("<i4").tobytes(),
    )


def unpack(seqs: bytes, often: bytes, places: bytes) -> WordPlaces:
    """Return the postings of a word from the bytes of a row."""
    return WordPlaces(
        np.frombuffer(seqs, "<i8").astype(np.int64),
        np.frombuffer(often, "<u4").astype(np.int64),
        np.frombuffer(places, "<i4").astype(np.int64),
    )


def find_phrase(words: Sequence[WordPlaces]) -> WordPlaces:
    """Return the postings of consecutive words, with the places of the last one."""
    if len(words) < 2:
        return words[0] if words else empty_postings()
    keys = occurrences(words[-1]) - (len(words) - 1)
    for number, word in enumerate(words[:-1]):
        keys = np.intersect1d(keys, occurrences(word) - number, assume_unique=True)
    seqs, starts = np.unique(keys >> 32, return_index=True)
    return WordPlaces(seqs, np.diff(np.append(starts, len(keys))), keys & (2**32 - 1))


def occurrences(postings: WordPlaces) -> Seqs:
    """Return each occurrence as one integer: the record number in the high 32 bits, the place in the low ones."""
    keys: Seqs = np.sort((np.repeat(postings.seqs, postings.n_places) << 32) | postings.places)
    return keys
