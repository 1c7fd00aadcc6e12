"""The columns that a store takes of memories: only those that it lacks, and each text embedded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atlas.core.types import Vectors
from atlas.embedding.chunking import encode_documents
from atlas.protocols.infra import WholeEmbedder
from atlas.storage.collection import Collection


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory as a store keeps it."""

    id: str
    document: str
    """The text whose embedding finds it."""

    metadata: dict[str, Any]
    """Keys to filter and sort by, the whole as `content`, and a `content_hash` of what it says."""


def columns(
    entries: Sequence[Entry], store: Collection, embedder: WholeEmbedder, given: Mapping[str, Vectors]
) -> tuple[list[str], list[Vectors], list[dict[str, Any]], list[str]]:
    """Return ids, embeddings, metadatas and documents. Texts among `given` are not embedded."""
    documents = [entry.document for entry in entries]
    vectors = _embed(documents, store, embedder, given)
    ids, metadatas = [entry.id for entry in entries], [entry.metadata for entry in entries]
    return ids, [vectors[document] for document in documents], metadatas, documents


def unknown(entries: Sequence[Entry], store: Collection) -> list[Entry]:
    """Return those that say what no record of the store, and no earlier one of them, says."""
    new: dict[str, Entry] = {}
    for entry in entries:
        new.setdefault(entry.metadata["content_hash"], entry)
    known = store.known_hashes(list(new))
    return [entry for content_hash, entry in new.items() if content_hash not in known]


def first_vectors(ids: Sequence[str], store: Collection, dimension: int) -> Vectors:
    """Return the vector of each record as a whole, which is its first, zero where it has none.

    Shape (len(ids), dimension).
    """
    vectors = store.first_vectors(ids)
    missing = np.zeros(dimension, np.float32)
    return np.stack([vectors.get(record_id, missing) for record_id in ids]) if ids else missing[None][:0]


def _embed(
    documents: Sequence[str], store: Collection, embedder: WholeEmbedder, given: Mapping[str, Vectors]
) -> dict[str, Vectors]:
    """Return vectors by text: given ones, those the store has already, and the model's for the rest, each text once."""
    known = {**store.vectors_of([text for text in documents if text not in given]), **given}
    missing = [text for text in dict.fromkeys(documents) if text not in known]
    made = encode_documents(embedder, missing)
    return known | dict(zip(missing, made, strict=True))
