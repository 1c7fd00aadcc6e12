"""Changing the embedding model of a store: every record, and every record in the history, is embedded again."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.core.types import Vectors
from atlas.embedding.chunking import encode_documents
from atlas.protocols.infra import Progress, WholeEmbedder
from atlas.storage.engine import LedgerEngine

BATCH = 256


def reembed(ledger: LedgerEngine, embedder: WholeEmbedder, on_progress: Progress | None = None) -> int:
    """Embed all texts of a store with another model, bind the store to it, and return how many texts there were.

    The vectors are made first and swapped in one transaction; records that others add meanwhile are embedded inside it.
    From then on, processes that still use the old model are refused with `EmbeddingModelMismatch`.
    """

    def embed(texts: Sequence[str]) -> dict[str, Vectors]:
        return dict(zip(texts, encode_documents(embedder, texts), strict=True))

    vectors: dict[str, Vectors] = {}
    texts = ledger.vectors.texts()
    for start in range(0, len(texts), BATCH):
        vectors |= embed(texts[start : start + BATCH])
        if on_progress:
            on_progress(len(vectors), len(texts))
    return ledger.vectors.replace(vectors, embed, model=embedder.model_name, dimension=embedder.dimension)
