"""Keyword search with BM25 scores.

Document frequencies and the average length are those of the live records of the collection. Words are scored here, from
FTS5's own tables, in the order of upper bounds of the scores, until no other record can be among the best. Bigrams,
prefixes and other scripts are scored by FTS5's `bm25`. Both compute the same scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from atlas.core.ranking.tuned import (
    COMMON,
    FEW_RECORDS,
    FUNCTION_WEIGHT,
    FUNCTION_WEIGHT_OF_SMALL,
    K1,
    MAX_POSTINGS,
    MAX_SEARCHED,
    MIN_TERMS,
    SMALL,
)
from atlas.core.words import FUNCTION_WORDS
from atlas.storage.records import NO_TIP, Matches, Position, Scope
from atlas.storage.sql.connection import Connection, Database, Totals
from atlas.storage.sql.meta import has_change, read_position
from atlas.storage.sql.words.word_cache import WordCache, WordTable
from atlas.storage.text.analyzer import Term, phrases, query_terms, typed_terms
from atlas.storage.text.bm25 import Postings, Scores
from atlas.storage.text.stemming import stem

NARROW = 0.1
"""Selectivity of a filter below which FTS5's `bm25` is faster than reading postings."""

_NAMING_NOTHING = FUNCTION_WORDS | {stem(word) for word in FUNCTION_WORDS}
"""Function words and their stems."""

MAX_COUNTS = 50_000
DRIFT = 0.01
"""Size of the cache of document frequencies, and their tolerated relative error."""


class SqlWords:
    """Keyword search over a ledger. It may be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: dict[tuple[str, Term], tuple[int, Position]] = {}
        """The document frequency of a term, with its revision. A lower bound for common terms."""

        self._tip = NO_TIP
        """The newest change when counts were last kept."""

        self._cache = WordCache()

    def find(
        self, collection: str, text: str, scope: Scope, n: int, also: Sequence[int] = (), *, as_typed: bool = False
    ) -> Matches:
        """Return the n best records by keywords, and the scores of some other records.

        Any text is literal. Ties are in the order of the records.

        Args:
            as_typed: Whether the last word is a prefix, and quoted phrases are required.
        """
        terms = [*query_terms(text), *(typed_terms(text) if as_typed else [])]
        with self._database.read() as connection:
            tables = connection.dialect.words
            name = tables.word_table(connection, collection) if terms else None
            if name is None or not (totals := tables.read_totals(connection, name)).n_records:
                return Matches(values={}, information=0.0)
            if as_typed and (quoted := phrases(text)):
                scope = _holding(connection, name, quoted, scope)
            table = WordTable(connection, name, collection, read_position(connection, collection))
            counts = self._counted(table, terms)
            searched = _searched(connection, name, counts, totals.n_records)
            values = self._values(table, list(searched), totals, scope, n, also)
        rarest = 0 if totals.n_records >= FEW_RECORDS else 1
        missing = [term for term, n_holding in counts.items() if not n_holding and not term.is_composed]
        weights = [
            _weight(n_holding, totals.n_records) * _share(term, totals.n_records)
            for term, n_holding in searched.items()
        ]
        weights += [_weight(rarest, totals.n_records) * _share(term, totals.n_records) for term in missing]
        return Matches(values=values, information=(K1 + 1) * math.fsum(weights))

    def merge_parts(self, collections: Sequence[str]) -> None:
        """Merge postings fragmented by small writes, to speed up searches."""
        with self._database.read() as connection:
            scattered = [name for name in collections if connection.dialect.words.is_scattered(connection, name)]
        for name in scattered:
            done: str | None = ""
            while done is not None:
                with self._database.write() as connection:
                    done = connection.dialect.words.merge_parts(connection, name, done)

    def _values(
        self,
        table: WordTable,
        terms: Sequence[Term],
        totals: Totals,
        scope: Scope,
        n: int,
        also: Sequence[int],
    ) -> dict[int, float]:
        """Return the BM25 scores of the n best records, best first, and of the records of `also` with any term."""
        is_narrow = scope.passing is not None and len(scope.passing) < NARROW * totals.n_records
        n_records = totals.n_records
        is_token = table.connection.dialect.words.is_token
        words = [term.text for term in terms if not (is_narrow or term.is_prefix) and is_token(term.text)]
        read = self._cache.postings(table, words)
        postings = [
            (part, _weight(len(part.seqs), n_records) * _share(Term(word), n_records)) for word, part in read.items()
        ]
        remaining = [term for term in terms if is_narrow or term.is_prefix or term.text not in read]
        other_values = _other_values(table.connection, table.name, remaining, scope, n_records) if remaining else {}
        scores = Scores(
            [_within(part, scope) for part, _ in postings],
            [weight for _, weight in postings],
            other_values,
            lambda seqs: self._cache.lengths(table, seqs) / totals.mean_length,
        )
        return scores.best(n) | scores.of(np.array(also, np.int64))

    def _counted(self, table: WordTable, terms: Sequence[Term]) -> dict[Term, int]:
        """Return the document frequency of each query term.

        It is a lower bound for terms in more than `COMMON` records.

        Each write changes the words of one record, so that a count is nearly exact for some writes.
        """
        counts = self._counts_of(table, [term for term in terms if not _is_pair(term)])
        common = {term.text for term, count in counts.items() if count > COMMON and not term.is_prefix}
        pairs = [term for term in terms if _is_pair(term) and common.isdisjoint(term.text.split())]
        counts |= self._counts_of(table, pairs)
        return {term: counts[term] for term in terms if term in counts}

    def _counts_of(self, table: WordTable, terms: Sequence[Term]) -> dict[Term, int]:
        now = table.at
        if now.tip != self._tip and not has_change(table.connection, self._tip):
            self._counts = {}  # a copy of the file was restored, and these counts are newer
        self._tip = now.tip
        cached = {term: self._counts.get((table.name, term)) for term in terms}
        counts = {term: count[0] for term, count in cached.items() if count and _still_holds(count[0], count[1], now)}
        counted = _counts(table.connection, table.name, [term for term in terms if term not in counts], 2 * COMMON)
        if len(self._counts) > MAX_COUNTS:
            self._counts = {}
        self._counts |= {(table.name, term): (count, now) for term, count in counted.items()}
        return counts | counted


def _still_holds(count: int, then: Position, now: Position) -> bool:
    """Return whether a cached count is still accurate enough.

    A term stays common for at least as many writes as its count exceeds `COMMON`.
    """
    most_off = max(DRIFT * count, count - COMMON - 1)
    return then.ledger_id == now.ledger_id and abs(now.revision - then.revision) <= most_off


def _searched(connection: Connection, table: str, counts: Mapping[Term, int], n_records: int) -> dict[Term, int]:
    """Return the terms to search for, with their document frequencies."""
    most = min(COMMON, n_records // 2)
    chosen = _rarest({term: n for term, n in counts.items() if 0 < n <= most})
    if len(chosen) < MIN_TERMS:
        common = _counts(connection, table, [term for term, n in counts.items() if n > most], n_records)
        chosen |= dict(sorted(common.items(), key=lambda item: item[1])[: MIN_TERMS - len(chosen)])
    return chosen


def _rarest(counts: Mapping[Term, int]) -> dict[Term, int]:
    """Return the rarest terms, up to the maximum of a search."""
    ordered = sorted(counts.items(), key=lambda item: item[1])[:MAX_SEARCHED]
    n_postings = np.cumsum([n for _, n in ordered])
    return dict(ordered[: max(MIN_TERMS, int(np.searchsorted(n_postings, MAX_POSTINGS, "right")))])


def _holding(connection: Connection, table: str, quoted: Sequence[Term], scope: Scope) -> Scope:
    """Return the part of a scope whose records contain all phrases."""
    holding = connection.dialect.words.read_holding(connection, table, quoted)
    if scope.passing is None:
        return Scope(passing=np.setdiff1d(holding, scope.hidden), hidden=scope.hidden)
    return Scope(passing=np.intersect1d(holding, scope.passing), hidden=scope.hidden)


def _within(postings: Postings, scope: Scope) -> Postings:
    if scope.passing is None and not len(scope.hidden):
        return postings
    named = scope.hidden if scope.passing is None else scope.passing
    is_named = np.isin(postings.seqs, named, assume_unique=True, kind="table")
    is_kept = ~is_named if scope.passing is None else is_named
    return Postings(postings.seqs[is_kept], postings.often[is_kept])


def _other_values(
    connection: Connection, table: str, terms: Sequence[Term], scope: Scope, n_records: int
) -> dict[int, float]:
    """Return the values of FTS5's `bm25` for terms, of function words only their share."""
    shares = {term: _share(term, n_records) for term in terms}
    values: dict[int, float] = {}
    for share in {*shares.values()}:
        of_share = [term for term in terms if shares[term] == share]
        for seq, value in connection.dialect.words.read_bm25(connection, table, of_share, scope):
            values[seq] = values.get(seq, 0.0) + share * value
    return values


def _counts(connection: Connection, table: str, terms: Sequence[Term], most: int) -> dict[Term, int]:
    """Return the document frequency of each term, counting up to `most`."""
    return dict(zip(terms, connection.dialect.words.count_holding(connection, table, terms, most), strict=True))


def _weight(n_holding: int, n_records: int) -> float:
    """Return the inverse document frequency, exactly as FTS5 computes it."""
    weight = math.log((n_records - n_holding + 0.5) / (n_holding + 0.5))
    return weight if weight > 0 else 1e-6


def _share(term: Term, n_records: int) -> float:
    """Return the factor on a term's weight."""
    if not _NAMING_NOTHING.issuperset(term.text.split()):
        return 1.0
    return FUNCTION_WEIGHT if n_records >= SMALL else FUNCTION_WEIGHT_OF_SMALL


def _is_pair(term: Term) -> bool:
    return " " in term.text
