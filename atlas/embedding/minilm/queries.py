"""Precomputed vectors of the calibration queries for the bundled model."""

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
from atlas.embedding.foreign_queries import FOREIGN_LANGUAGES, load_calibration_queries
from atlas.embedding.late_interaction import Projection, TokenVectors, matrix_product
from atlas.embedding.minilm.bundled import DIRECTORY, bundled_projection
from atlas.embedding.onnx_encoder import OnnxEncoder

QUERIES = "queries.npz"
LANGUAGES = (ENGLISH, *FOREIGN_LANGUAGES)

_TEXTS = "texts"
"""Key of the queries' checksum in the file."""

_STEPS = 127
"""Quantisation of the token vectors: number of steps on either side of 0."""


def write_queries(directory: Path, encoder: OnnxEncoder, projection: Projection) -> None:
    """Write the vectors of all calibration queries to a directory.

    Args:
        encoder: The bundled model.
        projection: The model's projection. Only projected token vectors are stored, because nothing else is compared.
    """
    columns: dict[str, npt.NDArray[Any]] = {_TEXTS: np.array(checksum())}
    for language, texts in load_calibration_queries(LANGUAGES).items():
        vectors, tokens = encoder.encode_with_tokens(texts)
        rows = np.concatenate([projection.project(pieces) for pieces in tokens])
        columns |= {
            f"{language}.vectors": vectors.astype("<f2"),
            f"{language}.pieces": np.concatenate([pieces.ids for pieces in tokens]).astype("<u2"),
            f"{language}.ends": np.cumsum([len(pieces.ids) for pieces in tokens]).astype("<u2"),
            f"{language}.rows": np.rint(rows / np.abs(rows).max(axis=1, keepdims=True) * _STEPS).astype(np.int8),
        }
    np.savez(directory / QUERIES, **columns)  # type: ignore[arg-type]  # its stubs take the names for options


def precomputed_queries(texts: Sequence[str]) -> Mapping[str, tuple[Vector, TokenVectors]]:
    """Return the precomputed vector and word pieces of each text that is a calibration query, keyed by text."""
    requested_texts = set(texts)
    vectors_by_query: dict[str, tuple[Vector, TokenVectors]] = {}
    with np.load(DIRECTORY / QUERIES) as columns:
        for language, queries in load_calibration_queries(LANGUAGES).items():
            if not requested_texts.isdisjoint(queries):
                vectors_by_query.update(zip(queries, _read_language(columns, language), strict=True))
    return vectors_by_query


def checksum() -> str:
    """Return the checksum of the current calibration queries, to compare with `read_checksum`."""
    return hashlib.sha256(json.dumps(load_calibration_queries(LANGUAGES)).encode()).hexdigest()


def read_checksum() -> str:
    """Return the checksum of the calibration queries whose vectors are in the file."""
    with np.load(DIRECTORY / QUERIES) as columns:
        return str(columns[_TEXTS])


def _read_language(columns: Mapping[str, npt.NDArray[Any]], language: str) -> Iterator[tuple[Vector, TokenVectors]]:
    """Yield the vector and the word pieces of each calibration query in a language, in order."""
    pieces = columns[f"{language}.pieces"].astype(np.int64)
    rows = matrix_product(
        columns[f"{language}.rows"].astype(np.float32), np.ascontiguousarray(bundled_projection().directions.T)
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    start = 0
    for vector, end in zip(columns[f"{language}.vectors"].astype(np.float32), columns[f"{language}.ends"], strict=True):
        yield mean_direction(vector[None]), TokenVectors(pieces[start:end], rows[start:end])
        start = int(end)
