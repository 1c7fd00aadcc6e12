"""Cache of postings and text lengths, updated by changes.

Each search first reads the changes by all processes since the last search. The postings of a word that changed records
contain, or contained before, are updated from the texts of these records when the word is next searched for. Reading
them again would take a microsecond for each occurrence.

Searches of several threads read different snapshots. An older one gets the postings without the records added since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from atlas.infra.locks import lock_of
from atlas.storage.records import Position, Seqs
from atlas.storage.sql.connection import Connection, IntegerArray
from atlas.storage.sql.meta import has_change
from atlas.storage.text.bm25 import POSITION_BITS, SEARCH_TEXT, Postings
from atlas.storage.text.bm25 import Numbers as Lengths

MAX_CACHED = 1_000_000
"""Maximum number of cached occurrences, 24 MB. Above it, the cache is cleared."""

MAX_CHANGED = 64
"""Maximum number of changed records whose texts update the cache. After more changes, words are read again."""

MAX_STEPS = 64
"""Number of latest changes of a table by which postings can be updated."""


@dataclass(frozen=True, slots=True)
class WordTable:
    """A collection's keyword index in one snapshot of the store."""

    connection: Connection
    name: str
    collection: str
    position: Position


PositionsByWord = Mapping[str, Sequence[int]]
"""Positions of each word in the texts of a record, keyed by word. Occurrences contain them as low bits."""


class WordCache:
    """A cache of postings, per process. Thread-safe, although two threads may read the same postings."""

    def __init__(self) -> None:
        self._tables: dict[str, _CachedTable] = {}
        self._n_occurrences = 0
        """Number of occurrences that were read since the cache was last emptied."""

        self._lock = lock_of(self)

    def postings(self, table: WordTable, words: Sequence[str]) -> dict[str, Postings]:
        """Return the postings of each word. See `read_postings`."""
        with self._lock:
            cached = self._cached_table(table)
            version = cached.version_of(table)
            current = {} if version is None else cached.postings(words, version)
        new_postings = table.connection.dialect.words.read_postings(
            table.connection, table.name, [word for word in words if word not in current]
        )
        if version is not None and new_postings:
            with self._lock:
                self._make_room(new_postings)
                cached.add(new_postings, version)
        all_postings = current | new_postings
        return {
            word: all_postings[word] for word in words if word in all_postings
        }  # in a fixed order, so that sums of scores are reproducible

    def lengths(self, table: WordTable, seqs: Seqs) -> Lengths:
        """Return the number of tokens of each record. See `read_lengths`."""
        with self._lock:
            cached = self._cached_table(table)
            version = cached.version_of(table)
            lengths = cached.lengths(seqs, version)
        is_missing = np.isnan(lengths)
        if is_missing.any():
            missing = seqs[is_missing]
            lengths[is_missing] = table.connection.dialect.words.read_lengths(table.connection, table.name, missing)
            with self._lock:
                cached.add_lengths(missing, lengths[is_missing], version)
        return lengths

    def _cached_table(self, table: WordTable) -> _CachedTable:
        if table.name not in self._tables:
            self._tables[table.name] = _CachedTable(table)
        return self._tables[table.name]

    def _make_room(self, new_postings: Mapping[str, Postings]) -> None:
        """Count new occurrences, and empty the cache if there are too many."""
        self._n_occurrences += sum(len(postings.occurrences) for postings in new_postings.values())
        if self._n_occurrences > MAX_CACHED:
            self._n_occurrences = 0
            for cached in self._tables.values():
                cached.forget_words()


@dataclass(frozen=True, slots=True)
class _Step:
    """A change of some records of a table."""

    words: Mapping[int, PositionsByWord]
    """The words of each changed record, keyed by record number. Empty for a deleted record."""

    last_seq: int
    """The newest record before the change."""

    @property
    def is_addition(self) -> bool:
        """True if all changed records are new."""
        return min(self.words) > self.last_seq


class _CachedTable:
    """Cached words and latest changes of one table. A snapshot's version is the number of changes before it."""

    def __init__(self, table: WordTable) -> None:
        self._reset(table)

    def _reset(self, table: WordTable) -> None:
        """Forget everything, and begin with version 0 at the position of a snapshot."""
        self._position = table.position
        self._last_seq = _read_last_seq(table)
        self._version = 0
        self._versions = {table.position: 0}
        """Versions of the latest snapshots, keyed by position."""

        self._steps: list[_Step] = []
        """The latest changes. The last one led to the current version."""

        self._lengths = np.zeros(0)
        """Lengths of records by number. NaN for lengths that were not read."""

        self.forget_words()

    def forget_words(self) -> None:
        """Drop all postings."""
        self._postings: dict[str, tuple[int, Postings]] = {}

    def version_of(self, table: WordTable) -> int | None:
        """Return the version of a snapshot, or None for an unknown snapshot that is older than the latest.

        A later snapshot becomes the latest.
        """
        if (version := self._versions.get(table.position)) is not None:
            return version
        changed = _read_changes_since(table, self._position)
        if changed is None:
            if (
                table.position.ledger_id == self._position.ledger_id
                and table.position.newest_change.number < self._position.newest_change.number
            ):
                return None
            self._reset(table)  # too many changes, or another history
            return 0
        if len(changed):
            self._apply_step(_Step(_read_words(table, changed), self._last_seq))
            self._last_seq = _read_last_seq(table)
        if len(self._versions) > MAX_STEPS:
            self._versions = {}
        self._position = table.position
        self._versions[table.position] = self._version
        return self._version

    def postings(self, words: Sequence[str], version: int) -> dict[str, Postings]:
        """Return the postings of words at a version, keyed by word. Words that are not cached are left out."""
        cached: dict[str, Postings] = {}
        for word in words:
            cached_version, postings = self._postings.get(word, (version, None))
            if postings is not None and cached_version < version and self._knows_steps_since(cached_version):
                postings = self._update_postings(word, postings, cached_version, version)
                self._postings[word] = version, postings
                cached[word] = postings
            elif postings is not None and cached_version == version:
                cached[word] = postings
            elif postings is not None and self._has_only_additions(version, cached_version):
                cached[word] = postings.truncate_after(self._steps_between(version, cached_version)[0].last_seq)
        return cached

    def _update_postings(self, word: str, postings: Postings, earlier_version: int, version: int) -> Postings:
        """Return the postings of a word at a version, given its postings at an earlier version."""
        words_by_seq: dict[int, PositionsByWord] = {}
        for step in self._steps_between(earlier_version, version):
            words_by_seq |= step.words
        seqs = sorted(words_by_seq)
        # An occurrence is the number of a record and a position in it, as one integer.
        occurrences = [
            (seq << POSITION_BITS) + position for seq in seqs for position in words_by_seq[seq].get(word, ())
        ]
        return postings.with_changes(np.array(seqs, np.int64), np.array(occurrences, np.int64))

    def add(self, postings: Mapping[str, Postings], version: int) -> None:
        """Cache the postings of words at a version, unless later ones are cached."""
        for word, postings_of_word in postings.items():
            cached_version, _ = self._postings.get(word, (-1, None))
            if cached_version < version <= self._version:
                self._postings[word] = version, postings_of_word

    def lengths(self, seqs: Seqs, version: int | None) -> Lengths:
        """Return the cached lengths of records, in tokens, or NaN where a length is not cached."""
        size = int(seqs.max(initial=-1)) + 1
        if version is None or not self._has_only_additions(version, self._version):
            return np.full(len(seqs), np.nan)
        if len(self._lengths) < size:
            self._lengths = np.concatenate([self._lengths, np.full(size - len(self._lengths), np.nan)])
        lengths: Lengths = self._lengths[seqs]
        return lengths

    def add_lengths(self, seqs: Seqs, lengths: Lengths, version: int | None) -> None:
        """Cache the lengths of records at a version, unless they may have changed since."""
        if version == self._version and seqs.max(initial=-1) < len(self._lengths):
            self._lengths[seqs] = lengths

    def _apply_step(self, step: _Step) -> None:
        """Add a change, which leads to the next version, and forget the lengths of the changed records."""
        self._version += 1
        self._steps = [*self._steps[1 - MAX_STEPS :], step]
        self._lengths[[seq for seq in step.words if seq < len(self._lengths)]] = np.nan

    def _knows_steps_since(self, version: int) -> bool:
        """Return whether all changes after a version are still in memory."""
        return self._version - version <= len(self._steps)

    def _steps_between(self, first: int, last: int) -> Sequence[_Step]:
        """Return the changes that led from one version to a later one, which must be in memory."""
        offset = len(self._steps) - self._version
        return self._steps[offset + first : offset + last]

    def _has_only_additions(self, first: int, last: int) -> bool:
        """Return whether all changes from one version to a later one are in memory, and only added records."""
        is_known = first <= last and self._knows_steps_since(first)
        return is_known and all(step.is_addition for step in self._steps_between(first, last))


def _read_changes_since(table: WordTable, position: Position) -> Seqs | None:
    """Return the numbers of the records that have changed since a position, or None if too many or unknown.

    The changes are unknown if the ledger was restored, or if the position is later than the reader's snapshot.
    """
    current = table.position
    if position == current:
        return np.zeros(0, np.int64)
    if position.ledger_id != current.ledger_id or position.revision > current.revision:
        return None
    if position.newest_change != current.newest_change and not has_change(table.connection, position.newest_change):
        return None
    rows = table.connection.execute(
        "SELECT seq FROM records WHERE collection = ? AND revision > ? LIMIT ?",
        (table.collection, position.revision, MAX_CHANGED + 1),
    ).fetchall()
    return np.array([seq for (seq,) in rows], np.int64) if len(rows) <= MAX_CHANGED else None


def _read_last_seq(table: WordTable) -> int:
    """Return the number of the newest record of the store."""
    return int(table.connection.execute("SELECT coalesce(max(seq), 0) FROM records").fetchone()[0])


def _read_words(table: WordTable, seqs: Seqs) -> dict[int, PositionsByWord]:
    """Return the words of each record, keyed by record number. A deleted record has no words."""
    texts = table.connection.execute(
        "SELECT seq, document, search_text FROM records WHERE deleted = 0 AND seq IN (SELECT value FROM json_each(?))",
        (IntegerArray(seqs.tolist()),),
    ).fetchall()
    words = {seq: _positions_by_word(document, search_text) for seq, document, search_text in texts}
    return {seq: words.get(seq, {}) for seq in seqs.tolist()}


@lru_cache(maxsize=4 * MAX_CHANGED)
def _positions_by_word(document: str, search_text: str) -> PositionsByWord:
    """Return the positions of each word of a record, keyed by word."""
    from atlas.storage.sql.words.tokens import tokenize_record  # only needed after a change

    positions: dict[str, list[int]] = {}
    for first, text in ((0, document), (SEARCH_TEXT, search_text)):
        for position, word in enumerate(tokenize_record(text), start=first):
            positions.setdefault(word, []).append(position)
    return positions
