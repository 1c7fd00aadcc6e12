"""The embedder for sentence-transformers models, run by onnxruntime if possible."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atlas.core.errors import EmbeddingUnavailable
from atlas.core.imports.distribution import missing_package
from atlas.core.imports.lazy import LazyModule
from atlas.core.settings import user_cache
from atlas.core.types import Vector, Vectors
from atlas.embedding.choice import (
    BUNDLED,
    BUNDLED_SHA256,
    DEFAULT_MODEL,
    ModelChoice,
    bundled_weights,
    canonical_name,
    choose_model,
    model_files,
)
from atlas.embedding.chunking import MAX_QUERY_WINDOWS, MAX_WINDOWS, EncodedText, Span, WindowSplitter, mean_direction
from atlas.embedding.encoder import Encoder
from atlas.embedding.late_interaction import (
    NO_TOKENS,
    NO_WORDS,
    Projection,
    TokenVectors,
    WordVectors,
    fit_projection,
    join_pieces,
)
from atlas.embedding.plain import REMEMBERED_QUERIES
from atlas.embedding.prompts import NO_PROMPTS, Prompts, model_prompts
from atlas.embedding.scale import Scale, measure_scale
from atlas.infra.background import Batcher, n_processors
from atlas.infra.locks import lock_of
from atlas.protocols.infra import Embedder, Progress

if TYPE_CHECKING:
    from atlas.embedding import onnx_cache
else:
    onnx_cache = LazyModule("atlas.embedding.onnx_cache")  # the bundled model is not exported

__all__ = [
    "BUNDLED",
    "DEFAULT_MODEL",
    "Embedder",
    "ModelChoice",
    "SentenceTransformerEmbedder",
    "bundled_weights",
    "canonical_name",
    "choose_model",
]

logger = logging.getLogger(__name__)

CPU_DEVICES = ("auto", "cpu")
"""Devices for which onnxruntime is used. All others use torch."""

_DIMENSIONS = {BUNDLED: 384, DEFAULT_MODEL: 768, "BAAI/bge-small-en-v1.5": 384, "BAAI/bge-large-en-v1.5": 1024}
_TEXTS_BETWEEN_PROGRESS = 512

_SHORT_CHARACTERS = 100
"""Number of ASCII characters that fit every model's window with a usual prompt, as a character is at most one word
piece."""


_MAX_BATCHED_QUERIES = 16
"""Maximum number of short queries of several threads in a run, which takes two thirds of the time of separate runs."""


class SentenceTransformerEmbedder:
    """An embedder with a lazily loaded sentence-transformers model.

    Pooling is the model's own (CLS for bge, mean for MiniLM). Text beyond its window (256 word pieces for MiniLM, 512
    for bge) is truncated, so longer documents have to be embedded as `windows`. The model is run by onnxruntime. The
    graph of the bundled model comes with ATLAS, and any other is exported once per user. If it cannot be exported, or
    another device than the CPU is configured, sentence-transformers runs it.
    """

    def __init__(
        self,
        model: str = BUNDLED,
        device: str = "auto",
        batch_size: int = 32,
        cache: Path | None = None,
        *,
        prompts: Prompts | None = None,
    ) -> None:
        """Configure the embedder. The model is loaded at first use.

        Args:
            model: Name or directory of the model.
            device: Name of a torch device. `auto` is the CPU.
            batch_size: Maximum texts per batch.
            cache: Directory of exported models. By default the user's cache directory.
            prompts: Prefixes of queries and documents. By default those of the model's files or family.
        """
        self.model_name = canonical_name(model)
        self._device = device
        self._batch_size = batch_size
        self._cache_path = cache
        self._prompts = prompts
        self._scale: Scale | None = None
        self._encoder: Encoder | None = None
        self._problem = ""
        self._splitter: WindowSplitter | None = None
        self._lock = lock_of(self)  # free in a child that is forked during an export
        self._cached_query = lru_cache(REMEMBERED_QUERIES)(self._encode_query)
        self._batcher = Batcher(self._encode_pairs, n_runs=max(1, n_processors() // 2), n_texts=_MAX_BATCHED_QUERIES)
        self._precomputed: dict[str, tuple[Vector, TokenVectors]] = {}
        self._cached_tokens = lru_cache(REMEMBERED_QUERIES)(self._query_tokens)
        self._cached_words = lru_cache(REMEMBERED_QUERIES)(self._encode_words)

    @cached_property
    def _cache(self) -> onnx_cache.OnnxCache:
        return onnx_cache.OnnxCache(self._cache_path or user_cache())

    @property
    def dimension(self) -> int:
        """Dimension of the vectors, known for common models without loading them."""
        return _DIMENSIONS.get(self.model_name) or self._load_once().dimension

    @property
    def prompts(self) -> Prompts:
        """Prefixes of queries and documents. A model that is not on this machine is loaded to read them."""
        if self._prompts is None:
            files = model_files(self.model_name)
            if files is None and self.model_name not in _DIMENSIONS:
                self._load_once()
                files = model_files(self.model_name)
            self._prompts = model_prompts(self.model_name, files)
        return self._prompts

    def use_prompts(self, prompts: Prompts) -> None:
        """Replace the prompts of queries and documents."""
        self._prompts, self._scale = prompts, None
        for cached in (self._cached_query, self._cached_tokens):
            cached.cache_clear()

    def measured_scale(self) -> Scale:
        """Return the typical cosines of the model, measured at the first call.

        Raises:
            EmbeddingUnavailable: The weights cannot be loaded.
        """
        if self._scale is None:
            self._scale = measure_scale(self.encode_batch)
        return self._scale

    @property
    def checksum(self) -> str:
        """Expected SHA-256 of the weights, or empty if it is unknown."""
        return BUNDLED_SHA256 if self.model_name == BUNDLED else ""

    @property
    def engine(self) -> str:
        """Name of the library that runs the model. The slower one, sentence-transformers, is named with the reason."""
        if self._encoder is not None:
            return f"sentence-transformers, because {self._problem}" if self._problem else "onnxruntime"
        try:
            is_exported = self._is_bundled() or self._cache.has_export(self._files())
        except EmbeddingUnavailable as error:
            return f"nothing: {error}"
        except onnx_cache.MissingExport as error:
            missing = missing_package("models", f"the embedding model {self.model_name!r}")
            return f"nothing: {missing}" if missing else f"sentence-transformers, because {error}"
        return (
            "onnxruntime" if is_exported else "onnxruntime, once the first text or `atlas init` has exported the model"
        )

    def token_projection(self) -> Projection | None:
        """Return the projection of the model's word pieces, or None if it is not usable.

        The projection of the bundled model comes with ATLAS. Any other is fitted once per user, which takes some
        seconds.

        Raises:
            EmbeddingUnavailable: The weights cannot be loaded.
        """
        if self.model_name == BUNDLED and self.prompts == NO_PROMPTS:
            from atlas.embedding.minilm.bundled import bundled_projection

            return bundled_projection()
        if not self._load_once().returns_tokens:
            return None
        key = self._cache.key(self._files()), self.prompts.as_text()
        return self._cache.projection(*key, self.dimension, lambda: fit_projection(self.encode_with_tokens))

    def prepare(self, announce: Callable[[str], None] | None = None) -> None:
        """Load the model. A model that is neither bundled nor exported is exported first, which takes half a minute.

        Args:
            announce: Called with a message at each step of an export.

        Raises:
            EmbeddingUnavailable: The weights cannot be loaded.
        """
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load(announce or logger.info)

    def encode(self, text: str) -> Vector:
        """Return the vector of one document, shape (dim,)."""
        vector: Vector = self.encode_batch([text])[0]
        return vector

    def encode_query(self, text: str) -> Vector:
        """Return the vector of a query, with the model's query prompt.

        The vector of a query longer than the window is the mean direction of at most `MAX_QUERY_WINDOWS` windows.
        Recent vectors are cached, and must not be modified.
        """
        return self._cached_query(text)[0]

    def query_tokens(self, text: str) -> TokenVectors:
        """Return the vectors of a query's word pieces. Recent results are cached."""
        return self._cached_tokens(text) if self.prompts.query else self._cached_query(text)[1]

    def remember_queries(self, texts: list[str]) -> None:
        """Fill the cache with at most `REMEMBERED_QUERIES` short queries.

        For the bundled model, the calibration queries are precomputed, and the others are embedded as a batch. For
        other models this does nothing: each query is embedded when needed.
        """
        if self.model_name != BUNDLED or self.prompts.query or not self._load_once().returns_tokens:
            return
        from atlas.embedding.minilm.queries import precomputed_queries  # only needed for the bundled model

        texts = texts[-REMEMBERED_QUERIES:]
        precomputed = precomputed_queries(texts)
        new_texts = [text for text in texts if text not in precomputed and _is_short(text)]
        vectors, tokens = self._encode_with_tokens(new_texts)
        encoded = zip(map(mean_direction, vectors[:, None]), tokens, strict=True)
        self._precomputed = {**precomputed, **dict(zip(new_texts, encoded, strict=True))}
        for text in texts:
            self._cached_query(text)
        self._precomputed = {}

    def windows(self, text: str) -> list[Span]:
        """Return spans of characters that cover a text. Each fits into the model's window.

        Neighbours overlap by about a quarter. A text that needs more than `MAX_WINDOWS` windows gets that number,
        spread evenly with gaps. A text that fits has one window. Every text has one if the model's tokenizer cannot
        return offsets because it is not from the package `tokenizers`.

        Raises:
            EmbeddingUnavailable: The model, whose tokenizer is needed, cannot be loaded.
        """
        if _is_short(text):
            return [(0, len(text))]
        return self._spans(text, self.prompts.document, MAX_WINDOWS)

    def count_tokens(self, text: str) -> int | None:
        """Return the number of word pieces in a text of any length, or None if the tokenizer cannot count them.

        Raises:
            EmbeddingUnavailable: The model, whose tokenizer is needed, cannot be loaded.
        """
        splitter = self._load_splitter()
        return splitter.n_pieces(text) if splitter else None

    def encode_batch(self, texts: list[str], on_progress: Progress | None = None) -> Vectors:
        """Return the vectors of several documents, shape (n, dim), with the model's document prompt.

        Raises:
            EmbeddingUnavailable: The weights cannot be loaded.
        """
        return self._encode([self.prompts.document + text for text in texts], on_progress)

    def encode_queries(self, texts: list[str]) -> Vectors:
        """Return the vectors of several short queries, shape (n, dim), with the model's query prompt.

        Raises:
            EmbeddingUnavailable: The weights cannot be loaded.
        """
        return self._encode([self.prompts.query + text for text in texts])

    def _encode(self, texts: list[str], on_progress: Progress | None = None) -> Vectors:
        """Return the vectors of texts without adding a prompt."""
        encoder = self._load_once()
        parts = []
        for start in range(0, len(texts), _TEXTS_BETWEEN_PROGRESS):
            part = texts[start : start + _TEXTS_BETWEEN_PROGRESS]
            parts.append(encoder.encode(part))
            if on_progress:
                on_progress(start + len(part), len(texts))
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension), np.float32)

    def known_texts(self, texts: Sequence[str], projection: Projection | None) -> dict[str, EncodedText]:
        """Return precomputed vectors of documents, keyed by text: of the sample data, if this is the bundled model.

        Args:
            projection: Packs the token vectors. With None, there are none.
        """
        if self.model_name != BUNDLED or self.prompts.document:
            return {}
        from atlas.embedding.minilm.sample import precomputed_sample  # only needed for the bundled model

        return precomputed_sample(texts, projection)

    def encode_with_tokens(self, texts: list[str]) -> tuple[Vectors, list[TokenVectors]]:
        """Return the vectors of documents, shape (n, dim), and of their word pieces, from one run of the model.

        If sentence-transformers runs the model, there are no word pieces.

        Raises:
            EmbeddingUnavailable: The weights cannot be loaded.
        """
        encoder = self._load_once()
        if not encoder.returns_tokens or not texts:
            return self.encode_batch(texts), [NO_TOKENS] * len(texts)
        if self.prompts.document:  # exclude the word pieces of the prompt
            return self.encode_batch(texts), encoder.encode_with_tokens(texts)[1]
        return encoder.encode_with_tokens(texts)

    def word_vectors(self, text: str) -> WordVectors:
        """Return the words of a text's first window with their vectors, or no words if the model does not support this.

        Recent results are cached.

        Raises:
            EmbeddingUnavailable: The weights cannot be loaded.
        """
        return self._cached_words(text)

    def _encode_words(self, text: str) -> WordVectors:
        encoder = self._load_once()
        return encoder.word_vectors(text) if encoder.returns_tokens else NO_WORDS

    def _encode_query(self, text: str) -> tuple[Vector, TokenVectors]:
        """Return a query's vector, and its word pieces if one run of the model returns both."""
        if (precomputed := self._precomputed.get(text)) is not None:
            return precomputed
        passages = self._passages(text)
        if self.prompts.query:
            vectors, tokens = self.encode_queries(passages), [NO_TOKENS]
        elif _is_short(text):  # longer ones would be padding for the others
            vector, text_tokens = self._batcher(text)
            vectors, tokens = vector[None], [text_tokens]
        else:
            vectors, tokens = self._encode_with_tokens(passages)
        vector = mean_direction(vectors)
        vector.flags.writeable = False
        return vector, join_pieces(tokens)

    def _encode_pairs(self, texts: list[str]) -> list[tuple[Vector, TokenVectors]]:
        """Return the vector and the word pieces of each text."""
        vectors, tokens = self._encode_with_tokens(texts)
        return list(zip(vectors, tokens, strict=True))

    def _query_tokens(self, text: str) -> TokenVectors:
        """Return the vectors of a query's word pieces, without those of the prompt."""
        return join_pieces(self._encode_with_tokens(self._passages(text))[1])

    def _encode_with_tokens(self, texts: list[str]) -> tuple[Vectors, list[TokenVectors]]:
        """Return the vectors of texts without adding a prompt, and of their word pieces if supported."""
        encoder = self._load_once()
        if not encoder.returns_tokens:
            return self._encode(texts), [NO_TOKENS] * len(texts)
        return encoder.encode_with_tokens(texts)

    def _passages(self, text: str) -> list[str]:
        return [text[start:end] for start, end in self._spans(text, self.prompts.query, MAX_QUERY_WINDOWS)]

    def _spans(self, text: str, prompt: str, max_windows: int) -> list[Span]:
        """Return the spans of a text's windows, each of which has room for a prompt."""
        if _is_short(prompt + text):
            return [(0, len(text))]
        splitter = self._load_splitter()
        return splitter.spans(text, instruction=prompt, max_windows=max_windows) if splitter else [(0, len(text))]

    def _load_splitter(self) -> WindowSplitter | None:
        """Return the splitter of texts, or None if the model has no window, or its tokenizer returns no offsets."""
        encoder = self._load_once()
        if self._splitter is None and encoder.tokenizer is not None and encoder.window is not None:
            self._splitter = WindowSplitter(encoder.tokenizer, encoder.window)
        return self._splitter

    def _load_once(self) -> Encoder:
        if self._encoder is None:
            self.prepare()
        assert self._encoder is not None
        return self._encoder

    def _load(self, announce: Callable[[str], None]) -> Encoder:
        """Load the model from its ONNX graph, or else with sentence-transformers, and store the reason."""
        try:
            if self._is_bundled():
                from atlas.embedding.minilm.bundled import bundled_encoder  # only needed for the bundled model

                return bundled_encoder(self._batch_size)
            return self._cache.load(self.model_name, self._files(), self._batch_size, announce)
        except onnx_cache.MissingExport as error:
            self._problem = str(error)
        logger.info("%s runs in sentence-transformers, because %s", self.model_name, self._problem)
        announce("loading the model with sentence-transformers")
        from atlas.embedding.torch_encoder import TorchEncoder, load_model  # imported late, as it imports torch

        device = None if self._device == "auto" else self._device
        return TorchEncoder(load_model(self.model_name, device), self._batch_size)

    def _is_bundled(self) -> bool:
        """Return whether the model is the bundled one, or raise `MissingExport` if the device cannot run a graph."""
        if self._device not in CPU_DEVICES:
            raise onnx_cache.MissingExport(f"the device is set to {self._device}")
        return self.model_name == BUNDLED

    def _files(self) -> Path:
        """Return the directory of the model's files, or raise `MissingExport` if they are not on this machine."""
        files = model_files(self.model_name)
        if files is None:
            raise onnx_cache.MissingExport("the model has no local files of sentence-transformers to export")
        return files


def _is_short(text: str) -> bool:
    return text.isascii() and len(text) <= _SHORT_CHARACTERS
