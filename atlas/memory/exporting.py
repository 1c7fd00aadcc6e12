"""From a row of the store to what is exported of it, and back to what the store takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from atlas.core.exchange import Exported, ExportedExperience
from atlas.core.operations import Marks, Usage
from atlas.core.types import Vectors
from atlas.memory import extraction
from atlas.protocols.infra import WholeEmbedder
from atlas.storage.collection import Restored
from atlas.storage.stored import stored_instant


def to_exported(row: Mapping[str, Any], marks: Marks, usage: Usage, model: str = "") -> ExportedExperience:
    """All that is known of an experience, with its vectors where a model is named."""
    return ExportedExperience(
        experience=extraction.from_metadata(row["metadata"]),
        marks=marks,
        usage=usage,
        vectors=np.atleast_2d(row["embedding"]) if model else None,
        embedding_model=model,
        content_hash=row["metadata"]["content_hash"],
        stored_at=stored_at(row),
    )


def stored_at(row: Mapping[str, Any]) -> datetime | None:
    """When a row was first stored; None where its store does not say."""
    return stored_instant(row, "stored_at") if row.get("stored_at") else None


def to_restored(exported: Exported) -> Restored:
    """What a store keeps of it beside the record itself."""
    return Restored(
        marks=exported.marks,
        usage=exported.usage,
        stored_at=exported.stored_at.isoformat() if exported.stored_at else "",
        uses=() if isinstance(exported, ExportedExperience) else exported.uses,
    )


def usable_vectors(exported: Sequence[ExportedExperience], embedder: WholeEmbedder) -> dict[str, Vectors]:
    """The vectors, by text, that the embedder could have made; the other texts have to be embedded anew."""
    return {
        item.experience.embedding_text: item.vectors
        for item in exported
        if item.vectors is not None
        and item.embedding_model == embedder.model_name
        and item.vectors.shape[1] == embedder.dimension
        and item.vectors.any(axis=1).all()
    }
