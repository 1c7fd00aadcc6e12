"""Keyword search with BM25 scores.

Document frequencies and the average length are those of the live records of the collection. Words and their bigrams are
scored here, from FTS5's own tables, in the order of upper bounds of the scores, until no other record can be among the
best. Common words, prefixes and other scripts are scored by FTS5's `bm25`. Both compute the same scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from atlas.core.ranking.tuned import (
    COMMON,
    FEW_RECORDS,
    FUNCTION_WEIGHT,
    FUNCTION_WEIGHT_OF_SMALL,
    K1,
    MAX_POSTINGS,
    MAX_SEARCH_TERMS,
    MIN_TERMS,
    SMALL,
)
from atlas.core.words import FUNCTION_WORDS
from atlas.storage.records import NO_CHANGE, Matches, Position, Scope
from atlas.storage.sql.connection import CollectionStatistics, Connection, Database
from atlas.storage.sql.meta import has_change, read_position
from atlas.storage.sql.words.word_cache import WordCache, WordTable
from atlas.storage.text.analyzer import Term, find_phrases, prefix_terms, query_terms
from atlas.storage.text.bm25 import Postings, Scores
from atlas.storage.text.stemming import stem

NARROW = 0.1
"""Selectivity of a filter below which FTS5's `bm25` is faster than reading postings."""

_FUNCTION_WORDS = FUNCTION_WORDS | {stem(word) for word in FUNCTION_WORDS}
"""Function words and their stems."""

MAX_COUNTS = 50_000
DRIFT = 0.01
"""Maximum size of the cache of document frequencies, and their tolerated relative error."""


class SqlWords:
    """Keyword search over a ledger, for use from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: dict[tuple[str, Term], tuple[int, Position]] = {}
        """Document frequency of each term and the position of the count. A lower bound for common terms."""

        self._newest_change = NO_CHANGE
        """The newest change when counts were last cached."""

        self._cache = WordCache()

    def find(
        self,
        collection: str,
        text: str,
        scope: Scope,
        n: int,
        extra_seqs: Sequence[int] = (),
        *,
        as_typed: bool = False,
    ) -> Matches:
        """Return the keyword scores of the n best records, and of the records with the numbers `extra_seqs`.

        The text has no query syntax, except as `as_typed` says. Ties are in the order of the records.

        Args:
            as_typed: Whether the last word is a prefix, and quoted phrases are required.
        """
        terms = [*query_terms(text), *(prefix_terms(text) if as_typed else [])]
        with self._database.read() as connection:
            tables = connection.dialect.words
            name = tables.word_table(connection, collection) if terms else None
            if name is None or not (statistics := tables.read_statistics(connection, name)).n_records:
                return Matches(values={}, information=0.0)
            if as_typed and (quoted := find_phrases(text)):
                scope = _restrict_to_phrases(connection, name, quoted, scope)
            table = WordTable(connection, name, collection, read_position(connection, collection))
            is_narrow = scope.passing is not None and len(scope.passing) < NARROW * statistics.n_records
            counts = self._get_counts(table, [term for term in terms if not _is_pair(term)])
            postings = {} if is_narrow else self._read_postings(table, _select_rarest(counts, COMMON))
            counts = self._add_pairs(table, terms, counts, postings)
            search_terms = _select_terms(connection, name, counts, statistics.n_records)
            if not is_narrow:
                postings |= self._read_postings(table, [term for term in search_terms if term not in postings])
            values = self._score(table, list(search_terms), postings, statistics, scope, n, extra_seqs)
        min_count = 0 if statistics.n_records >= FEW_RECORDS else 1
        missing = [term for term, count in counts.items() if not count and not term.is_composed]
        frequencies = {**search_terms, **dict.fromkeys(missing, min_count)}
        weights = [_term_weight(term, count, statistics.n_records) for term, count in frequencies.items()]
        return Matches(values=values, information=(K1 + 1) * math.fsum(weights))

    def merge_parts(self, collections: Sequence[str]) -> None:
        """Merge the parts of keyword tables that small writes have added, to speed up searches."""
        with self._database.read() as connection:
            scattered = [name for name in collections if connection.dialect.words.is_fragmented(connection, name)]
        for name in scattered:
            last_word: str | None = ""
            while last_word is not None:
                with self._database.write() as connection:
                    last_word = connection.dialect.words.merge_parts(connection, name, last_word)

    def _score(
        self,
        table: WordTable,
        terms: Sequence[Term],
        postings: Mapping[Term, Postings],
        statistics: CollectionStatistics,
        scope: Scope,
        n: int,
        extra_seqs: Sequence[int],
    ) -> dict[int, float]:
        """Return the BM25 scores of the n best records, best first, and of the `extra_seqs` with any term."""
        n_records = statistics.n_records
        read_terms = [term for term in terms if term in postings]
        remaining = [term for term in terms if term not in postings]
        other_values = _score_by_fts5(table.connection, table.name, remaining, scope, n_records) if remaining else {}
        scores = Scores(
            [_restrict_postings(postings[term], scope) for term in read_terms],
            [_term_weight(term, len(postings[term].seqs), n_records) for term in read_terms],
            other_values,
            lambda seqs: self._cache.lengths(table, seqs) / statistics.mean_length,
        )
        return scores.best(n) | scores.select(np.array(extra_seqs, np.int64))

    def _read_postings(self, table: WordTable, terms: Iterable[Term]) -> dict[Term, Postings]:
        """Return the postings of the terms that are single words, without words that occur too often."""
        is_token = table.connection.dialect.words.is_token
        words = {term.text: term for term in terms if not term.is_prefix and is_token(term.text)}
        if not words:
            return {}
        return {words[word]: part for word, part in self._cache.postings(table, [*words]).items()}

    def _add_pairs(
        self, table: WordTable, terms: Sequence[Term], counts: Mapping[Term, int], postings: dict[Term, Postings]
    ) -> dict[Term, int]:
        """Add the postings of word pairs to `postings`, and return the document frequencies of words and pairs.

        Pairs with a common word are left out. Frequencies above `COMMON` are lower bounds. Cached counts are used for a
        few writes, because each write changes the words of one record only.
        """
        common = {term.text for term, count in counts.items() if count > COMMON and not term.is_prefix}
        pairs = [term for term in terms if _is_pair(term) and common.isdisjoint(term.text.split())]
        words = {term.text: part for term, part in postings.items()}
        for pair in pairs:
            left, _, right = pair.text.partition(" ")
            if left in words and right in words:
                postings[pair] = words[left].followed_by(words[right])
        all_counts = {
            **counts,
            **{pair: len(postings[pair].seqs) for pair in pairs if pair in postings},
            **self._get_counts(table, [pair for pair in pairs if pair not in postings]),
        }
        return {term: all_counts[term] for term in terms if term in all_counts}

    def _get_counts(self, table: WordTable, terms: Sequence[Term]) -> dict[Term, int]:
        position = table.at
        if position.newest_change != self._newest_change and not has_change(table.connection, self._newest_change):
            self._counts = {}  # a copy of the file was restored, and these counts are newer
        self._newest_change = position.newest_change
        cached = {term: self._counts.get((table.name, term)) for term in terms}
        counts = {
            term: count[0] for term, count in cached.items() if count and _is_accurate(count[0], count[1], position)
        }
        unknown = [term for term in terms if term not in counts]
        new_counts = table.connection.dialect.words.count_records_with(
            table.connection, table.name, unknown, 2 * COMMON
        )
        if len(self._counts) > MAX_COUNTS:
            self._counts = {}
        self._counts |= {(table.name, term): (count, position) for term, count in new_counts.items()}
        return counts | new_counts


def _is_accurate(count: int, counted_at: Position, now: Position) -> bool:
    """Return whether a cached count is still accurate enough.

    A term stays common for at least as many writes as its count exceeds `COMMON`.
    """
    tolerance = max(DRIFT * count, count - COMMON - 1)
    return counted_at.ledger_id == now.ledger_id and abs(now.revision - counted_at.revision) <= tolerance


def _select_terms(connection: Connection, table: str, counts: Mapping[Term, int], n_records: int) -> dict[Term, int]:
    """Return the terms to search for and their document frequencies. Common terms only count if others are few."""
    max_count = min(COMMON, n_records // 2)
    selected = _select_rarest(counts, max_count)
    if len(selected) < MIN_TERMS:
        common = [term for term, n in counts.items() if n > max_count]
        exact = connection.dialect.words.count_records_with(connection, table, common, n_records)
        selected |= dict(sorted(exact.items(), key=lambda item: item[1])[: MIN_TERMS - len(selected)])
    return selected


def _select_rarest(counts: Mapping[Term, int], max_count: int) -> dict[Term, int]:
    """Return the rarest terms for one search and their document frequencies, each at most `max_count`."""
    rare = [(term, n) for term, n in counts.items() if 0 < n <= max_count]
    ordered = sorted(rare, key=lambda item: item[1])[:MAX_SEARCH_TERMS]
    n_postings = np.cumsum([n for _, n in ordered])
    return dict(ordered[: max(MIN_TERMS, int(np.searchsorted(n_postings, MAX_POSTINGS, "right")))])


def _restrict_to_phrases(connection: Connection, table: str, quoted: Sequence[Term], scope: Scope) -> Scope:
    """Return a scope restricted to records that contain all phrases."""
    matching_seqs = connection.dialect.words.read_records_with(connection, table, quoted)
    if scope.passing is None:
        return Scope(passing=np.setdiff1d(matching_seqs, scope.hidden), hidden=scope.hidden)
    return Scope(passing=np.intersect1d(matching_seqs, scope.passing), hidden=scope.hidden)


def _restrict_postings(postings: Postings, scope: Scope) -> Postings:
    if scope.passing is None and not len(scope.hidden):
        return postings
    listed_seqs = scope.hidden if scope.passing is None else scope.passing
    is_listed = np.isin(postings.seqs, listed_seqs, assume_unique=True, kind="table")
    is_kept = ~is_listed if scope.passing is None else is_listed
    return postings.select(is_kept)


def _score_by_fts5(
    connection: Connection, table: str, terms: Sequence[Term], scope: Scope, n_records: int
) -> dict[int, float]:
    """Return the scores of FTS5's `bm25` for terms, multiplied by the factor of each term."""
    shares = {term: _term_factor(term, n_records) for term in terms}
    values: dict[int, float] = {}
    for share in {*shares.values()}:
        terms_of_share = [term for term in terms if shares[term] == share]
        for seq, value in connection.dialect.words.read_bm25(connection, table, terms_of_share, scope):
            values[seq] = values.get(seq, 0.0) + share * value
    return values


def _term_weight(term: Term, document_frequency: int, n_records: int) -> float:
    """Return a term's weight: its inverse document frequency, exactly as FTS5 computes it, times its factor."""
    inverse_frequency = math.log((n_records - document_frequency + 0.5) / (document_frequency + 0.5))
    return (inverse_frequency if inverse_frequency > 0 else 1e-6) * _term_factor(term, n_records)


def _term_factor(term: Term, n_records: int) -> float:
    """Return the factor on a term's weight."""
    if not _FUNCTION_WORDS.issuperset(term.text.split()):
        return 1.0
    return FUNCTION_WEIGHT if n_records >= SMALL else FUNCTION_WEIGHT_OF_SMALL


def _is_pair(term: Term) -> bool:
    return " " in term.text
