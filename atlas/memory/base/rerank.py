"""Reranking of the first hits. The scores of the reranker become a bounded signal of the rank value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from atlas.core.hits import Hit
from atlas.core.ranking.tuned import N_RERANKED, RERANKER_WEIGHT
from atlas.infra.bridge import call
from atlas.protocols.strategies import Reranker


@dataclass(frozen=True, slots=True)
class RerankedHits:
    """Hits in the reranked order or, if the reranker failed, in the old order with the error."""

    hits: list[Hit[str]]
    problems: tuple[str, ...] = ()


def rerank(hits: Sequence[Hit[str]], query: str, documents: Mapping[str, str], reranker: Reranker) -> RerankedHits:
    """Return the hits sorted by rank value, after adding a signal `reranker` to the first `N_RERANKED` ones.

    No hit is added, and hits that were not reranked stay below reranked hits.

    Args:
        hits: Best first.
        documents: Texts of the hits, keyed by the hit's item.
    """
    hits_to_rerank = [hit for hit in hits[:N_RERANKED] if hit.item in documents]
    if not hits_to_rerank:
        return RerankedHits(list(hits))
    texts = [documents[hit.item] for hit in hits_to_rerank]
    try:
        scores = [float(score) for score in call(reranker.rerank, query, texts)]
    except Exception as error:  # noqa: BLE001 - the query is answered without it, and `problems` has the error
        return RerankedHits(list(hits), (f"the reranker failed, and was skipped: {_error_text(error)}",))
    if problem := _score_problem(scores, len(hits_to_rerank)):
        return RerankedHits(list(hits), (f"the reranker's scores were ignored: {problem}",))
    scored_hits = {
        hit.item: replace(hit, signals={**hit.signals, "reranker": RERANKER_WEIGHT * score})
        for hit, score in zip(hits_to_rerank, scores, strict=True)
    }
    all_hits = [scored_hits.get(hit.item, hit) for hit in hits]
    return RerankedHits(sorted(all_hits, key=lambda hit: -hit.rank_value))


def _score_problem(scores: Sequence[float], n_expected: int) -> str:
    if len(scores) != n_expected:
        return f"expected {n_expected} scores, but got {len(scores)}"
    out_of_range = [score for score in scores if not (math.isfinite(score) and 0 <= score <= 1)]
    return f"expected scores in [0, 1], but got {out_of_range[0]!r}" if out_of_range else ""


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
