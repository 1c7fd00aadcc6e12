"""Vectors of the sample data's texts by the bundled model, so that a first look at it takes no embedding."""

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
    """Write texts, as the bundled model and its projection encode them, into a directory.

    Only digests of the texts are kept, in their order, so that the same texts make the same file.
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


def known_sample(texts: Sequence[str], projection: Projection | None) -> dict[str, EncodedText]:
    """Return those of some texts that are of the sample data, as `encode_texts` would.

    Args:
        projection: That of the store. Empty if it is another one than the bundled model's; None for no token vectors.
    """
    places = {text: place for text in texts if (place := _places().get(_digest(text))) is not None}
    if not places or not (projection is None or _is_bundled(projection)):
        return {}
    with np.load(DIRECTORY / SAMPLE) as columns:
        vectors = np.split(columns["vectors"].astype(np.float32), columns["vector_ends"][:-1])
        tokens = np.split(columns["tokens"], columns["token_ends"][:-1])
    return {
        text: EncodedText(vectors[place], tokens[place].tobytes() if projection is not None else None)
        for text, place in places.items()
    }


@cache
def _places() -> Mapping[bytes, int]:
    """Return the places of the texts in the file, by their digests."""
    with np.load(DIRECTORY / SAMPLE) as columns:
        return {digest.tobytes(): place for place, digest in enumerate(columns["digests"])}


def _is_bundled(projection: Projection) -> bool:
    return np.array_equal(projection.directions, bundled_projection().directions)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
