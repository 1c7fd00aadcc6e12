"""Export of experiences, and reuse of their vectors in an import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from atlas.core.codec import decode_experience
from atlas.core.exchange import ExportedExperience
from atlas.core.operations import Marks, Usage, Use
from atlas.core.types import Vectors
from atlas.memory.base.export import stored_at
from atlas.protocols.infra import WholeEmbedder
from atlas.storage.damage import decode_content


def to_exported(
    row: Mapping[str, Any], marks: Marks, usage: Usage, uses: Sequence[Use] = (), model: str = ""
) -> ExportedExperience:
    """Return the experience of a row in export form. The vectors are exported too if their model is given."""
    return ExportedExperience(
        experience=decode_content(decode_experience, row["metadata"]),
        marks=marks,
        usage=usage,
        uses=tuple(replace(use, record_id=row["id"]) for use in uses),
        vectors=np.atleast_2d(row["embedding"]) if model else None,
        embedding_model=model,
        content_hash=row["metadata"]["content_hash"],
        stored_at=stored_at(row),
    )


def reusable_vectors(exported: Sequence[ExportedExperience], embedder: WholeEmbedder) -> dict[str, Vectors]:
    """Return the exported vectors that were made by the embedder's model, keyed by text."""
    return {
        item.experience.embedding_text: item.vectors
        for item in exported
        if item.vectors is not None
        and item.embedding_model == embedder.model_name
        and item.vectors.shape[1] == embedder.dimension
        and item.vectors.any(axis=1).all()
    }
