"""A reranker with a cross-encoder of sentence-transformers, which scores query and document together and is slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from atlas.core.errors import EmbeddingUnavailable
from atlas.core.imports.distribution import extra
from atlas.core.imports.lazy import LazyModule
from atlas.infra.locks import lock_of

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = LazyModule("asyncio")

PAIR_BATCH = 20


class CrossEncoderReranker:
    """A lazily loaded cross-encoder as a reranker.

    No cross-encoder was evaluated, because no weights were available. One that was trained on web search may well rank
    attempts at tasks worse.
    """

    def __init__(self, model: str, device: str = "auto") -> None:
        """Configure the reranker. The model is loaded at first use.

        Args:
            model: Name or directory of the model, which has to return one score.
            device: Name of a torch device. `auto` picks the best available one.
        """
        self.model_name = model
        self._device = None if device == "auto" else device
        self._model: Any = None
        self._lock = lock_of(self)

    async def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        """Return a score in [0, 1] for each document: the sigmoid of the model's logit.

        Raises:
            EmbeddingUnavailable: The model's files are not on this machine, or it returns several scores.
        """
        return await asyncio.to_thread(self._scores, query, list(documents))

    def prepare(self, announce: Callable[[str], None]) -> None:
        """Load the model, and download it if it is not on this machine.

        Args:
            announce: Called with a message before anything slow.

        Raises:
            EmbeddingUnavailable: The model cannot be loaded.
        """
        try:
            self._load_once()
        except EmbeddingUnavailable:
            announce(f"fetching the reranker {self.model_name}")
            with self._lock:
                self._model = self._load(is_local=False)

    def _scores(self, query: str, documents: list[str]) -> list[float]:
        """Return a score in [0, 1] for each document."""
        if not documents:
            return []
        model = self._load_once()
        with self._lock:  # tokenizers are not thread-safe: padding is configured at each call
            scores = model.predict(
                [(query, document) for document in documents], batch_size=PAIR_BATCH, show_progress_bar=False
            )
        return [float(score) for score in scores]

    def _load_once(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = self._load(is_local=True)
        return self._model

    def _load(self, *, is_local: bool) -> Any:
        """Return the loaded model, from this machine only if `is_local`."""
        with extra("models", f"the reranker {self.model_name!r}", EmbeddingUnavailable):
            from sentence_transformers import CrossEncoder  # imported late, as it imports torch
            from torch.nn import Sigmoid

        try:
            model = CrossEncoder(
                self.model_name, device=self._device, local_files_only=is_local, activation_fn=Sigmoid()
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbeddingUnavailable(
                f"the reranker {self.model_name!r} cannot be loaded from this machine ({error}). Correct "
                "ATLAS_RERANKER, or download it with: atlas init"
            ) from error
        if model.num_labels != 1:
            raise EmbeddingUnavailable(
                f"a reranker should return one score, but {self.model_name!r} returns {model.num_labels}; choose "
                "another"
            )
        return model
