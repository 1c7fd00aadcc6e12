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

NARROW_SELECTIVITY = 0.1
"""Selectivity of a filter below which FTS5's `bm25` is faster than reading postings."""

_FUNCTION_WORDS = FUNCTION_WORDS | {stem(word) for word in FUNCTION_WORDS}
"""Function words and their stems."""

MAX_CACHED_FREQUENCIES = 50_000
"""Maximum size of the cache of document frequencies."""

MAX_RELATIVE_ERROR = 0.01
"""Tolerated relative error of a cached document frequency."""


class SqlWords:
    """Keyword search over a ledger, for use from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._frequencies: dict[tuple[str, Term], tuple[int, Position]] = {}
        """Document frequency of each term, and the position at which it was counted. A lower bound for common terms."""

        self._newest_change = NO_CHANGE
        """The newest change when frequencies were last cached."""

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
            table_name = tables.word_table(connection, collection) if terms else None
            if table_name is None or not (statistics := tables.read_statistics(connection, table_name)).n_records:
                return Matches(values={}, information=0.0)
            if as_typed and (phrases := find_phrases(text)):
                scope = _restrict_to_phrases(connection, table_name, phrases, scope)
            table = WordTable(connection, table_name, collection, read_position(connection, collection))
            is_narrow = scope.passing is not None and len(scope.passing) < NARROW_SELECTIVITY * statistics.n_records
            frequencies = self._get_frequencies(table, [term for term in terms if not _is_pair(term)])
            postings = {} if is_narrow else self._read_postings(table, _select_rarest(frequencies, COMMON))
            pairs = _select_pairs(terms, frequencies)
            postings |= _pair_postings(pairs, postings)
            frequencies |= self._get_pair_frequencies(table, pairs, postings)
            frequencies = {term: frequencies[term] for term in terms if term in frequencies}
            search_terms = _select_terms(connection, table_name, frequencies, statistics.n_records)
            if not is_narrow:
                postings |= self._read_postings(table, [term for term in search_terms if term not in postings])
            scores = self._score(table, list(search_terms), postings, statistics, scope, n, extra_seqs)
        return Matches(values=scores, information=_max_score(frequencies, search_terms, statistics.n_records))

    def merge_parts(self, collections: Sequence[str]) -> None:
        """Merge the parts of keyword tables that small writes have added, to speed up searches."""
        with self._database.read() as connection:
            fragmented = [name for name in collections if connection.dialect.words.is_fragmented(connection, name)]
        for name in fragmented:
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
        terms_with_postings = [term for term in terms if term in postings]
        other_terms = [term for term in terms if term not in postings]
        other_scores = (
            _score_by_engine(table.connection, table.name, other_terms, scope, n_records) if other_terms else {}
        )
        scores = Scores(
            [_restrict_postings(postings[term], scope) for term in terms_with_postings],
            [_term_weight(term, len(postings[term].seqs), n_records) for term in terms_with_postings],
            other_scores,
            lambda seqs: self._cache.lengths(table, seqs) / statistics.mean_length,
        )
        return scores.best(n) | scores.scores_of(np.array(extra_seqs, np.int64))

    def _read_postings(self, table: WordTable, terms: Iterable[Term]) -> dict[Term, Postings]:
        """Return the postings of the terms that are single words, without words that occur too often."""
        is_token = table.connection.dialect.words.is_token
        term_by_word = {term.text: term for term in terms if not term.is_prefix and is_token(term.text)}
        if not term_by_word:
            return {}
        postings_by_word = self._cache.postings(table, [*term_by_word])
        return {term_by_word[word]: postings for word, postings in postings_by_word.items()}

    def _get_pair_frequencies(
        self, table: WordTable, pairs: Sequence[Term], postings: Mapping[Term, Postings]
    ) -> dict[Term, int]:
        """Return the document frequencies of word pairs, from their postings if these were read."""
        frequencies = {pair: len(postings[pair].seqs) for pair in pairs if pair in postings}
        return frequencies | self._get_frequencies(table, [pair for pair in pairs if pair not in postings])

    def _get_frequencies(self, table: WordTable, terms: Sequence[Term]) -> dict[Term, int]:
        """Return the document frequencies of terms. Frequencies above `COMMON` are lower bounds.

        Cached frequencies are used for a few writes, because each write changes the words of one record only.
        """
        position = table.position
        if position.newest_change != self._newest_change and not has_change(table.connection, self._newest_change):
            self._frequencies = {}  # a copy of the file was restored, and these frequencies are newer
        self._newest_change = position.newest_change
        cached = {
            term: self._frequencies[table.name, term] for term in terms if (table.name, term) in self._frequencies
        }
        accurate = {
            term: count for term, (count, counted_at) in cached.items() if _is_accurate(count, counted_at, position)
        }
        terms_to_count = [term for term in terms if term not in accurate]
        new_frequencies = table.connection.dialect.words.count_records_with(
            table.connection, table.name, terms_to_count, 2 * COMMON
        )
        if len(self._frequencies) > MAX_CACHED_FREQUENCIES:
            self._frequencies = {}
        self._frequencies |= {(table.name, term): (count, position) for term, count in new_frequencies.items()}
        return accurate | new_frequencies


def _is_accurate(frequency: int, counted_at: Position, position: Position) -> bool:
    """Return whether a document frequency that was counted at another position is still accurate enough.

    A term stays common for at least as many writes as its frequency exceeds `COMMON`.
    """
    n_writes = abs(position.revision - counted_at.revision)
    max_writes = max(MAX_RELATIVE_ERROR * frequency, frequency - COMMON - 1)
    return counted_at.ledger_id == position.ledger_id and n_writes <= max_writes


def _select_pairs(terms: Sequence[Term], frequencies: Mapping[Term, int]) -> list[Term]:
    """Return the word pairs among the terms, without pairs that contain a common word."""
    common_words = {term.text for term, count in frequencies.items() if count > COMMON and not term.is_prefix}
    return [term for term in terms if _is_pair(term) and common_words.isdisjoint(term.text.split())]


def _pair_postings(pairs: Sequence[Term], postings: Mapping[Term, Postings]) -> dict[Term, Postings]:
    """Return the postings of the word pairs for whose words the postings are given."""
    postings_by_word = {term.text: postings_of_word for term, postings_of_word in postings.items()}
    postings_by_pair = {}
    for pair in pairs:
        left, _, right = pair.text.partition(" ")
        if left in postings_by_word and right in postings_by_word:
            postings_by_pair[pair] = postings_by_word[left].followed_by(postings_by_word[right])
    return postings_by_pair


def _select_terms(
    connection: Connection, table: str, frequencies: Mapping[Term, int], n_records: int
) -> dict[Term, int]:
    """Return the terms to search for and their document frequencies. Common terms are only used if others are few."""
    max_frequency = min(COMMON, n_records // 2)
    selected = _select_rarest(frequencies, max_frequency)
    if len(selected) < MIN_TERMS:
        common_terms = [term for term, count in frequencies.items() if count > max_frequency]
        exact = connection.dialect.words.count_records_with(connection, table, common_terms, n_records)
        selected |= dict(sorted(exact.items(), key=lambda item: item[1])[: MIN_TERMS - len(selected)])
    return selected


def _select_rarest(frequencies: Mapping[Term, int], max_frequency: int) -> dict[Term, int]:
    """Return the rarest terms for one search and their document frequencies, each at most `max_frequency`.

    There are at most `MAX_SEARCH_TERMS`, with at most `MAX_POSTINGS` postings together, but at least `MIN_TERMS`.
    """
    rare = [(term, count) for term, count in frequencies.items() if 0 < count <= max_frequency]
    rarest_first = sorted(rare, key=lambda item: item[1])[:MAX_SEARCH_TERMS]
    n_postings = np.cumsum([count for _, count in rarest_first])
    n_affordable = int(np.searchsorted(n_postings, MAX_POSTINGS, "right"))
    return dict(rarest_first[: max(MIN_TERMS, n_affordable)])


def _max_score(frequencies: Mapping[Term, int], search_terms: Mapping[Term, int], n_records: int) -> float:
    """Return an upper bound of a record's score: the sum of the weights of all terms, times the saturation limit.

    Terms that no record contains are included, unless other terms cover their parts.

    Args:
        frequencies: Document frequencies of all terms of the query.
        search_terms: Document frequencies of the terms that are searched for.
    """
    min_frequency = 0 if n_records >= FEW_RECORDS else 1
    missing_terms = [term for term, count in frequencies.items() if not count and not term.is_composed]
    weighted_terms = {**search_terms, **dict.fromkeys(missing_terms, min_frequency)}
    weights = [_term_weight(term, count, n_records) for term, count in weighted_terms.items()]
    return (K1 + 1) * math.fsum(weights)


def _restrict_to_phrases(connection: Connection, table: str, phrases: Sequence[Term], scope: Scope) -> Scope:
    """Return a scope restricted to records that contain all phrases."""
    matching_seqs = connection.dialect.words.read_records_with(connection, table, phrases)
    if scope.passing is None:
        return Scope(passing=np.setdiff1d(matching_seqs, scope.hidden), hidden=scope.hidden)
    return Scope(passing=np.intersect1d(matching_seqs, scope.passing), hidden=scope.hidden)


def _restrict_postings(postings: Postings, scope: Scope) -> Postings:
    """Return the postings of the records in a scope."""
    if scope.passing is None and not len(scope.hidden):
        return postings
    listed_seqs = scope.hidden if scope.passing is None else scope.passing
    is_listed = np.isin(postings.seqs, listed_seqs, assume_unique=True, kind="table")
    is_kept = ~is_listed if scope.passing is None else is_listed
    return postings.select(is_kept)


def _score_by_engine(
    connection: Connection, table: str, terms: Sequence[Term], scope: Scope, n_records: int
) -> dict[int, float]:
    """Return the BM25 scores that the database engine computes for terms, multiplied by the factor of each term."""
    factors = {term: _term_factor(term, n_records) for term in terms}
    scores: dict[int, float] = {}
    for factor in {*factors.values()}:
        terms_with_factor = [term for term in terms if factors[term] == factor]
        for seq, score in connection.dialect.words.read_bm25(connection, table, terms_with_factor, scope):
            scores[seq] = scores.get(seq, 0.0) + factor * score
    return scores


def _term_weight(term: Term, document_frequency: int, n_records: int) -> float:
    """Return a term's weight: its inverse document frequency, exactly as FTS5 computes it, times its factor."""
    inverse_frequency = math.log((n_records - document_frequency + 0.5) / (document_frequency + 0.5))
    return (inverse_frequency if inverse_frequency > 0 else 1e-6) * _term_factor(term, n_records)


def _term_factor(term: Term, n_records: int) -> float:
    """Return the factor by which a term's weight is multiplied. It is below 1 for function words only."""
    if not _FUNCTION_WORDS.issuperset(term.text.split()):
        return 1.0
    return FUNCTION_WEIGHT if n_records >= SMALL else FUNCTION_WEIGHT_OF_SMALL


def _is_pair(term: Term) -> bool:
    """Return whether a term consists of two adjacent words."""
    return " " in term.text
