"""Experience memory: attempts at tasks, found for similar tasks, what worked first (ReMem)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from atlas.core.exchange import ExportedExperience
from atlas.core.types import Experience, Hit, Retrieval, Task, Trajectory
from atlas.infra import aio
from atlas.memory.experience_async import COLLECTION, AsyncExperienceMemory
from atlas.memory.merging import MergePlan
from atlas.memory.pruning import PrunePlan
from atlas.memory.records import RecordMemory
from atlas.protocols.infra import Progress, Where

__all__ = ["COLLECTION", "ChromaExperienceMemory"]


class ChromaExperienceMemory(AsyncExperienceMemory, RecordMemory):
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

    def search_hits(
        self,
        query: str,
        k: int = 4,
        *,
        where: Where | None = None,
        count_retrieval: bool = True,
        with_buried: bool = False,
    ) -> list[Hit[Experience]]:
        """Sync form of `asearch_hits`."""
        return aio.run(
            self.asearch_hits(query, k, where=where, count_retrieval=count_retrieval, with_buried=with_buried)
        )

    def retrieve(
        self,
        query: str,
        k: int = 4,
        *,
        where: Where | None = None,
        threshold: float | None = None,
        distinct: bool = False,
        diversity: float = 0.0,
        count_retrieval: bool = True,
        with_buried: bool = False,
    ) -> Retrieval[Experience]:
        """Sync form of `aretrieve`."""
        return aio.run(
            self.aretrieve(
                query,
                k,
                where=where,
                threshold=threshold,
                distinct=distinct,
                diversity=diversity,
                count_retrieval=count_retrieval,
                with_buried=with_buried,
            )
        )

    def search_words(
        self, words: str, k: int = 20, *, where: Where | None = None, with_buried: bool = False
    ) -> list[Experience]:
        """Sync form of `asearch_words`."""
        return aio.run(self.asearch_words(words, k, where=where, with_buried=with_buried))

    def similar(self, experience_id: str, k: int = 4, *, with_buried: bool = False) -> list[Hit[Experience]]:
        """Sync form of `asimilar`."""
        return aio.run(self.asimilar(experience_id, k, with_buried=with_buried))

    def passage(self, experience_id: str, query: str) -> str | None:
        """Sync form of `apassage`."""
        return aio.run(self.apassage(experience_id, query))

    def get(self, experience_id: str) -> Experience | None:
        """Sync form of `aget`."""
        return aio.run(self.aget(experience_id))

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

    def export(self, experience_ids: Sequence[str], *, with_vectors: bool = False) -> list[ExportedExperience]:
        """Sync form of `aexport`."""
        return aio.run(self.aexport(experience_ids, with_vectors=with_vectors))
