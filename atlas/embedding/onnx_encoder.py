"""The encoder for exported models, with onnxruntime: half a second to the first vector, and no torch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.types import Vectors
from atlas.embedding.late_interaction import NO_WORDS, TokenVectors, WordVectors, distinct_pieces
from atlas.infra.background import n_processors

GRAPH = "graph.onnx"
WEIGHTS = "weights.bin"
"""File of the graph's weights, separate so that it can be memory-mapped and shared between processes."""

TOKENIZER = "tokenizer.json"
METADATA = "encoder.json"

VECTORS = "sentence_embedding"
TOKEN_VECTORS = "token_embeddings"
"""Output of the graph with one vector per word piece, for late interaction."""

_PIECES_IN_BATCH = 512
"""Maximum word pieces per batch, including padding.

In larger batches the activations no longer fit the CPU cache. In smaller batches of short texts the overhead of a
millisecond per call dominates.
"""


class UnloadableExport(Exception):
    """Error: an export cannot be loaded. The message is the reason."""


class OnnxEncoder:
    """An encoder for the files that `onnx_export` writes. Thread-safe."""

    returns_tokens = True

    def __init__(self, directory: Path, batch_size: int = 32, *, weights: Path | None = None) -> None:
        """Load the encoder.

        Args:
            directory: Directory of the graph and the metadata.
            batch_size: Maximum texts per batch.
            weights: Directory of the weights and the tokenizer, by default `directory`.

        Raises:
            UnloadableExport: The files are missing or damaged, or there is too little memory.
        """
        self._batch_size = batch_size
        try:
            self._load(directory, weights or directory)
        except Exception as error:  # onnxruntime's and tokenizers' errors have no other base class
            raise UnloadableExport(f"{type(error).__name__}: {error}") from error

    def _load(self, directory: Path, weights: Path) -> None:
        from tokenizers import Tokenizer

        metadata = json.loads((directory / METADATA).read_text(encoding="utf-8"))
        self.dimension: int = metadata["dimension"]
        self.window: int | None = metadata["window"]
        self._padding: dict[str, int] = metadata["padding"]
        self.tokenizer = Tokenizer.from_str((weights / TOKENIZER).read_text(encoding="utf-8"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.window)
        self._session = open_session(directory / GRAPH, weights=weights)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, of unit length, shape (n, dim)."""
        pieces = self.tokenizer.encode_batch(list(texts))
        vectors = np.zeros((len(pieces), self.dimension), np.float32)

        def fill(batch: list[int]) -> None:
            [vectors[batch]] = self._run([VECTORS], [pieces[index] for index in batch])

        self._run_batches(pieces, fill)
        return vectors

    def encode_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenVectors]]:
        """Return the vectors of texts and of their word pieces, from one run of the model."""
        pieces = self.tokenizer.encode_batch(list(texts))
        vectors = np.zeros((len(pieces), self.dimension), np.float32)
        tokens: dict[int, TokenVectors] = {}

        def fill(batch: list[int]) -> None:
            vectors[batch], token_vectors = self._run([VECTORS, TOKEN_VECTORS], [pieces[index] for index in batch])
            tokens.update(
                {
                    index: _token_vectors_of(pieces[index], rows)
                    for index, rows in zip(batch, token_vectors, strict=True)
                }
            )

        self._run_batches(pieces, fill)
        return vectors, [tokens[index] for index in range(len(pieces))]

    def token_vectors(self, text: str) -> Vectors:
        """Return one vector per word piece of a text that fits the window, shape (n, dim)."""
        [vectors] = self._run([TOKEN_VECTORS], [self.tokenizer.encode(text)])
        rows: Vectors = vectors[0]
        return rows

    def word_vectors(self, text: str) -> WordVectors:
        """Return the words of a text that fits the window, each with the mean of its pieces' vectors."""
        pieces, rows = self.tokenizer.encode(text), self.token_vectors(text)
        rows_by_word: dict[int, list[int]] = {}
        for row, word in enumerate(pieces.word_ids):
            if word is not None:
                rows_by_word.setdefault(word, []).append(row)
        spans = [
            (pieces.offsets[piece_rows[0]][0], pieces.offsets[piece_rows[-1]][1])
            for piece_rows in rows_by_word.values()
        ]
        if not spans:
            return NO_WORDS
        vectors = np.stack([rows[piece_rows].mean(axis=0) for piece_rows in rows_by_word.values()])
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return WordVectors(tuple(text[start:end] for start, end in spans), vectors / lengths)

    def _run_batches(self, pieces: Sequence[Any], fill: Callable[[list[int]], None]) -> None:
        """Call `fill` for each batch of texts, on all CPU cores."""
        batches = list(self._batches([len(encoding.ids) for encoding in pieces]))
        n_threads = min(len(batches), n_processors())
        if n_threads < 2:
            for batch in batches:
                fill(batch)
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                list(pool.map(fill, batches))

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yield batches of indices of texts of similar length, longest first."""
        indices = sorted(range(len(lengths)), key=lambda index: -lengths[index])
        start = 0
        while start < len(indices):
            longest = max(1, lengths[indices[start]])
            n_texts = max(1, min(self._batch_size, _PIECES_IN_BATCH // longest))
            yield indices[start : start + n_texts]
            start += n_texts

    def _run(self, outputs: list[str], pieces: Sequence[Any]) -> list[Vectors]:
        """Return outputs of the graph for a batch of tokenized texts."""
        columns = {
            "input_ids": [encoding.ids for encoding in pieces],
            "attention_mask": [encoding.attention_mask for encoding in pieces],
            "token_type_ids": [encoding.type_ids for encoding in pieces],
        }
        inputs = {name: _pad(columns[name], padding) for name, padding in self._padding.items()}
        results: list[Vectors] = self._session.run(outputs, inputs)
        return results


def open_session(graph: Path, *, weights: Path | None = None, optimised: Path | None = None) -> Any:
    """Return an onnxruntime session that runs a graph on one thread.

    Args:
        weights: Directory of the files of the graph's weights, or None if the graph contains them.
        optimised: File for the optimised graph, with its weights in the same directory, which loads faster.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # our own threads run batches in parallel
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED  # portable to other CPUs
    options.log_severity_level = 3
    if optimised is not None:
        options.optimized_model_filepath = str(optimised)
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS)
    if weights is None:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights))
    return onnxruntime.InferenceSession(graph.read_bytes(), options, providers=["CPUExecutionProvider"])


def _token_vectors_of(pieces: Any, rows: Vectors) -> TokenVectors:
    """Return the distinct word pieces of a text with their vectors, without special tokens.

    Args:
        pieces: The tokenizer's result.
        rows: The model's vector for each piece, followed by those of the padding.
    """
    is_ordinary = ~np.array(pieces.special_tokens_mask, bool)
    return distinct_pieces(np.array(pieces.ids, np.int64)[is_ordinary], rows[: len(is_ordinary)][is_ordinary])


def _pad(rows: Sequence[Sequence[int]], padding: int) -> npt.NDArray[np.int64]:
    """Return rows of numbers as an array, shape (n_rows, longest), padded on the right."""
    filled = np.full((len(rows), max(map(len, rows))), padding, np.int64)
    for number, row in enumerate(rows):
        filled[number, : len(row)] = row
    return filled
