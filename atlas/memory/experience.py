"""Experience memory: attempts at tasks, found for similar tasks, what worked first (ReMem); and its strategies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from atlas.core.exchange import ExportedExperience
from atlas.core.types import Experience, Task, Trajectory
from atlas.infra import aio
from atlas.memory.experience_async import COLLECTION, AsyncExperienceMemory
from atlas.memory.extraction import SimpleExperienceExtractor
from atlas.memory.merging import MergePlan
from atlas.memory.model_extraction import LLMSummarizingExtractor
from atlas.memory.model_refinement import LLMRefineStrategy
from atlas.memory.pruning import PrunePlan
from atlas.memory.refinement import ExplainingStrategy, PassthroughRefineStrategy
from atlas.memory.refinement_plan import RefinePlan
from atlas.memory.retrieval import RetrievalMemory
from atlas.protocols.infra import Progress
from atlas.protocols.strategies import ExperienceExtractor, RefineStrategy

__all__ = [
    "COLLECTION",
    "ChromaExperienceMemory",
    "ExperienceExtractor",
    "LLMRefineStrategy",
    "LLMSummarizingExtractor",
    "PassthroughRefineStrategy",
    "RefineStrategy",
    "SimpleExperienceExtractor",
]


class ChromaExperienceMemory(AsyncExperienceMemory, RetrievalMemory[Experience]):
    """Attempts at tasks, in a vector store.

    Each method has an async twin, with an `a` before its name, whose docstring says more.
    """

    def store(self, trajectory: Trajectory) -> str:
        """Sync form of `astore`."""
        return aio.run(self.astore(trajectory))

    def store_many(
        self, trajectories: Iterable[Trajectory], on_progress: Progress | None = None, *, skip_known: bool = False
    ) -> list[str]:
        """Sync form of `astore_many`."""
        return aio.run(self.astore_many(trajectories, on_progress, skip_known=skip_known))

    def restore_many(self, exported: Sequence[ExportedExperience]) -> list[str]:
        """Sync form of `arestore_many`."""
        return aio.run(self.arestore_many(exported))

    def search(self, task: Task, k: int = 4) -> list[Experience]:
        """Sync form of `asearch`."""
        return aio.run(self.asearch(task, k))

    def edit(self, experience_id: str, **changes: Any) -> Experience:
        """Sync form of `aedit`."""
        return aio.run(self.aedit(experience_id, **changes))

    def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        """Sync form of `arefine`."""
        return aio.run(self.arefine(experiences, context))

    def plan_prune(self, criteria: Mapping[str, Any], among: Sequence[str] | None = None) -> PrunePlan:
        """Sync form of `aplan_prune`."""
        return aio.run(self.aplan_prune(criteria, among))

    def apply_prune(self, plan: PrunePlan) -> int:
        """Sync form of `aapply_prune`."""
        return aio.run(self.aapply_prune(plan))

    def prune(self, criteria: dict[str, Any]) -> int:
        """Sync form of `aprune`."""
        return aio.run(self.aprune(criteria))

    def plan_merge(self, groups: Sequence[Sequence[str]]) -> MergePlan:
        """Sync form of `aplan_merge`."""
        return aio.run(self.aplan_merge(groups))

    def apply_merge(self, plan: MergePlan) -> list[Experience]:
        """Sync form of `aapply_merge`."""
        return aio.run(self.aapply_merge(plan))

    def merge(self, ids: Sequence[str]) -> Experience:
        """Sync form of `amerge`."""
        return aio.run(self.amerge(ids))

    def plan_refine(
        self, ids: Sequence[str], strategy: ExplainingStrategy, on_progress: Progress | None = None
    ) -> RefinePlan:
        """Sync form of `aplan_refine`."""
        return aio.run(self.aplan_refine(ids, strategy, on_progress))

    def check_refine(self, plan: RefinePlan) -> None:
        """Sync form of `acheck_refine`."""
        aio.run(self.acheck_refine(plan))

    def apply_refine(self, plan: RefinePlan) -> int:
        """Sync form of `aapply_refine`."""
        return aio.run(self.aapply_refine(plan))

    def export(self, experience_ids: Sequence[str], *, with_vectors: bool = False) -> list[ExportedExperience]:
        """Sync form of `aexport`."""
        return aio.run(self.aexport(experience_ids, with_vectors=with_vectors))
