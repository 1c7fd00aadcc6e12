"""What a vector store takes of experiences: only those that it lacks, and each text embedded once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from atlas.core.types import Experience, Vectors
from atlas.infra.passages import encode_documents
from atlas.memory import extraction
from atlas.memory.backing import PlainStore
from atlas.protocols.infra import Embedder
from atlas.storage.vector_store import LedgerVectorStore

Backing = LedgerVectorStore | PlainStore


async def columns(
    experiences: Sequence[Experience], store: Backing, embedder: Embedder, given: Mapping[str, Vectors]
) -> tuple[list[str], list[Vectors], list[dict[str, Any]], list[str]]:
    """Ids, embeddings, metadatas and documents; texts among `given` are not embedded."""
    metadatas = [extraction.to_metadata(experience) for experience in experiences]
    documents = [experience.embedding_text for experience in experiences]
    vectors = await _embed(documents, store, embedder, given)
    return [e.id for e in experiences], [vectors[document] for document in documents], metadatas, documents


async def unknown(experiences: Sequence[Experience], store: Backing) -> list[Experience]:
    """Those that say what no record of the store, and no earlier one of them, says."""
    new: dict[str, Experience] = {}
    for experience in experiences:
        new.setdefault(extraction.content_hash(experience), experience)
    known = await store.known_hashes(list(new))
    return [experience for content_hash, experience in new.items() if content_hash not in known]


async def first_vectors(ids: Sequence[str], store: Backing, dimension: int) -> Vectors:
    """The vector of each record as a whole, which is its first, zero where it has none; shape (len(ids), dimension)."""
    vectors = await store.first_vectors(ids)
    missing = np.zeros(dimension, np.float32)
    return np.stack([vectors.get(record_id, missing) for record_id in ids]) if ids else missing[None][:0]


async def _embed(
    documents: Sequence[str], store: Backing, embedder: Embedder, given: Mapping[str, Vectors]
) -> dict[str, Vectors]:
    """Vectors by text: given ones, those the store has already, and the model's for the rest, each text once."""
    known = {**await store.vectors_of([text for text in documents if text not in given]), **given}
    missing = [text for text in dict.fromkeys(documents) if text not in known]
    made = await asyncio.to_thread(encode_documents, embedder, missing)
    return known | dict(zip(missing, made, strict=True))
