"""Opening of an agent's memory: the store, its embedding model, and its memories."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas.core.errors import NotFound
from atlas.core.settings import RankingWeights, Settings
from atlas.embedding.cross_encoder import CrossEncoderReranker
from atlas.embedding.plain import whole_embedder
from atlas.embedding.prompts import Prompts, override_prompts, prompts_to_use
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder, choose_model
from atlas.infra.clock import SystemClock
from atlas.memory.base.success_rates import find_updater
from atlas.memory.concepts.automatic import AutomaticCompression
from atlas.memory.system import MemorySystem, MemorySystemImpl
from atlas.protocols.infra import Clock, Embedder, LLMClient, Progress, WholeEmbedder
from atlas.protocols.strategies import ExperienceExtractor, SuccessRateUpdater
from atlas.storage.late_interaction import LateInteraction, returns_tokens
from atlas.storage.store import EmbeddingModel, Store

if TYPE_CHECKING:
    from atlas.memory.concepts.memory import ChromaConceptLibrary
    from atlas.memory.experience.memory import ChromaExperienceMemory
    from atlas.memory.journal import Journal
    from atlas.memory.journal.conversations import Conversations
    from atlas.memory.strategies.memory import ChromaStrategyBank


def open_memory(
    path: str | os.PathLike[str] | None = None,
    *,
    embedder: Embedder | None = None,
    llm: LLMClient | None = None,
    success_updater: SuccessRateUpdater | None = None,
    extractor: ExperienceExtractor | None = None,
    read_only: bool = False,
    create: bool = True,
    settings: Settings | None = None,
    clock: Clock | None = None,
    announce: Callable[[str], None] | None = None,
    confirm: Callable[[str], bool] | None = None,
) -> MemorySystem:
    """Open an agent's memory, creating it if it does not exist.

    Args:
        path: The store directory. None for `ATLAS_STORE`, or else `.atlas`.
        embedder: Any object with a method `encode`. None for the store's own model. A new store then gets
            `ATLAS_EMBEDDING_MODEL`, or else bge-base if it is downloaded or `confirm` allows the download, or else the
            bundled MiniLM.
        llm: A language model that documents the concepts found by compression, composes concepts, abstracts strategies,
            and summarises compacted entries. Without a model, names are derived, concepts are composed by type,
            strategies are made from templates, and summaries are extractive.
        success_updater: Computes the success rates of strategies from all recorded outcomes, so it can be replaced at
            any time. None for `ATLAS_SUCCESS_UPDATER`.
        extractor: Returns the text to embed of a new attempt, such as `LLMSummarizingExtractor(llm)`. None for the
            task's description.
        read_only: Whether to open without any write, not even of retrieval counts.
        create: Whether to create a missing store.
        settings: Options. None for the ATLAS_* variables.
        announce: Called with a message about the model of a new store, and before slow steps. None to warn instead.
        confirm: Called before a model of hundreds of MB is downloaded for a new store. With None, nothing is
            downloaded.

    Raises:
        EmbeddingModelMismatch: The store's vectors come from another embedder.
        StoreError: The store cannot be opened; the message names the remedy.
    """
    settings = settings or Settings.from_environment()
    clock = clock or SystemClock()
    storage = Store.open(
        path or settings.directory,
        read_only=read_only or settings.read_only,
        create=create,
        settings=settings,
        clock=clock,
    )
    try:
        adapted_embedder = whole_embedder(embedder or _choose_embedder(storage, settings, announce or _warn, confirm))
        model = EmbeddingModel(adapted_embedder.model_name, adapted_embedder.dimension)
        storage.bind(model, adapted_embedder)
        if settings.late_interaction and returns_tokens(adapted_embedder):
            storage.late = LateInteraction(storage.ledger, adapted_embedder)
        memory = _MemoryFactories(
            storage=storage,
            embedder=adapted_embedder,
            llm=llm,
            extractor=extractor,
            success_updater=success_updater or find_updater(settings.success_updater),
            weights=settings.ranking or storage.profiles.weights,
            settings=settings,
            clock=clock,
        ).memory()
        if embedder is None:  # another process could not create a given embedder
            memory._compress_automatically(
                AutomaticCompression(storage, lambda: memory.experience, settings.compress_every)
            )
        return memory
    except BaseException:
        storage.ledger.close()
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _MemoryFactories:
    """Factories of the memories over a store. Each imports its module lazily."""

    storage: Store
    embedder: WholeEmbedder
    llm: LLMClient | None
    extractor: ExperienceExtractor | None
    success_updater: SuccessRateUpdater
    weights: RankingWeights | Callable[[], RankingWeights]
    settings: Settings
    clock: Clock

    def memory(self) -> MemorySystemImpl:
        """Return a system of all memories over the store. Each memory is created when it is first used."""
        memory = MemorySystemImpl(storage=self.storage)
        makers = (self.experience, self.concepts, self.strategies, self.journal, self.conversations)
        memory._register_makers({make.__name__: make for make in makers})
        return memory

    @property
    def _ranking_options(self) -> dict[str, Any]:
        return {"weights": self.weights, "clock": self.clock}

    def experience(self) -> ChromaExperienceMemory:
        """Return the experience memory over the store."""
        from atlas.memory.experience.extraction import SimpleExperienceExtractor
        from atlas.memory.experience.memory import COLLECTION, ChromaExperienceMemory

        settings, collection = self.settings, self.storage.collection(COLLECTION)
        reranker = CrossEncoderReranker(settings.reranker, settings.device) if settings.reranker else None
        extract = self.extractor or SimpleExperienceExtractor()
        return ChromaExperienceMemory(self.embedder, collection, extract, reranker=reranker, **self._ranking_options)

    def concepts(self) -> ChromaConceptLibrary:
        """Return the concept library over the store."""
        from atlas.memory.concepts.memory import COLLECTION, ChromaConceptLibrary

        library = ChromaConceptLibrary(self.embedder, self.storage.collection(COLLECTION), **self._ranking_options)
        _set_strategies(library, self.llm, self.settings.program_path)
        return library

    def strategies(self) -> ChromaStrategyBank:
        """Return the strategy bank over the store."""
        from atlas.memory.strategies.induction.llm import LLMStrategyAbstractor
        from atlas.memory.strategies.induction.template import TemplateStrategyAbstractor
        from atlas.memory.strategies.memory import COLLECTION, ChromaStrategyBank

        abstractor = TemplateStrategyAbstractor() if self.llm is None else LLMStrategyAbstractor(self.llm)
        collection = self.storage.collection(COLLECTION)
        return ChromaStrategyBank(self.embedder, collection, abstractor, self.success_updater, **self._ranking_options)

    def journal(self) -> Journal:
        """Return the journal over the store."""
        from atlas.memory.journal import COLLECTION, REFUSED_COLLECTION, Journal

        return Journal(
            self.embedder,
            self.storage.collection(COLLECTION),
            self.storage.collection(REFUSED_COLLECTION),
            keep_noise=self.settings.keep_noise,
            keep_repetitions=self.settings.keep_repetitions,
            llm=self.llm,
            **self._ranking_options,
        )

    def conversations(self) -> Conversations:
        """Return the conversations over the store."""
        from atlas.memory.journal.conversations import COLLECTION, Conversations

        return Conversations(self.embedder, self.storage.collection(COLLECTION), **self._ranking_options)


def open_storage(
    *, settings: Settings, read_only: bool = False, create: bool = True, accept_incomplete: bool = False
) -> Store:
    """Open a store for operations that need no embedding model, such as history, undo and backup.

    Args:
        accept_incomplete: Whether to accept an unfinished copy of another store.
    """
    is_read_only = read_only or settings.read_only
    return Store.open(
        settings.directory,
        read_only=is_read_only,
        create=create,
        settings=settings,
        accept_incomplete=accept_incomplete,
    )


def reembed_store(settings: Settings, model: str = "", on_progress: Progress | None = None) -> tuple[str, int]:
    """Embed all texts of a store again, and bind the store to the new model.

    Args:
        model: Name of the new model. Empty for the store's own model.

    Returns:
        The name of the model, and the number of texts.

    Raises:
        NotFound: The store has no model, and `model` is empty.
    """
    from atlas.storage.maintenance.reembed import reembed

    with open_storage(settings=settings, create=False) as storage:
        name = model or (storage.model.name if storage.model else "")
        if not name:
            raise NotFound("the store has no embedding model yet; choose one with: atlas reembed --model NAME")
        embedder = sentence_embedder(name, settings)
        n_texts = reembed(storage.ledger, embedder, on_progress, with_token_vectors=settings.late_interaction)
        storage.relabel(EmbeddingModel(embedder.model_name, embedder.dimension), embedder.checksum)
    return embedder.model_name, n_texts


def _choose_embedder(
    storage: Store, settings: Settings, announce: Callable[[str], None], confirm: Callable[[str], bool] | None
) -> WholeEmbedder:
    """Return the embedder of the store's model. For a new store, choose a model first, and announce it."""
    model = storage.model
    if model is not None:
        return _embedder_of_store(storage, settings.embedding_model or model.name, settings, announce)
    choice = choose_model(
        settings.embedding_model,
        timeout_seconds=settings.hub_timeout_seconds,
        announce=announce,
        confirm=confirm,
    )
    if not settings.embedding_model:
        announce(choice.announcement)
    return sentence_embedder(choice.name, settings)


def sentence_embedder(name: str, settings: Settings) -> SentenceTransformerEmbedder:
    """Return the embedder of a sentence-transformers model, with the prompts of the settings."""
    embedder = SentenceTransformerEmbedder(name, settings.device, settings.batch_size, settings.cache)
    if settings.query_prompt or settings.document_prompt:
        embedder.use_prompts(override_prompts(embedder.prompts, settings.query_prompt, settings.document_prompt))
    return embedder


def _embedder_of_store(
    storage: Store, name: str, settings: Settings, announce: Callable[[str], None]
) -> SentenceTransformerEmbedder:
    """Return the embedder of a store's model, with the prompts from which the store's vectors were made."""
    embedder = sentence_embedder(name, settings)
    model = storage.model
    if model is None or embedder.model_name != model.name:
        return embedder
    declared_prompts = embedder.prompts
    kept_prompts = override_prompts(
        prompts_to_use(declared_prompts, storage.prompts), settings.query_prompt, settings.document_prompt
    )
    if kept_prompts != declared_prompts:
        announce(
            f"This store was embedded with the prompts {_describe_prompts(kept_prompts)}, which stay in use. Its model "
            f"{name} now declares {_describe_prompts(declared_prompts)}. To use the new prompts, run: atlas reembed"
        )
        embedder.use_prompts(kept_prompts)
    return embedder


def _describe_prompts(prompts: Prompts) -> str:
    return f"{prompts.query!r} for questions and {prompts.document!r} for documents"


def _set_strategies(library: ChromaConceptLibrary, llm: LLMClient | None, path: Sequence[Path]) -> None:
    """Give a concept library its compression strategy and its composition strategy.

    Args:
        path: Import path of the programs and concepts.
    """
    from atlas.learning.composition import PipelineCompositionStrategy
    from atlas.learning.model_composition import LLMCompositionStrategy
    from atlas.learning.naming.autodoc import LLMAutoDocumenter
    from atlas.learning.strategies import StitchCompressionStrategy

    if llm is None:
        library.compression_strategy = StitchCompressionStrategy(path=path)
        library.composition_strategy = PipelineCompositionStrategy(library.get, path=path)
    else:
        library.compression_strategy = StitchCompressionStrategy(LLMAutoDocumenter(llm), path=path)
        library.composition_strategy = LLMCompositionStrategy(llm, library.get, path=path)


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=3)
