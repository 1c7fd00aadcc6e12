"""Precomputed vectors of the sample data for the bundled model, so that loading it is fast."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from atlas.embedding.chunking import EncodedText
from atlas.embedding.late_interaction import Projection
from atlas.embedding.minilm.bundled import DIRECTORY, bundled_projection

SAMPLE = "sample.npz"

_DIGEST_BYTES = 16


def write_sample(directory: Path, encoded: Mapping[str, EncodedText]) -> None:
    """Write the vectors of the sample data's texts to a directory.

    The texts are identified by sorted digests, so that the file is reproducible.
    """
    ordered = [encoded[text] for text in sorted(encoded, key=_digest)]
    packed = [np.frombuffer(text.tokens or b"", np.uint8) for text in ordered]
    np.savez_compressed(
        directory / SAMPLE,
        digests=np.frombuffer(b"".join(sorted(map(_digest, encoded))), np.uint8).reshape(-1, _DIGEST_BYTES),
        vectors=np.concatenate([text.vectors for text in ordered]).astype("<f4"),
        vector_ends=np.cumsum([len(text.vectors) for text in ordered]).astype("<u4"),
        tokens=np.concatenate(packed),
        token_ends=np.cumsum([len(tokens) for tokens in packed]).astype("<u4"),
    )


def precomputed_sample(texts: Sequence[str], projection: Projection | None) -> dict[str, EncodedText]:
    """Return the precomputed result of `encode_texts` for each text of the sample data, keyed by text.

    Args:
        projection: The store's projection, or None for no token vectors. With the projection of another model, the
            result is empty.
    """
    row_by_text = {text: row for text in texts if (row := _row_by_digest().get(_digest(text))) is not None}
    is_of_other_model = projection is not None and not _is_bundled(projection)
    if is_of_other_model or not row_by_text:
        return {}
    with np.load(DIRECTORY / SAMPLE) as columns:
        vectors = np.split(columns["vectors"].astype(np.float32), columns["vector_ends"][:-1])
        tokens = np.split(columns["tokens"], columns["token_ends"][:-1])
    return {
        text: EncodedText(vectors[row], tokens[row].tobytes() if projection is not None else None)
        for text, row in row_by_text.items()
    }


@cache
def _row_by_digest() -> Mapping[bytes, int]:
    """Return the index in the file of each text of the sample data, keyed by the text's digest."""
    with np.load(DIRECTORY / SAMPLE) as columns:
        return {digest.tobytes(): row for row, digest in enumerate(columns["digests"])}


def _is_bundled(projection: Projection) -> bool:
    return np.array_equal(projection.directions, bundled_projection().directions)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
