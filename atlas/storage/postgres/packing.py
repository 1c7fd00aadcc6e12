"""Packing of postings (the records that contain a word, and its positions) into table rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from atlas.core.ranking.tuned import FIELD_WEIGHTS
from atlas.storage.records import Seqs
from atlas.storage.text.bm25 import Postings

SEARCH_TEXT = 2**30
"""Added to the places of the words of a search text, so that no phrase reaches from the document into it."""

LARGEST = 4_096
"""Records of a row at most."""


@dataclass(slots=True)
class WordPlaces:
    """The postings of one word: its records, and its positions in each."""

    seqs: Seqs
    often: Seqs
    places: Seqs


def by_term(records: Sequence[tuple[int, list[str], list[str]]]) -> Iterator[tuple[str, WordPlaces]]:
    """Yield each word of some records, with its postings."""
    numbers: dict[str, int] = {}
    words, seqs, places = [], [], []
    for seq, document, search_text in sorted(records):
        for beginning, words_of_part in ((0, document), (SEARCH_TEXT, search_text)):
            words += [numbers.setdefault(word, len(numbers)) for word in words_of_part]
            seqs.append(np.full(len(words_of_part), seq))
            places.append(np.arange(beginning, beginning + len(words_of_part)))
    if not words:
        return
    word_numbers = np.array(words, np.int64)
    order = np.argsort(word_numbers, kind="stable")  # those of a word stay in the order of records and places
    owners, placed = np.concatenate(seqs)[order], np.concatenate(places)[order]
    is_other = np.diff(word_numbers[order]).astype(bool) | np.diff(owners).astype(bool)
    starts = np.concatenate([[0], np.flatnonzero(is_other) + 1])  # of each record that contains a word
    often, holders = np.diff(np.append(starts, len(order))), owners[starts]
    n_holders = np.bincount(word_numbers[order][starts], minlength=len(numbers))
    to_holder, to_place = np.cumsum(n_holders), np.cumsum(np.bincount(word_numbers, minlength=len(numbers)))
    first_holder, first_place = 0, 0
    for word, holder, place in zip(numbers, to_holder.tolist(), to_place.tolist(), strict=True):
        every = slice(first_holder, holder)
        yield word, WordPlaces(holders[every], often[every], placed[first_place:place])
        first_holder, first_place = holder, place


def merged(parts: Sequence[WordPlaces]) -> WordPlaces:
    """Merge parts. A record of several parts gets the places of all of them."""
    if not parts:
        return no_one()
    if len(parts) == 1:
        return parts[0]
    in_order = sorted(parts, key=lambda part: int(part.seqs[0]))
    if all(part.seqs[-1] < other.seqs[0] for part, other in pairwise(in_order)):
        return WordPlaces(
            np.concatenate([part.seqs for part in in_order]),
            np.concatenate([part.often for part in in_order]),
            np.concatenate([part.places for part in in_order]),
        )
    owners = np.concatenate([np.repeat(part.seqs, part.often) for part in parts])
    places = np.concatenate([part.places for part in parts])
    order = np.lexsort((places, owners))
    seqs, often = np.unique(owners[order], return_counts=True)
    return WordPlaces(seqs, often, places[order])


def cut(part: WordPlaces) -> Iterator[WordPlaces]:
    """Yield parts that a row has room for."""
    ends = np.cumsum(part.often)
    for start in range(0, len(part.seqs), LARGEST):
        stop = min(start + LARGEST, len(part.seqs))
        first = int(ends[start - 1]) if start else 0
        yield WordPlaces(part.seqs[start:stop], part.often[start:stop], part.places[first : int(ends[stop - 1])])


def without(part: WordPlaces, seq: int) -> WordPlaces:
    """Return the postings of a word without one record."""
    is_kept = part.seqs != seq
    return WordPlaces(part.seqs[is_kept], part.often[is_kept], part.places[np.repeat(is_kept, part.often)])


def weighed(part: WordPlaces) -> Postings:
    """Return the records with a word, with its frequency weighted by field."""
    if not len(part.seqs):
        return Postings(part.seqs, np.zeros(0))
    weights = np.where(part.places >= SEARCH_TEXT, FIELD_WEIGHTS[1], FIELD_WEIGHTS[0])
    starts = np.cumsum(part.often) - part.often
    return Postings(part.seqs, np.add.reduceat(weights, starts))


def no_one() -> WordPlaces:
    """Return empty postings."""
    return WordPlaces(*(np.zeros(0, np.int64) for _ in range(3)))


def row_of(key: int, term: str, part: WordPlaces) -> tuple[Any, ...]:
    """Return the row of a word, for the table of postings."""
    return key, term, int(part.seqs[0]), int(part.seqs[-1]), len(part.seqs), *pack(part)


def pack(part: WordPlaces) -> tuple[bytes, bytes, bytes]:
    """Return numbers, counts and places as bytes."""
    return part.seqs.astype("<i8").tobytes(), part.often.astype("<u4").tobytes(), part.places.astype("<i4").tobytes()


def unpack(seqs: bytes, often: bytes, places: bytes) -> WordPlaces:
    """Return the postings of a word from the bytes of a row."""
    return WordPlaces(
        np.frombuffer(seqs, "<i8").astype(np.int64),
        np.frombuffer(often, "<u4").astype(np.int64),
        np.frombuffer(places, "<i4").astype(np.int64),
    )


def side_by_side(words: Sequence[WordPlaces]) -> WordPlaces:
    """Return the postings of consecutive words, with the places of the last one."""
    if len(words) < 2:
        return words[0] if words else no_one()
    keys = occurrences(words[-1]) - (len(words) - 1)
    for number, word in enumerate(words[:-1]):
        keys = np.intersect1d(keys, occurrences(word) - number, assume_unique=True)
    seqs, starts = np.unique(keys >> 32, return_index=True)
    return WordPlaces(seqs, np.diff(np.append(starts, len(keys))), keys & (2**32 - 1))


def occurrences(part: WordPlaces) -> Seqs:
    """Return each occurrence as one number, of its record and place."""
    keys: Seqs = np.sort((np.repeat(part.seqs, part.often) << 32) | part.places)
    return keys
