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

N_SPARE_HITS = 256
"""Additional hits to fetch, because buried ones are dropped. If too few remain, all visible records are searched."""

MAX_PREDECESSORS = 64
"""Number of predecessors of a record that are read if the current actor may see only some of them."""


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
        return _make_result(collection, [(seq, score / (1 + score)) for seq, score in matches.values.items()])


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
        keyword_hits = {**matches.values, **context_scores}
        unmeasured_seqs = np.array([seq for seq in keyword_hits if seq not in similarities], np.int64)
        if vector is None:
            similarities = dict.fromkeys(unmeasured_seqs.tolist(), 0.0)
        else:
            similarities |= collection.nearest.similarities(vector, unmeasured_seqs)
        if collection.late is not None and compared is not None and text and vector is not None:
            similarities |= collection.late.similarities(text, _apply_selector(similarities, matches, compared))
        if returned is not None:
            similarities = _apply_selector(similarities, matches, returned)
        return _make_candidates(collection, similarities, matches, context_scores)


def _context_scores(
    collection: CollectionParts, text: str, n: int, scope: Scope, matches: Matches, context: Context
) -> dict[int, float]:
    """Return the scores that records get from words of later records in their log, keyed by record number.

    Each of the n later records with the best keyword scores adds shares of its score to the records before it.
    """
    keyword_scores, seqs_in_scope = matches.values, _seqs_in_actor_scope(collection)
    if scope.passing is not None:  # the words of records that fail the filter count too
        unfiltered = Scope(passing=seqs_in_scope, hidden=scope.hidden)
        keyword_scores = collection.ledger.words.find(collection.name, text, unfiltered, n).values
    best_scores = dict(islice(keyword_scores.items(), n))
    context_scores: dict[int, float] = defaultdict(float)
    for seq, earlier_seqs in _read_predecessors(collection, list(best_scores), context, seqs_in_scope).items():
        shares = zip(earlier_seqs, context.shares, strict=False)  # the first records have fewer predecessors
        for earlier_seq, share in shares:
            context_scores[earlier_seq] += share * best_scores[seq]
    returned_seqs = np.setdiff1d(np.array([*context_scores], np.int64), scope.hidden)
    if scope.passing is not None:
        returned_seqs = np.intersect1d(returned_seqs, scope.passing)
    return {seq: context_scores[seq] for seq in returned_seqs.tolist()}


def _read_predecessors(
    collection: CollectionParts, seqs: Sequence[int], context: Context, seqs_in_scope: Seqs | None
) -> dict[int, list[int]]:
    """Return the records before each record in its log, nearest first.

    Args:
        seqs_in_scope: The records that the current actor may see, or None for all.
    """
    n_each = len(context.shares) if seqs_in_scope is None else MAX_PREDECESSORS
    predecessors = collection.ledger.columns.predecessors(collection.name, seqs, context.log_key, n_each)
    if seqs_in_scope is None:
        return predecessors
    allowed_seqs = set(seqs_in_scope.tolist())
    return {
        seq: [earlier_seq for earlier_seq in earlier_seqs if earlier_seq in allowed_seqs]
        for seq, earlier_seqs in predecessors.items()
    }


def _seqs_in_actor_scope(collection: CollectionParts) -> Seqs | None:
    """Return the sorted numbers of the records in the current actor's scope, or None if the actor has no scope."""
    scope_filter = restrict_to_actor_scope(None)
    return _make_scope(collection, scope_filter, True).passing if scope_filter else None


def _add_scores(collection: CollectionParts, text: str, matches: Matches, seqs: Sequence[int]) -> Matches:
    """Return keyword matches, with the keyword scores of further records added."""
    missing_seqs = np.array([seq for seq in seqs if seq not in matches.values], np.int64)
    if not len(missing_seqs):
        return matches
    scope = Scope(passing=np.sort(missing_seqs), hidden=_no_seqs())
    more_matches = collection.ledger.words.find(collection.name, text, scope, len(missing_seqs))
    return replace(matches, values={**matches.values, **more_matches.values})


def _apply_selector(similarities_by_seq: Mapping[int, float], matches: Matches, selector: Selector) -> dict[int, float]:
    """Return the similarities of the candidates that a selector picks, keyed by record number, in unchanged order."""
    similarities = np.array([*similarities_by_seq.values()], np.float64)
    words = np.array([matches.values.get(seq, 0.0) for seq in similarities_by_seq], np.float64)
    is_selected = selector(similarities, words / (matches.information or 1.0))
    return dict(compress(similarities_by_seq.items(), is_selected.tolist()))


def _find_nearest(collection: CollectionParts, vector: Vector, k: int, scope: Scope) -> Neighbours:
    """Return the k nearest records in a scope."""
    nearest = collection.nearest
    if scope.passing is not None:
        return nearest.query_subset(vector, k, scope.passing)
    if not len(scope.hidden):
        return nearest.query(vector, k)
    hidden = set(scope.hidden.tolist())
    hits = nearest.query(vector, k + min(len(hidden), N_SPARE_HITS))
    visible_hits = [hit for hit in hits if hit[0] not in hidden]
    if len(visible_hits) < k and len(hidden) > N_SPARE_HITS:
        visible_seqs = np.setdiff1d(collection.ledger.matching_seqs(collection.name), scope.hidden, assume_unique=True)
        visible_hits = nearest.query_subset(vector, k, visible_seqs)
    return visible_hits[:k]


def _make_scope(collection: CollectionParts, where: Where | None, with_buried: bool) -> Scope:
    """Return the records that a search may return, given its filter."""
    ledger, passing = collection.ledger, None
    hidden = ledger.marks.hidden_seqs(collection.name, actor_name(""), only_quarantined=with_buried)
    if collection.excluded_seqs is not None:
        hidden = sorted_union(hidden, collection.excluded_seqs)
    if where:
        passing = np.setdiff1d(ledger.matching_seqs(collection.name, where), hidden, assume_unique=True)
    return Scope(passing=passing, hidden=hidden)


def sorted_union(first: Seqs, second: Seqs) -> Seqs:
    """Return the union of two sorted sets. `np.union1d` would import numpy's masked arrays, which takes 50 ms."""
    return np.sort(np.concatenate((first, np.setdiff1d(second, first, assume_unique=True))))


def _make_result(collection: CollectionParts, neighbours: Neighbours) -> QueryResult:
    """Return a result with the records of hits that still exist."""
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
    """Return the candidates with their scores and metadata. Records that no longer exist are left out."""
    descriptions = collection.ledger.read_descriptions(list(similarities))
    live_seqs = [seq for seq in similarities if seq in descriptions]
    return Candidates(
        ids=[descriptions[seq].id for seq in live_seqs],
        similarities=[similarities[seq] for seq in live_seqs],
        words=[matches.values.get(seq, 0.0) for seq in live_seqs],
        metadatas=[descriptions[seq].metadata for seq in live_seqs],
        context=[context_scores.get(seq, 0.0) for seq in live_seqs],
        word_information=matches.information,
    )


def _no_seqs() -> Seqs:
    return np.zeros(0, np.int64)
