"""Late interaction (MaxSim) over binary token vectors.

A pooled vector represents a text as a whole, and a single topic among many only weakly. Comparing the vectors of word
pieces, which come from the same run of the model, finds such a topic.

Source:
    MaxSim: Khattab & Zaharia, SIGIR 2020. Signs of projected vectors: Charikar, STOC 2002.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from atlas.core.ranking.tuned import BITS, MAX_PIECES, SHARE
from atlas.core.types import Vector, Vectors
from atlas.embedding.foreign_queries import calibration_queries

MIN_GAP = 0.01
"""Minimum difference between the self-match of a text and its match with an unrelated text. With MiniLM it is .46."""

_BYTES = BITS // 8

_JOINED_COUNTS = (1, 2, 4, 8, 16, 32)
"""Numbers of texts that are joined to measure chance matches in longer texts."""

_MAX_SINGLE_THREAD = 2**17
"""Number of multiplications up to which OpenBLAS computes a matrix product in one thread."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The distinct word pieces of a text, without special tokens."""

    ids: npt.NDArray[np.int64]
    """Ids in the model's vocabulary, sorted, shape (n,)."""

    vectors: Vectors
    """Mean direction over all occurrences of each piece, of unit length, shape (n, dim)."""


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The words of a text, in order, each made of one or more word pieces."""

    words: tuple[str, ...]
    vectors: Vectors
    """Vectors of the words, of unit length, shape (n, dim)."""


NO_WORDS = WordVectors((), np.zeros((0, 0), np.float32))
"""The words of an empty string, or of a model without word vectors."""

NO_TOKENS = TokenVectors(np.zeros(0, np.int64), np.zeros((0, 0), np.float32))
"""The word pieces of an empty string."""


def distinct_pieces(ids: npt.NDArray[np.int64], vectors: Vectors) -> TokenVectors:
    """Return one unit vector per distinct word piece: the mean direction of its occurrences.

    This halves the storage, and lowers the mean reciprocal rank on the development half by at most .002.

    Args:
        ids: Id of each word piece, shape (n,).
        vectors: Vector of each word piece, shape (n, dim).
    """
    if not len(ids):
        return NO_TOKENS
    order = np.argsort(ids, kind="stable")
    pieces, starts = np.unique(ids[order], return_index=True)
    return TokenVectors(pieces, _to_unit_length(np.add.reduceat(_to_unit_length(vectors)[order], starts, axis=0)))


def join_pieces(parts: Sequence[TokenVectors]) -> TokenVectors:
    """Return the distinct word pieces of several windows of a text."""
    nonempty = [part for part in parts if len(part.ids)]
    if not nonempty:
        return NO_TOKENS
    if len(nonempty) == 1:
        return nonempty[0]
    return distinct_pieces(
        np.concatenate([part.ids for part in nonempty]), np.concatenate([part.vectors for part in nonempty])
    )


@dataclass(frozen=True, slots=True)
class Projection:
    """The principal directions of a model's word pieces, and the calibration of MaxSim scores along them."""

    directions: Vectors
    """Shape (dim, BITS)."""

    unrelated: float
    """MaxSim of a query with an unrelated text of one word piece."""

    growth: float
    """Increase of `unrelated` in a text with e times as many word pieces, because longer texts match more by chance."""

    same: float
    """MaxSim of a text with itself."""

    cosine: float
    """Cosine of the pooled vectors of two unrelated texts."""

    def pack(self, tokens: TokenVectors) -> bytes:
        """Return word pieces in stored form: the signs of their projected vectors, as bits."""
        if not len(tokens.ids):
            return b""
        return np.packbits(matrix_product(tokens.vectors[-MAX_PIECES:], self.directions) > 0, axis=1).tobytes()

    def project(self, tokens: TokenVectors) -> Vectors:
        """Return the projected word pieces of a query as floats of unit length, shape (n, BITS)."""
        if not len(tokens.ids):
            return np.zeros((0, BITS), np.float32)
        return _to_unit_length(matrix_product(tokens.vectors[-MAX_PIECES:], self.directions))

    def similarities(self, query: Vectors, texts: Sequence[bytes], cosines: Sequence[float]) -> Vector:
        """Return similarities of a query and texts on the scale of the pooled vectors' cosine, shape (n,).

        For texts with more word pieces than the query, late interaction is blended in. Its weight grows with the text's
        length, up to `SHARE`. Other similarities are the cosines.

        Args:
            query: Result of `project`, at least one row.
            texts: Result of `pack`, each of at least one word piece.
            cosines: Cosines of the pooled vectors of query and texts.

        Raises:
            ValueError: The size of a text is not a multiple of one packed token vector.
        """
        if any(len(text) % _BYTES for text in texts):
            raise ValueError(f"expected packed token vectors of {_BYTES} bytes each, got a text with a part of one")
        lengths = np.array([len(text) // _BYTES for text in texts])
        late_weights = SHARE * np.maximum(0.0, 1 - len(query) / lengths)
        longer_texts = np.flatnonzero(late_weights)  # indices
        similarities = np.asarray(cosines, np.float32)
        if len(longer_texts):
            late_scores = self.rescale(
                match_scores(query, [texts[int(index)] for index in longer_texts]), lengths[longer_texts]
            )
            similarities[longer_texts] += late_weights[longer_texts] * (late_scores - similarities[longer_texts])
        return similarities

    def rescale(self, match: Vector, lengths: npt.NDArray[np.int64]) -> Vector:
        """Convert MaxSim scores to the scale of pooled cosines. `lengths` are the texts' numbers of word pieces."""
        chance_matches = self.unrelated + self.growth * np.log(lengths)
        return np.asarray(
            self.cosine + (match - chance_matches) / (self.same - chance_matches) * (1 - self.cosine), np.float32
        )

    @property
    def is_usable(self) -> bool:
        """True if a text's MaxSim with itself clearly exceeds that of unrelated texts of any length."""
        return bool(self.same > self.unrelated + self.growth * np.log(MAX_PIECES) + MIN_GAP)

    def as_text(self) -> str:
        """Return the projection as a string that `parse_projection` parses."""
        content = base64.b85encode(np.ascontiguousarray(self.directions, np.dtype("<f2")).tobytes()).decode()
        return json.dumps({"directions": content, "levels": [self.unrelated, self.growth, self.same, self.cosine]})


def parse_projection(text: str, dimension: int) -> Projection:
    """Parse the string that `Projection.as_text` returned.

    Raises:
        ValueError: The string is malformed, or its projection is for vectors of another dimension.
    """
    try:
        fields = json.loads(text)
        numbers = np.frombuffer(base64.b85decode(fields["directions"]), np.dtype("<f2")).astype(np.float32)
        unrelated, growth, same, cosine = map(float, fields["levels"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"the projection has a missing or damaged field: {error}") from error
    if len(numbers) != dimension * BITS:
        raise ValueError(
            f"expected {BITS * dimension} numbers ({BITS} directions of {dimension} dimensions), got {len(numbers)}"
        )
    projection = Projection(numbers.reshape(-1, BITS), unrelated, growth, same, cosine)
    if not projection.is_usable:
        raise ValueError("expected quantization levels as `Projection.as_text` writes them, got inconsistent ones")
    return projection


def fit(texts: Sequence[TokenVectors], vectors: Vectors) -> Projection:
    """Return the projection of a model, fitted to a few hundred texts on many subjects.

    Args:
        texts: Word pieces of each text.
        vectors: The texts' pooled vectors, of unit length, shape (n, dim).
    """
    all_vectors = np.concatenate([text.vectors for text in texts])
    directions = np.zeros((all_vectors.shape[1], BITS), np.float32)
    principal = np.linalg.svd(all_vectors, full_matrices=False)[2][:BITS].T
    directions[:, : principal.shape[1]] = principal
    # Round to float16 as in storage, so that the calibration fits the stored directions.
    uncalibrated = Projection(directions.astype(np.float16).astype(np.float32), 0.0, 0.0, 1.0, 0.0)
    queries = [uncalibrated.project(text) for text in texts]
    lengths, chance_matches = _chance_matches(uncalibrated, texts, queries)
    growth, unrelated = np.polyfit(np.log(lengths), chance_matches, 1)
    self_matches = [
        match_scores(query, [uncalibrated.pack(text)])[0] for query, text in zip(queries, texts, strict=True)
    ]
    off_diagonal = ~np.eye(len(texts), dtype=bool)
    return Projection(
        uncalibrated.directions,
        unrelated=float(unrelated),
        growth=float(growth),
        same=float(np.median(self_matches)),
        cosine=float(np.median((vectors @ vectors.T)[off_diagonal])),
    )


def fit_projection(encode: Callable[[list[str]], tuple[Vectors, list[TokenVectors]]]) -> Projection | None:
    """Return the projection of a model, fitted to queries on many subjects, or None if it is not usable.

    It is not usable if the model's token vectors are so similar that any text matches any other.

    Args:
        encode: Function that embeds documents and their word pieces.
    """
    vectors, tokens = encode(list(calibration_queries()))
    if not all(len(text.ids) for text in tokens):
        return None
    projection = fit(tokens, vectors)
    return projection if projection.is_usable else None


def _chance_matches(
    projection: Projection, texts: Sequence[TokenVectors], queries: Sequence[Vectors]
) -> tuple[Vector, Vector]:
    """Return lengths in word pieces of joined texts, and their MaxSim with an unrelated query. Shape (n,) each."""
    lengths, values = [], []
    for n_joined in _JOINED_COUNTS:
        for number, query in enumerate(queries):
            unrelated = [texts[(number + 1 + step) % len(texts)] for step in range(min(n_joined, len(texts) - 1))]
            packed = projection.pack(join_pieces(unrelated))
            lengths.append(len(packed) // _BYTES)
            values.append(float(match_scores(query, [packed])[0]))
    return np.array(lengths, np.float32), np.array(values, np.float32)


def match_scores(query: Vectors, texts: Sequence[bytes]) -> Vector:
    """Return the MaxSim of a query with each text, shape (n,).

    MaxSim is the mean, over the query's word pieces, of the highest similarity to a piece of the text.
    """
    bits = np.unpackbits(np.frombuffer(b"".join(texts), np.uint8).reshape(-1, _BYTES), axis=1)
    approximate = matrix_product(bits.astype(np.float32), query.T)
    lengths = [len(text) // _BYTES for text in texts]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    # A sign is 2·bit − 1, and a sign vector has norm √BITS. Neither affects which piece is nearest.
    nearest = (2 * np.maximum.reduceat(approximate, starts, axis=0) - query.sum(axis=1)) / np.sqrt(BITS)
    return np.asarray(nearest.mean(axis=1), np.float32)


def matrix_product(rows: Vectors, columns: Vectors) -> Vectors:
    """Return the product of two matrices, shape (n, m), computed in this thread in blocks of rows.

    BLAS parallelises larger products, which is slower if other processes compete for the cores: 6 ms of CPU time
    instead of 0.3 for one query's word pieces.

    Args:
        rows: Shape (n, k), contiguous.
        columns: Shape (k, m).
    """
    n_block_rows = max(1, _MAX_SINGLE_THREAD // columns.size)
    n_whole = len(rows) - len(rows) % n_block_rows
    result = np.empty((len(rows), columns.shape[1]), np.float32)
    blocks = rows[:n_whole].reshape(-1, n_block_rows, rows.shape[1])
    np.matmul(blocks, columns, out=result[:n_whole].reshape(-1, n_block_rows, columns.shape[1]))
    np.matmul(rows[n_whole:], columns, out=result[n_whole:])
    return result


def _to_unit_length(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)
    return scaled
