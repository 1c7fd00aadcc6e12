"""Search by vector, by keywords or both, with or without buried records.

Records of other writers that wait for review are left out like buried ones. Records in quarantine are left out of every
search.

Each search reads one snapshot of the store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress, islice

import numpy as np

from atlas.core.hits import Candidates, QueryResult, Selector
from atlas.core.types import Vector
from atlas.infra.actor import actor_name, restrict_to_actor_scope
from atlas.protocols.infra import Where
from atlas.storage.collection_parts import CollectionParts
from atlas.storage.records import Context, Matches, Scope, Seqs, as_metadata
from atlas.storage.vectors.in_memory import Neighbours

SPARE = 256
"""Additional hits to fetch, because buried ones are dropped. If too few remain, all visible records are searched."""

MAX_BEFORE = 64
"""Number of predecessors of a record that are checked for the scope of the current actor."""


def find_by_vector(
    collection: CollectionParts, vector: Vector, k: int, where: Where | None = None, with_buried: bool = True
) -> QueryResult:
    """Return the k nearest records that pass a filter."""
    if k <= 0:
        return _make_result(collection, [])
    with collection.ledger.reading():
        return _make_result(
            collection, _find_nearest(collection, vector, k, _make_scope(collection, where, with_buried))
        )


def find_by_words(
    collection: CollectionParts,
    text: str,
    k: int,
    where: Where | None = None,
    with_buried: bool = True,
    as_typed: bool = False,
) -> QueryResult:
    """Return the k records with the highest keyword scores among those that pass a filter."""
    with collection.ledger.reading():
        scope = _make_scope(collection, where, with_buried)
        matches = collection.ledger.words.find(collection.name, text, scope, k, as_typed=as_typed)
        return _make_result(collection, [(seq, value / (1 + value)) for seq, value in matches.values.items()])


def find_candidates(
    collection: CollectionParts,
    vector: Vector | None,
    text: str | None,
    n: int,
    where: Where | None = None,
    with_buried: bool = True,
    context: Context | None = None,
    returned: Selector | None = None,
    compared: Selector | None = None,
) -> Candidates:
    """Return the n nearest records and the n best by keywords, each with both exact scores.

    Args:
        vector: None for a keyword search; all similarities are then 0.
        text: None for a vector search; all keyword scores are then 0.
        context: Names the key that groups records into logs. Records are then also found by words of their successors.
            Only the n unburied successors with the most distinctive words count, whether or not they pass the filter.
        returned: Selects the candidates to read and return. None for all.
        compared: Selects the candidates whose word pieces are compared with the query's, which changes their
            similarities. None to skip this comparison.
    """
    with collection.ledger.reading():
        scope = _make_scope(collection, where, with_buried)
        similarities = dict(_find_nearest(collection, vector, n, scope)) if vector is not None else {}
        matches = collection.ledger.words.find(collection.name, text or "", scope, n, extra_seqs=list(similarities))
        context_scores = _context_scores(collection, text, n, scope, matches, context) if context and text else {}
        if text and context_scores:
            matches = _add_scores(collection, text, matches, [seq for seq in context_scores if seq not in similarities])
        unmeasured = np.array(
            [seq for seq in {**matches.values, **context_scores} if seq not in similarities], np.int64
        )
        if vector is None:
            similarities = dict.fromkeys(unmeasured.tolist(), 0.0)
        else:
            similarities |= collection.nearest.similarities(vector, unmeasured)
        if collection.late is not None and compared is not None and text and vector is not None:
            similarities |= collection.late.similarities(text, _select(similarities, matches, compared))
        if returned is not None:
            similarities = _select(similarities, matches, returned)
        return _make_candidates(collection, similarities, matches, context_scores)


def _context_scores(
    collection: CollectionParts, text: str, n: int, scope: Scope, matches: Matches, context: Context
) -> dict[int, float]:
    """Return the scores that records get from words of later records in their log, keyed by record number."""
    values, in_scope = matches.values, _visible_seqs(collection)
    if scope.passing is not None:  # the words of records that fail the filter count too
        visible = Scope(passing=in_scope, hidden=scope.hidden)
        values = collection.ledger.words.find(collection.name, text, visible, n).values
    best = dict(islice(values.items(), n))
    n_before = len(context.shares) if in_scope is None else MAX_BEFORE
    predecessors = collection.ledger.columns.predecessors(collection.name, list(best), context.log_key, n_before)
    if in_scope is not None:
        scope_seqs = set(in_scope.tolist())
        predecessors = {
            seq: [earlier for earlier in seqs if earlier in scope_seqs] for seq, seqs in predecessors.items()
        }
    scores: dict[int, float] = defaultdict(float)
    for seq, earlier_seqs in predecessors.items():
        shares = zip(earlier_seqs, context.shares, strict=False)  # the first records have fewer predecessors
        for earlier, share in shares:
            scores[earlier] += share * best[seq]
    visible_seqs = np.setdiff1d(np.array([*scores], np.int64), scope.hidden)
    if scope.passing is not None:
        visible_seqs = np.intersect1d(visible_seqs, scope.passing)
    return {seq: scores[seq] for seq in visible_seqs.tolist()}


def _visible_seqs(collection: CollectionParts) -> Seqs | None:
    """Return the sorted numbers of the records in the current actor's scope, or None if the actor has no scope."""
    scope_filter = restrict_to_actor_scope(None)
    return _make_scope(collection, scope_filter, True).passing if scope_filter else None


def _add_scores(collection: CollectionParts, text: str, matches: Matches, seqs: Sequence[int]) -> Matches:
    """Return keyword matches, with the keyword scores of further records added."""
    missing = np.array([seq for seq in seqs if seq not in matches.values], np.int64)
    if not len(missing):
        return matches
    scope = Scope(passing=np.sort(missing), hidden=_no_seqs())
    more_matches = collection.ledger.words.find(collection.name, text, scope, len(missing))
    return replace(matches, values={**matches.values, **more_matches.values})


def _select(similarities_by_seq: Mapping[int, float], matches: Matches, selector: Selector) -> dict[int, float]:
    """Return the similarities of the candidates that a selector picks, keyed by record number, in unchanged order."""
    similarities = np.array([*similarities_by_seq.values()], np.float64)
    words = np.array([matches.values.get(seq, 0.0) for seq in similarities_by_seq], np.float64)
    is_selected = selector(similarities, words / (matches.information or 1.0))
    return dict(compress(similarities_by_seq.items(), is_selected.tolist()))


def _find_nearest(collection: CollectionParts, vector: Vector, k: int, scope: Scope) -> Neighbours:
    nearest = collection.nearest
    if scope.passing is not None:
        return nearest.query_subset(vector, k, scope.passing)
    if not len(scope.hidden):
        return nearest.query(vector, k)
    hidden = set(scope.hidden.tolist())
    hits = nearest.query(vector, k + min(len(hidden), SPARE))
    visible_hits = [hit for hit in hits if hit[0] not in hidden]
    if len(visible_hits) < k and len(hidden) > SPARE:
        visible = np.setdiff1d(collection.ledger.matching_seqs(collection.name), scope.hidden, assume_unique=True)
        visible_hits = nearest.query_subset(vector, k, visible)
    return visible_hits[:k]


def _make_scope(collection: CollectionParts, where: Where | None, with_buried: bool) -> Scope:
    ledger, passing = collection.ledger, None
    hidden = ledger.marks.hidden_seqs(collection.name, actor_name(""), only_quarantined=with_buried)
    if collection.masked is not None:
        hidden = sorted_union(hidden, collection.masked)
    if where:
        passing = np.setdiff1d(ledger.matching_seqs(collection.name, where), hidden, assume_unique=True)
    return Scope(passing=passing, hidden=hidden)


def sorted_union(first: Seqs, second: Seqs) -> Seqs:
    """Return the union of two sorted sets. `np.union1d` would import numpy's masked arrays, which takes 50 ms."""
    return np.sort(np.concatenate((first, np.setdiff1d(second, first, assume_unique=True))))


def _make_result(collection: CollectionParts, neighbours: Neighbours) -> QueryResult:
    records = collection.ledger.read_by_seq([seq for seq, _ in neighbours])
    live = [(records[seq], similarity) for seq, similarity in neighbours if seq in records]
    return QueryResult(
        ids=[record.id for record, _ in live],
        distances=[1.0 - similarity for _, similarity in live],
        metadatas=[as_metadata(record) for record, _ in live],
        documents=[record.document for record, _ in live],
    )


def _make_candidates(
    collection: CollectionParts,
    similarities: Mapping[int, float],
    matches: Matches,
    context_scores: Mapping[int, float],
) -> Candidates:
    described = collection.ledger.read_descriptions(list(similarities))
    live = [seq for seq in similarities if seq in described]
    return Candidates(
        ids=[described[seq].id for seq in live],
        similarities=[similarities[seq] for seq in live],
        words=[matches.values.get(seq, 0.0) for seq in live],
        metadatas=[described[seq].metadata for seq in live],
        context=[context_scores.get(seq, 0.0) for seq in live],
        word_information=matches.information,
    )


def _no_seqs() -> Seqs:
    return np.zeros(0, np.int64)
