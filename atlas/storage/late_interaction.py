"""Late interaction over a store: token vectors are packed when records are written, and compared with a query's."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol, TypeGuard

from atlas.core.errors import PlanOutdated, StoreDamaged
from atlas.core.types import Vectors
from atlas.embedding.late_interaction import Projection, TokenVectors, fit_projection, parse_projection
from atlas.embedding.plain import WITH_TOKENS
from atlas.infra.duck_typing import get_member, has_member
from atlas.infra.locks import lock_of
from atlas.protocols.infra import WholeEmbedder
from atlas.storage.engine import LedgerEngine
from atlas.storage.records import PROJECTION

logger = logging.getLogger(__name__)


_UNREADABLE = "cannot be read; compute them again: atlas reembed. Or search without them: ATLAS_LATE_INTERACTION=0"


class TokenEmbedder(WholeEmbedder, Protocol):
    """An embedding model that also returns token vectors."""

    def encode_with_tokens(self, texts: list[str]) -> tuple[Vectors, list[TokenVectors]]:
        """Return the vectors of documents, shape (n, dim), and their token vectors."""

    def query_tokens(self, text: str) -> TokenVectors:
        """Return the token vectors of a query."""


def returns_tokens(embedder: WholeEmbedder) -> TypeGuard[TokenEmbedder]:
    """Return whether an embedding model returns token vectors."""
    return all(has_member(embedder, name) for name in WITH_TOKENS)


class LateInteraction:
    """Similarities by token vectors, for one store and embedding model."""

    def __init__(self, ledger: LedgerEngine, embedder: TokenEmbedder) -> None:
        self._ledger = ledger
        self._embedder = embedder
        self._cached: tuple[str, Projection] | None = None
        """Id of the ledger, and the ledger's projection."""

        self._is_unusable = False
        """True once the model has given no token vectors, or useless ones."""

        self._lock = lock_of(self)

    def projection_for_new_texts(self) -> Projection | None:
        """Return the projection that packs new token vectors, or None if the store has none or is read-only.

        The first writer fits the projection that all later writers use. If the stored projection is damaged, texts are
        written without token vectors, and searches report the damage.
        """
        try:
            projection = self._projection()
        except StoreDamaged as error:
            logger.warning("texts are written without token vectors: %s", error)
            return None
        if projection is None and not self._ledger.read_only:
            projection = self._fit()
        return projection

    def is_available(self) -> bool:
        """Return whether the model returns useful token vectors, so that missing ones can be computed."""
        if not len(self._embedder.query_tokens("word").ids):
            return False
        return self._projection() is not None or fitted_projection(self._embedder) is not None

    def similarities(self, query: str, cosines: Mapping[int, float]) -> dict[int, float]:
        """Return the query's similarity to each record with token vectors, keyed by record number.

        Args:
            cosines: Cosines of the pooled vectors of the query and the records.
        """
        projection = self._projection()
        if projection is None:
            return {}
        query_tokens = projection.project(self._embedder.query_tokens(query))
        packed = self._ledger.token_vectors.read_by_seq(list(cosines)) if len(query_tokens) else {}
        if not packed:
            return {}
        try:
            token_similarities = projection.similarities(
                query_tokens, list(packed.values()), [cosines[seq] for seq in packed]
            )
        except ValueError as error:
            raise StoreDamaged(f"the stored token vectors {_UNREADABLE}") from error
        return dict(zip(packed, token_similarities.tolist(), strict=True))

    def _projection(self) -> Projection | None:
        """Return the store's projection, or None if there is none yet."""
        ledger_id = self._ledger.moment().ledger_id
        cached = self._cached
        if cached is None or cached[0] != ledger_id:
            projection = read_projection(self._ledger, self._embedder.dimension)
            self._cached = None if projection is None else (ledger_id, projection)
            return projection
        return cached[1]

    def _fit(self) -> Projection | None:
        """Fit the projection of the model, and store it unless another process has stored one."""
        with self._lock:
            if self._is_unusable:
                return None
            if (projection := self._projection()) is not None:
                return projection
            projection = fitted_projection(self._embedder)
            if projection is None:
                self._is_unusable = True
                return None
            try:
                self._ledger.notes.write({PROJECTION: projection.as_text()}, expected={PROJECTION: None})
            except PlanOutdated:
                logger.debug("another process has found the projection of the token vectors")
        return self._projection()


def read_projection(ledger: LedgerEngine, dimension: int) -> Projection | None:
    """Return the stored projection, or None.

    Args:
        dimension: Dimension of the model's vectors.

    Raises:
        StoreDamaged: The projection is malformed, or has another dimension.
    """
    text = ledger.notes.read(PROJECTION).get("")
    try:
        return parse_projection(text, dimension) if text else None
    except ValueError as error:
        raise StoreDamaged(f"the stored projection of token vectors {_UNREADABLE}") from error


def fitted_projection(embedder: TokenEmbedder) -> Projection | None:
    """Return the projection of a model, or None if the model has no useful token vectors.

    The projection depends only on the model, so an embedder may provide it by a method `token_projection`.
    """
    supply = get_member(embedder, "token_projection")
    projection: Projection | None = supply() if supply else fit_projection(embedder.encode_with_tokens)
    return projection
