"""Experience memory: attempts at tasks, found for similar tasks, what worked first (ReMem)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from atlas.core.exchange import ExportedExperience
from atlas.core.types import Experience, Hit, Marks, Task, Trajectory, Usage
from atlas.infra import aio
from atlas.memory.experience_async import COLLECTION, AsyncExperienceMemory
from atlas.memory.pruning import PrunePlan
from atlas.protocols.infra import Progress, Where

__all__ = ["COLLECTION", "ChromaExperienceMemory"]


class ChromaExperienceMemory(AsyncExperienceMemory):
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
        self, query: str, k: int = 4, *, where: Where | None = None, count_retrieval: bool = True
    ) -> list[Hit[Experience]]:
        """Sync form of `asearch_hits`."""
        return aio.run(self.asearch_hits(query, k, where=where, count_retrieval=count_retrieval))

    def search_words(self, words: str, k: int = 20, *, where: Where | None = None) -> list[Experience]:
        """Sync form of `asearch_words`."""
        return aio.run(self.asearch_words(words, k, where=where))

    def similar(self, experience_id: str, k: int = 4) -> list[Hit[Experience]]:
        """Sync form of `asimilar`."""
        return aio.run(self.asimilar(experience_id, k))

    def get(self, experience_id: str) -> Experience | None:
        """Sync form of `aget`."""
        return aio.run(self.aget(experience_id))

    def browse(
        self,
        where: Where | None = None,
        *,
        order_by: str = "created_at",
        descending: bool = True,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Sync form of `abrowse`."""
        return aio.run(self.abrowse(where, order_by=order_by, descending=descending, limit=limit, offset=offset))

    def count(self, where: Where | None = None) -> int:
        """Sync form of `acount`."""
        return aio.run(self.acount(where))

    def values(self, key: str, where: Where | None = None) -> dict[Any, int]:
        """Sync form of `avalues`."""
        return aio.run(self.avalues(key, where))

    def edit(self, experience_id: str, **changes: Any) -> Experience:
        """Sync form of `aedit`."""
        return aio.run(self.aedit(experience_id, **changes))

    def delete(self, experience_ids: Sequence[str]) -> int:
        """Sync form of `adelete`."""
        return aio.run(self.adelete(experience_ids))

    def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        """Sync form of `arefine`."""
        return aio.run(self.arefine(experiences, context))

    def record_use(self, experience_id: str, success: bool, *, task_id: str = "") -> None:
        """Sync form of `arecord_use`."""
        aio.run(self.arecord_use(experience_id, success, task_id=task_id))

    def marks(self, experience_ids: Sequence[str]) -> dict[str, Marks]:
        """Sync form of `amarks`."""
        return aio.run(self.amarks(experience_ids))

    def mark(self, marks: Mapping[str, Marks]) -> None:
        """Sync form of `amark`."""
        aio.run(self.amark(marks))

    def usage(self, experience_ids: Sequence[str]) -> dict[str, Usage]:
        """Sync form of `ausage`."""
        return aio.run(self.ausage(experience_ids))

    def plan_prune(self, criteria: Mapping[str, Any]) -> PrunePlan:
        """Sync form of `aplan_prune`."""
        return aio.run(self.aplan_prune(criteria))

    def apply_prune(self, plan: PrunePlan) -> int:
        """Sync form of `aapply_prune`."""
        return aio.run(self.aapply_prune(plan))

    def prune(self, criteria: dict[str, Any]) -> int:
        """Sync form of `aprune`."""
        return aio.run(self.aprune(criteria))

    def export(self, experience_ids: Sequence[str], *, with_vectors: bool = False) -> list[ExportedExperience]:
        """Sync form of `aexport`."""
        return aio.run(self.aexport(experience_ids, with_vectors=with_vectors))

    def __len__(self) -> int:
        """How many experiences there are."""
        return self.count()
