"""All memories of one store behind one object."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any

from atlas.core.errors import NotFound
from atlas.core.settings import Settings
from atlas.core.types import Operation, RecordChange, Trajectory
from atlas.infra.clock import SystemClock
from atlas.infra.embeddings import SentenceTransformerEmbedder, choose_model
from atlas.memory import concepts, conversations, experience, journal
from atlas.memory.concepts import ChromaConceptLibrary
from atlas.memory.conversations import Conversations
from atlas.memory.experience import ChromaExperienceMemory
from atlas.memory.journal import Journal
from atlas.protocols.infra import Clock, Embedder, LLMClient, Progress
from atlas.storage.reembed import reembed
from atlas.storage.store import EmbeddingModel, Store


class MemorySystemImpl:
    """The memories of an agent; each is optional, so that what one contributes can be measured."""

    def __init__(
        self,
        experience: ChromaExperienceMemory | None = None,
        concepts: ChromaConceptLibrary | None = None,
        journal: Journal | None = None,
        *,
        conversations: Conversations | None = None,
        storage: Store | None = None,
    ) -> None:
        self._experience = experience
        self._concepts = concepts
        self._journal = journal
        self._conversations = conversations
        self._storage = storage

    @property
    def experience_memory(self) -> ChromaExperienceMemory | None:
        """Attempts at tasks."""
        return self._experience

    @property
    def experience(self) -> ChromaExperienceMemory:
        """Attempts at tasks.

        Raises:
            NotFound: This system was put together without them.
        """
        if self._experience is None:
            raise NotFound("this memory system has no experience memory")
        return self._experience

    @property
    def concept_library(self) -> ChromaConceptLibrary | None:
        """Reusable code."""
        return self._concepts

    @property
    def concepts(self) -> ChromaConceptLibrary:
        """Reusable code.

        Raises:
            NotFound: This system was put together without it.
        """
        if self._concepts is None:
            raise NotFound("this memory system has no concept library")
        return self._concepts

    @property
    def journal(self) -> Journal:
        """What the agent noted, generation by generation.

        Raises:
            NotFound: This system was put together without it.
        """
        if self._journal is None:
            raise NotFound("this memory system has no journal")
        return self._journal

    @property
    def conversations(self) -> Conversations:
        """What people and the agent said to each other.

        Raises:
            NotFound: This system was put together without them.
        """
        if self._conversations is None:
            raise NotFound("this memory system has no conversations")
        return self._conversations

    @property
    def storage(self) -> Store:
        """The store that the memories share.

        Raises:
            NotFound: This system was put together without one.
        """
        if self._storage is None:
            raise NotFound("this memory system has no store; open one with atlas.open_memory")
        return self._storage

    def store(self, trajectory: Trajectory) -> dict[str, Any]:
        """Remember an attempt in every memory that takes it; the ids, by memory."""
        return {"experience": self.experience.store(trajectory)} if self._experience else {}

    def revision(self) -> int:
        """A number that grows with every change to the store, by any process: what to key a cache on."""
        return self.storage.ledger.revision()

    def history(self, limit: int = 50, offset: int = 0) -> list[Operation]:
        """What was done to the store, newest first."""
        return self.storage.history(limit, offset)

    def operation(self, operation_id: str) -> Operation:
        """One operation, by its id or a beginning of it that no other shares; `NotFound` where there is none."""
        return self.storage.operation(operation_id)

    def count_operations(self) -> int:
        """How many operations the history holds."""
        return self.storage.count_operations()

    def changes(self, operation_id: str, limit: int = 50, offset: int = 0) -> list[RecordChange]:
        """What an operation did to each record, in its order, field by field."""
        return self.storage.changes(operation_id, limit, offset)

    def undo(self, operation_id: str, *, reason: str = "") -> Operation:
        """Take an operation back, exactly; see `atlas.storage.undo.undo` for when that is refused."""
        return self.storage.undo(operation_id, reason=reason)

    def close(self) -> None:
        """Catch the index up and let go of every file."""
        if self._storage is not None:
            self._storage.close()

    def __enter__(self) -> MemorySystemImpl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._storage is not None:
            self._storage.__exit__(kind, error, trace)


MemorySystem = MemorySystemImpl


def open_memory(
    path: str | os.PathLike[str] | None = None,
    *,
    embedder: Embedder | None = None,
    llm: LLMClient | None = None,
    read_only: bool = False,
    create: bool = True,
    settings: Settings | None = None,
    clock: Clock | None = None,
    announce: Callable[[str], None] | None = None,
) -> MemorySystem:
    """Open an agent's memory, creating it where there is none.

    Args:
        path: The store directory; `ATLAS_STORE`, or `.atlas`, where it is None.
        embedder: What embeds texts. Where it is None, the model that the store is bound to; for a new store
            `ATLAS_EMBEDDING_MODEL`, else bge-base where it is at hand or can be fetched, else the bundled MiniLM.
        llm: A language model, for the steps that can use one; none of them does yet.
        read_only: Open without writing anything, not even what was retrieved.
        create: Whether it may be created where there is none.
        settings: Options; those of the ATLAS_* variables where it is None.
        announce: Told which model a new store uses, and before anything that takes long; a warning where it is None.

    Raises:
        EmbeddingModelMismatch: The embedder is not the one that the store's vectors were made with.
        StoreError: The store cannot be opened; the message says what to do.
    """
    settings = settings or Settings.from_environment()
    clock = clock or SystemClock()
    storage = Store.open(
        path or settings.store,
        read_only=read_only or settings.read_only,
        create=create,
        settings=settings,
        clock=clock,
    )
    try:
        embedder = embedder or _embedder_for(storage, settings, announce or _warn)
        model = EmbeddingModel(embedder.model_name, embedder.dimension)
        storage.bind(model, checksum=getattr(embedder, "checksum", ""))
        stores = [storage.vector_store(memory.COLLECTION) for memory in (experience, concepts, journal, conversations)]
        refused_store = storage.vector_store(journal.REFUSED_COLLECTION)
    except BaseException:
        storage.ledger.close()
        raise
    weights = settings.ranking or storage.profiles.weights
    return MemorySystemImpl(
        ChromaExperienceMemory(embedder, stores[0], weights=weights, clock=clock),
        ChromaConceptLibrary(embedder, stores[1], weights=weights, clock=clock),
        Journal(embedder, stores[2], refused_store, weights=weights, clock=clock),
        conversations=Conversations(embedder, stores[3], weights=weights, clock=clock),
        storage=storage,
    )


def open_storage(*, settings: Settings, read_only: bool = False, create: bool = True) -> Store:
    """Open a store directory for what needs no embedding: history, undo, backup, doctor."""
    return Store.open(settings.store, read_only=read_only or settings.read_only, create=create, settings=settings)


def reembed_store(settings: Settings, model: str, on_progress: Progress | None = None) -> int:
    """Embed a whole store anew with another model, and bind it to that one; how many texts there were."""
    embedder = SentenceTransformerEmbedder(model, settings.device, settings.batch_size)
    with open_storage(settings=settings, create=False) as storage:
        n_texts = reembed(storage.ledger, embedder, on_progress)
        storage.relabel(EmbeddingModel(embedder.model_name, embedder.dimension), embedder.checksum)
    return n_texts


def _embedder_for(storage: Store, settings: Settings, announce: Callable[[str], None]) -> Embedder:
    bound = storage.model
    if bound is not None:
        name = settings.embedding_model or bound.name
    else:
        choice = choose_model(settings.embedding_model, timeout_seconds=settings.hub_timeout_seconds, announce=announce)
        if not settings.embedding_model:
            announce(choice.announcement)
        name = choice.name
    return SentenceTransformerEmbedder(name, settings.device, settings.batch_size)


def _warn(message: str) -> None:
    import warnings

    warnings.warn(message, stacklevel=3)
