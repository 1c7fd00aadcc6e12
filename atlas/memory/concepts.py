"""Concept library: reusable code, found by what it does (Stitch, LILO); and its strategies."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

from atlas.core.exchange import ExportedConcept
from atlas.core.settings import RankingWeights
from atlas.core.types import CodeConcept, Trajectory
from atlas.infra import aio
from atlas.infra.clock import SystemClock
from atlas.library_learning.autodoc import LLMAutoDocumenter
from atlas.library_learning.composing import PipelineCompositionStrategy, nothing_found
from atlas.library_learning.proposing import LLMCompositionStrategy
from atlas.library_learning.strategies import StitchCompressionStrategy
from atlas.memory.backing import PlainStore
from atlas.memory.concept_lineage_async import ConceptUses
from atlas.memory.concept_merging import ConceptMergePlan
from atlas.memory.concepts_async import COLLECTION, AsyncConceptLibrary, check_plugged
from atlas.memory.retrieval import RetrievalMemory
from atlas.memory.retrieval_async import Weights
from atlas.memory.versions import ItemVersion
from atlas.protocols.infra import Clock, Embedder, VectorStore
from atlas.protocols.strategies import (
    CompositionStrategy,
    CompressionStrategy,
    ConceptDocumenter,
    PrimitiveLoader,
)
from atlas.storage.vector_store import LedgerVectorStore

__all__ = [
    "COLLECTION",
    "ChromaConceptLibrary",
    "CompositionStrategy",
    "CompressionStrategy",
    "ConceptDocumenter",
    "ConceptUses",
    "LLMAutoDocumenter",
    "LLMCompositionStrategy",
    "PrimitiveLoader",
    "StitchCompressionStrategy",
]


class ChromaConceptLibrary(AsyncConceptLibrary, RetrievalMemory[CodeConcept]):
    """Reusable code, in a vector store.

    Each method has an async twin, with an `a` before its name, whose docstring says more.
    """

    def __init__(
        self,
        embedder: Embedder,
        vector_store: VectorStore | LedgerVectorStore | PlainStore,
        primitive_loader: PrimitiveLoader | None = None,
        composition_strategy: CompositionStrategy | None = None,
        compression_strategy: CompressionStrategy | None = None,
        collection_name: str = COLLECTION,
        *,
        weights: Weights = RankingWeights(),
        clock: Clock = SystemClock(),
    ) -> None:
        """Open a library.

        Args:
            primitive_loader: Its concepts are added now, where the library has them not; that embeds them.

        Raises:
            InvalidInput: Something plugged in is not what it should be; the message says what is missing.
        """
        super().__init__(
            embedder,
            vector_store,
            self._finding(composition_strategy),
            compression_strategy,
            collection_name,
            weights=weights,
            clock=clock,
        )
        check_plugged(PrimitiveLoader, primitive_loader, "primitive_loader", "load")
        if primitive_loader is not None:
            self.load_primitives(primitive_loader)

    def _finding(self, strategy: CompositionStrategy | None) -> CompositionStrategy | None:
        """A strategy; where it was not told whom to ask for what concepts call, one that asks this library."""
        needs_find = PipelineCompositionStrategy | LLMCompositionStrategy
        if isinstance(strategy, needs_find) and strategy.find is nothing_found:
            strategy = copy(strategy)
            strategy.find = self.get
        return strategy

    def _over(self, store: LedgerVectorStore | PlainStore) -> Self:
        return type(self)(
            self.embedder,
            store,
            None,  # they are there already
            self.composition_strategy,
            self.compression_strategy,
            self.collection_name,
            weights=self._weights,
            clock=self._clock,
        )

    def add(self, concept: CodeConcept) -> str:
        """Sync form of `aadd`."""
        return aio.run(self.aadd(concept))

    def add_many(self, concepts: Sequence[CodeConcept], reason: str = "") -> list[str]:
        """Sync form of `aadd_many`."""
        return aio.run(self.aadd_many(concepts, reason))

    def load_primitives(self, loader: PrimitiveLoader) -> list[str]:
        """Sync form of `aload_primitives`."""
        return aio.run(self.aload_primitives(loader))

    def update_primitives(self, loader: PrimitiveLoader) -> list[str]:
        """Sync form of `aupdate_primitives`."""
        return aio.run(self.aupdate_primitives(loader))

    def primitive_updates(self, loader: PrimitiveLoader) -> list[CodeConcept]:
        """Sync form of `aprimitive_updates`."""
        return aio.run(self.aprimitive_updates(loader))

    def edit(self, concept_id: str, **changes: Any) -> CodeConcept:
        """Sync form of `aedit`."""
        return aio.run(self.aedit(concept_id, **changes))

    def update_stats(self, concept_id: str, success: bool) -> None:
        """Sync form of `aupdate_stats`."""
        aio.run(self.aupdate_stats(concept_id, success))

    def plan_merge(self, groups: Sequence[Sequence[str]]) -> ConceptMergePlan:
        """Sync form of `aplan_merge`."""
        return aio.run(self.aplan_merge(groups))

    def apply_merge(self, plan: ConceptMergePlan) -> list[CodeConcept]:
        """Sync form of `aapply_merge`."""
        return aio.run(self.aapply_merge(plan))

    def merge(self, ids: Sequence[str]) -> CodeConcept:
        """Sync form of `amerge`."""
        return aio.run(self.amerge(ids))

    def search(self, query: str, k: int = 5) -> list[CodeConcept]:
        """Sync form of `asearch`."""
        return aio.run(self.asearch(query, k))

    def compose(self, concept_ids: Sequence[str]) -> CodeConcept | None:
        """Sync form of `acompose`."""
        return aio.run(self.acompose(concept_ids))

    def composable(self, concept_ids: Sequence[str]) -> list[CodeConcept]:
        """Sync form of `acomposable`."""
        return aio.run(self.acomposable(concept_ids))

    def compress(self, trajectories: Sequence[Trajectory]) -> list[CodeConcept]:
        """Sync form of `acompress`."""
        return aio.run(self.acompress(trajectories))

    def export(self, concept_ids: Sequence[str]) -> list[ExportedConcept]:
        """Sync form of `aexport`."""
        return aio.run(self.aexport(concept_ids))

    def restore_many(self, exported: Sequence[ExportedConcept]) -> list[str]:
        """Sync form of `arestore_many`."""
        return aio.run(self.arestore_many(exported))

    def uses(self, concept_id: str) -> ConceptUses:
        """Sync form of `auses`."""
        return aio.run(self.auses(concept_id))

    def depends_on(self, concept_id: str) -> list[CodeConcept]:
        """Sync form of `adepends_on`."""
        return aio.run(self.adepends_on(concept_id))

    def dependents(self, concept_ids: Sequence[str]) -> list[CodeConcept]:
        """Sync form of `adependents`."""
        return aio.run(self.adependents(concept_ids))

    def versions(self, concept_id: str) -> list[ItemVersion[CodeConcept]]:
        """Sync form of `aversions`."""
        return aio.run(self.aversions(concept_id))
