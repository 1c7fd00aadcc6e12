"""Job that plans the refinement of a store, without writing to the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from atlas.core.schema import decode, encode
from atlas.embedding.cached import CachedEmbedder
from atlas.infra.clock import SystemClock
from atlas.jobs.artefact import ArtefactFile
from atlas.jobs.live import LiveResult
from atlas.jobs.memory_job import MemoryJob, append_usage, requested_model, usage_text
from atlas.maps.map import OnProgress
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.experience.refinement.decisions import ExplainingStrategy
from atlas.memory.experience.refinement.heuristic import HeuristicRefineStrategy
from atlas.memory.experience.refinement.llm import LLMRefineStrategy
from atlas.memory.experience.refinement.plan import RefinePlan
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import LLMClient
from atlas.storage.records import IS_QUARANTINED

MAX_EXPERIENCES = 500
"""Default for the number of newest experiences that are judged."""


class RefinementFile(ArtefactFile[RefinePlan]):
    """File of the latest refinement plan of a collection, kept until it is applied."""

    kind = "refinement"

    def _header(self, artefact: RefinePlan) -> Mapping[str, Any]:
        return encode(artefact)

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> RefinePlan:
        """Return the plan, or raise `ValueError` if it is malformed."""
        plan = decode(RefinePlan, header, "plan", strict=True)
        kept_ids = {decision.id for decision in plan.decisions if not decision.is_removed}
        if any(decision.into not in kept_ids for decision in plan.merged):
            raise ValueError("expected a kept record as the target of each merge, got a dropped one")
        for decision in plan.decisions:
            if decision.action not in ("keep", "merge", "drop"):
                raise ValueError(f"expected the decision keep, merge or drop, got {decision.action!r:.60}")
        return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinementJob(MemoryJob):
    """Job that plans the refinement of matching experiences. The plan is saved as a `RefinementFile`."""

    where: Mapping[str, Any] = field(default_factory=dict)
    max_experiences: int = MAX_EXPERIENCES
    with_model: bool = False
    """True if the configured language model judges, instead of rules."""

    def file(self) -> RefinementFile:
        """Return the file of the plan."""
        return RefinementFile(Path(self.output), COLLECTION)

    def make(self, on_progress: OnProgress, file: ArtefactFile[Any]) -> RefinePlan:
        """Make the plan.

        Raises:
            LLMUnavailable: A model is required, but not configured.
        """
        llm = requested_model(self.with_model, on_progress)
        with self.open_read_only(on_progress) as memory:
            return plan_now(memory, self.where, max_experiences=self.max_experiences, llm=llm, on_progress=on_progress)


def plan_now(
    memory: MemorySystem,
    where: Mapping[str, Any] | None = None,
    *,
    max_experiences: int = MAX_EXPERIENCES,
    llm: LLMClient | None = None,
    on_progress: OnProgress = lambda done, total, message: None,
) -> RefinePlan:
    """Plan the refinement of the newest matching experiences. Without a language model, rules are used."""
    where = dict(where or {})
    ids = newest_ids(memory, where)
    plan = memory.experience.plan_refine(
        ids[:max_experiences],
        choose_refine_strategy(memory, llm),
        lambda done, total: on_progress(done, total, append_usage(f"judged {done:,} of {total:,}", llm)),
    )
    return replace(
        plan,
        n_in_scope=len(ids),
        spent=usage_text(llm),
        where=where,
        made_at=SystemClock().now().isoformat(timespec="seconds"),
    )


def choose_refine_strategy(memory: MemorySystem, llm: LLMClient | None) -> ExplainingStrategy:
    """Return the refine strategy: a language model, or rules that only merge experiences with the same outcome."""
    if llm is not None:
        return LLMRefineStrategy(llm)
    return HeuristicRefineStrategy(CachedEmbedder(memory.experience.embedder), mix_outcomes=False)


def newest_ids(memory: MemorySystem, where: Mapping[str, Any]) -> list[str]:
    """Return the ids of matching experiences, newest first. Experiences in quarantine are left out."""
    created_at = memory.experience.column("created_at", where)
    for record_id in memory.experience.ids(IS_QUARANTINED):
        created_at.pop(record_id, None)
    return sorted(created_at, key=lambda record_id: created_at[record_id] or "", reverse=True)


class LiveRefinement(LiveResult[RefinePlan]):
    """The latest refinement plan of a store, made by the worker and shared by all viewers."""

    def submit(self, where: Mapping[str, Any], max_experiences: int, with_model: bool) -> None:
        """Submit a job for the experiences that match a filter."""
        self._submit(
            RefinementJob(
                **self._job_arguments, where=dict(where), max_experiences=max_experiences, with_model=with_model
            )
        )

    def file(self, directory: Path) -> RefinementFile:
        """Return the file of the plan."""
        return RefinementFile(directory, COLLECTION)
