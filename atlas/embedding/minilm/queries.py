"""Vectors of the calibration queries by the bundled model, so that no store has to embed them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.ranking.languages import ENGLISH
from atlas.core.types import Vector
from atlas.embedding.chunking import mean_direction
from atlas.embedding.foreign_queries import OTHERS, calibration_queries_in
from atlas.embedding.late_interaction import Projection, TokenVectors, product
from atlas.embedding.minilm.bundled import DIRECTORY, bundled_projection
from atlas.embedding.onnx_encoder import OnnxEncoder

QUERIES = "queries.npz"
LANGUAGES = (ENGLISH, *OTHERS)

_TEXTS = "texts"
"""Name of the checksum of the queries in the file."""

_STEPS = 127
"""Quantisation of word pieces' vectors: number of steps on either side of 0."""


def write_queries(directory: Path, encoder: OnnxEncoder, projection: Projection) -> None:
    """Write the vectors of all calibration queries into a directory.

    Args:
        encoder: The bundled model.
        projection: Its own. Word pieces are only ever compared along its directions, so only those are kept.
    """
    columns: dict[str, npt.NDArray[Any]] = {_TEXTS: np.array(checksum())}
    for language, texts in calibration_queries_in(LANGUAGES).items():
        vectors, tokens = encoder.encode_with_tokens(texts)
        rows = np.concatenate([projection.projected(of_text) for of_text in tokens])
        columns |= {
            f"{language}.vectors": vectors.astype("<f2"),
            f"{language}.pieces": np.concatenate([of_text.ids for of_text in tokens]).astype("<u2"),
            f"{language}.ends": np.cumsum([len(of_text.ids) for of_text in tokens]).astype("<u2"),
            f"{language}.rows": np.rint(rows / np.abs(rows).max(axis=1, keepdims=True) * _STEPS).astype(np.int8),
        }
    np.savez(directory / QUERIES, **columns)  # type: ignore[arg-type]  # its stubs take the names for options


def known_queries(texts: Sequence[str]) -> Mapping[str, tuple[Vector, TokenVectors]]:
    """Return the vectors and word pieces of those texts that are calibration queries."""
    wanted = set(texts)
    known: dict[str, tuple[Vector, TokenVectors]] = {}
    with np.load(DIRECTORY / QUERIES) as columns:
        for language, queries in calibration_queries_in(LANGUAGES).items():
            if not wanted.isdisjoint(queries):
                known.update(zip(queries, _read(columns, language), strict=True))
    return known


def checksum() -> str:
    """Return a checksum of the queries, in their order. The file contains the checksum of its own."""
    return hashlib.sha256(json.dumps(calibration_queries_in(LANGUAGES)).encode()).hexdigest()


def stored_checksum() -> str:
    """Return the checksum of the queries that the file was made of."""
    with np.load(DIRECTORY / QUERIES) as columns:
        return str(columns[_TEXTS])


def _read(columns: Mapping[str, npt.NDArray[Any]], language: str) -> Iterator[tuple[Vector, TokenVectors]]:
    """Yield the vector and the word pieces of each query in a language."""
    pieces = columns[f"{language}.pieces"].astype(np.int64)
    rows = product(
        columns[f"{language}.rows"].astype(np.float32), np.ascontiguousarray(bundled_projection().directions.T)
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    start = 0
    for vector, end in zip(columns[f"{language}.vectors"].astype(np.float32), columns[f"{language}.ends"], strict=True):
        yield mean_direction(vector[None]), TokenVectors(pieces[start:end], rows[start:end])
        start = int(end)
