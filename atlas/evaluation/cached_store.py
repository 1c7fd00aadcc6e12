"""A store that caches search results, for runs that rank the same candidates repeatedly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.hits import Candidates, Selector
from atlas.memory.base.calibration.live import select_all
from atlas.memory.base.ranking import n_candidates
from atlas.memory.base.scoring import Values
from atlas.protocols.infra import Where
from atlas.storage.ledger_collection import LedgerCollection
from atlas.storage.records import Context

MAX_CANDIDATES = n_candidates(1)
"""Largest number of candidates of a cached query, which bounds memory use."""


class CachedStore(LedgerCollection):
    """A read-only view of a collection that caches the results of its searches."""

    def __init__(self, collection: LedgerCollection) -> None:
        super().__init__(collection.parts)
        self._candidates: dict[tuple[bool, str, int, str, bool, Context | None], tuple[Candidates, Values]] = {}
        self._rows: dict[str, dict[str, Any]] = {}

    def candidates(
        self,
        embedding: npt.ArrayLike | None,
        text: str | None,
        n: int,
        where: Where | None = None,
        *,
        with_buried: bool = True,
        context: Context | None = None,
        returned: Selector | None = None,
        compared: Selector | None = None,
    ) -> Candidates:
        """Return the candidates for a text. The cache key is the text, because it determines the vector.

        All candidates are returned, because their selection depends on the ranking weights.
        """
        if text is None or n > MAX_CANDIDATES:
            return super().candidates(
                embedding,
                text,
                n,
                where,
                with_buried=with_buried,
                context=context,
                returned=returned,
                compared=compared,
            )
        key = (embedding is not None, text, n, repr(where), with_buried, context)
        if key not in self._candidates:
            uncompared, compared_results = [
                super(CachedStore, self).candidates(
                    embedding, text, n, where, with_buried=with_buried, context=context, compared=predicate
                )
                for predicate in (None, select_all)
            ]
            self._candidates[key] = uncompared, np.array(compared_results.similarities)
        return _with_compared_similarities(*self._candidates[key], compared)

    def get(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the existing records, in the order of `ids`."""
        missing = [record_id for record_id in ids if record_id not in self._rows]
        if missing:
            self._rows.update({row["id"]: row for row in super().get(missing)})
        return [self._rows[record_id] for record_id in ids if record_id in self._rows]


def _with_compared_similarities(
    candidates: Candidates, compared_similarities: Values, compared: Selector | None
) -> Candidates:
    """Return the candidates with the similarities from word pieces for the candidates that `compared` selects.

    Args:
        compared_similarities: Similarities of all candidates from word pieces, or empty if the store has none.
        compared: Selects the candidates whose similarities are replaced, or None to replace none.
    """
    if compared is None or not len(compared_similarities):
        return candidates
    similarities = np.array(candidates.similarities)
    is_selected = compared(similarities, np.array(candidates.words) / (candidates.word_information or 1.0))
    return replace(candidates, similarities=np.where(is_selected, compared_similarities, similarities).tolist())
