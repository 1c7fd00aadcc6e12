"""Re-embedding of a store, including its history, with another model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from atlas.core.errors import StoreDamaged
from atlas.embedding.chunking import EncodedText, encode_texts
from atlas.embedding.late_interaction import Projection
from atlas.embedding.prompts import prompts_text
from atlas.protocols.infra import Progress, WholeEmbedder
from atlas.storage.engine import LedgerEngine
from atlas.storage.late_interaction import fitted_projection, read_projection, returns_tokens

BATCH = 256


def reembed(
    ledger: LedgerEngine,
    embedder: WholeEmbedder,
    on_progress: Progress | None = None,
    *,
    with_token_vectors: bool = True,
) -> int:
    """Embed all texts of a store with another model, bind the store to that model, and return the number of texts.

    The vectors are computed first and replaced in one transaction, which also embeds records added meanwhile.
    Afterwards processes with the old model raise `EmbeddingModelMismatch`.

    Args:
        with_token_vectors: Whether token vectors are stored too, if the model returns any.
    """
    projection = _choose_projection(ledger, embedder) if with_token_vectors else None

    def embed(texts: Sequence[str]) -> dict[str, EncodedText]:
        return dict(zip(texts, encode_texts(embedder, texts, projection), strict=True))

    vectors: dict[str, EncodedText] = {}
    texts = ledger.vectors.texts()
    for start in range(0, len(texts), BATCH):
        vectors |= embed(texts[start : start + BATCH])
        if on_progress:
            on_progress(len(vectors), len(texts))
    return ledger.vectors.replace(
        vectors,
        embed,
        model=embedder.model_name,
        dimension=embedder.dimension,
        prompts=prompts_text(embedder),
        projection=projection.as_text() if projection is not None else "",
    )


def _choose_projection(ledger: LedgerEngine, embedder: WholeEmbedder) -> Projection | None:
    """Return the stored projection if the model stays the same, else the model's own. None without token vectors."""
    if not returns_tokens(embedder):
        return None
    with suppress(StoreDamaged):
        model = embedder.model_name, embedder.dimension
        if ledger.model() == model and (projection := read_projection(ledger, embedder.dimension)):
            return projection
    return fitted_projection(embedder)
