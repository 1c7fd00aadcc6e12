"""Cache of postings and text lengths, updated by changes.

Each search first reads the changes by all processes. The postings of a word that changed records contain, or contained
before, are updated from the texts of these records. Reading them again would take a microsecond for each occurrence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from atlas.storage.records import Position, Seqs
from atlas.storage.sql.connection import Connection, Numbers
from atlas.storage.sql.meta import has_change
from atlas.storage.text.bm25 import PLACE_BITS, SEARCH_TEXT, Postings
from atlas.storage.text.bm25 import Numbers as Lengths

MAX_CACHED = 1_000_000
"""Maximum number of cached occurrences, 24 MB. Above it, the cache is cleared."""

MAX_CHANGED = 64
"""Maximum number of changed records whose texts update the cache. After more changes, words are read again."""


@dataclass(frozen=True, slots=True)
class WordTable:
    """A collection's keyword index in one snapshot of the store."""

    connection: Connection
    name: str
    collection: str
    at: Position


class WordCache:
    """The postings that this process has read. Thread-safe, although two threads may read the same postings."""

    def __init__(self) -> None:
        self._postings: dict[tuple[str, str], tuple[Position, Postings]] = {}
        self._n_read = 0
        """Number of occurrences that were read since the cache was last emptied."""

        self._lengths: dict[str, tuple[Position, Lengths]] = {}
        """Lengths of records by number, by table. NaN for lengths that were not read."""

    def postings(self, table: WordTable, words: Sequence[str]) -> dict[str, Postings]:
        """Return the postings of each word. See `read_postings`."""
        current = self._get_current(table, words)
        new_postings = table.connection.dialect.words.read_postings(
            table.connection, table.name, [word for word in words if word not in current]
        )
        self._n_read += sum(len(postings.occurrences) for postings in new_postings.values())
        if self._n_read > MAX_CACHED:
            self._postings, self._n_read = {}, 0
        all_postings = current | new_postings
        self._postings |= {(table.name, word): (table.at, postings) for word, postings in all_postings.items()}
        return {
            word: all_postings[word] for word in words if word in all_postings
        }  # in a fixed order, so that sums are reproducible

    def lengths(self, table: WordTable, seqs: Seqs) -> Lengths:
        """Return how many tokens each of these records has. See `read_lengths`."""
        lengths = self._get_current_lengths(table, int(seqs.max(initial=-1)) + 1)
        missing = seqs[np.isnan(lengths[seqs])]
        if len(missing):
            lengths[missing] = table.connection.dialect.words.read_lengths(table.connection, table.name, missing)
        lengths_of_seqs: Lengths = lengths[seqs]
        return lengths_of_seqs

    def _get_current(self, table: WordTable, words: Sequence[str]) -> dict[str, Postings]:
        """Return the cached postings of words, updated by the changes since they were read."""
        by_position: dict[Position, dict[str, Postings]] = {}
        for word in words:
            if entry := self._postings.get((table.name, word)):
                position, postings = entry
                by_position.setdefault(position, {})[word] = postings
        current: dict[str, Postings] = {}
        for position, cached in by_position.items():
            changed = _read_changes_since(table, position)
            if changed is not None:
                current |= _update(table, cached, changed)
        return current

    def _get_current_lengths(self, table: WordTable, size: int) -> Lengths:
        """Return the cached lengths of the first `size` records, without changed ones."""
        at, lengths = self._lengths.get(table.name, (None, np.zeros(0)))
        if at != table.at:
            changed = None if at is None else _read_changes_since(table, at)
            lengths = np.zeros(0) if changed is None else lengths.copy()
            lengths[changed[changed < len(lengths)] if changed is not None else slice(0)] = np.nan
        if len(lengths) < size:
            lengths = np.concatenate([lengths, np.full(size - len(lengths), np.nan)])
        self._lengths[table.name] = table.at, lengths
        return lengths


def _read_changes_since(table: WordTable, position: Position) -> Seqs | None:
    """Return the records of a table that have changed since a position, or None if they are too many or unknown.

    The changes are unknown if the ledger was restored, or if the position is later than the reader's snapshot.
    """
    current = table.at
    if position == current:
        return np.zeros(0, np.int64)
    if position.ledger_id != current.ledger_id or position.revision > current.revision:
        return None
    if position.tip != current.tip and not has_change(table.connection, position.tip):
        return None
    rows = table.connection.execute(
        "SELECT seq FROM records WHERE collection = ? AND revision > ? LIMIT ?",
        (table.collection, position.revision, MAX_CHANGED + 1),
    ).fetchall()
    return np.array([seq for (seq,) in rows], np.int64) if len(rows) <= MAX_CHANGED else None


def _update(table: WordTable, cached: Mapping[str, Postings], changed: Seqs) -> Mapping[str, Postings]:
    """Return the postings of words after a change of some records."""
    if not len(changed):
        return cached
    texts = table.connection.execute(
        "SELECT seq, document, search_text FROM records WHERE deleted = 0 AND seq IN (SELECT value FROM json_each(?)) "
        "ORDER BY seq",
        (Numbers(changed.tolist()),),
    ).fetchall()
    # An occurrence is the number of a record and a position in it, as one integer.
    starts = [(seq << PLACE_BITS, _places(document, search_text)) for seq, document, search_text in texts]

    def occurrences(word: str) -> Seqs:
        return np.array([start + place for start, places in starts for place in places.get(word, ())], np.int64)

    return {word: postings.with_changes(changed, occurrences(word)) for word, postings in cached.items()}


@lru_cache(maxsize=4 * MAX_CHANGED)
def _places(document: str, search_text: str) -> Mapping[str, Sequence[int]]:
    """Return the positions of each word in the texts of a record, as the low bits of an occurrence."""
    from atlas.storage.sql.words.tokens import tokens_of_record  # only needed after a change

    places: dict[str, list[int]] = {}
    for first, text in ((0, document), (SEARCH_TEXT, search_text)):
        for place, word in enumerate(tokens_of_record(text), start=first):
            places.setdefault(word, []).append(place)
    return places
