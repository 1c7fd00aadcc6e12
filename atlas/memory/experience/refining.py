"""Refinement of a memory: a strategy makes a plan, which is applied in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.llm.budget import operation
from atlas.memory.base.records import first_vectors
from atlas.memory.experience.candidates import build_merges, read_merge_candidates
from atlas.memory.experience.merging import plan_merge
from atlas.memory.experience.refinement import ExplainingStrategy
from atlas.memory.experience.refinement.plan import RefinePlan, SetJudge, partition_by_similarity
from atlas.protocols.infra import Progress
from atlas.storage.collection import Collection


def plan_refine(
    store: Collection,
    ids: Sequence[str],
    strategy: ExplainingStrategy,
    dimension: int,
    on_progress: Progress | None = None,
) -> RefinePlan:
    """Return a plan to refine some experiences. Unknown ids are left out.

    Args:
        dimension: Dimension of the store's vectors.
        on_progress: Called after each set with the number of experiences judged, and the total.
    """
    with store.reading():
        moment, n_total = store.moment(), store.count()
        candidates = read_merge_candidates(store, list(dict.fromkeys(ids)))
        existing_ids = [record_id for record_id in dict.fromkeys(ids) if record_id in candidates]
        vectors = first_vectors(existing_ids, store, dimension)
    judge = SetJudge(strategy, candidates)
    with operation():
        for n_judged in judge.judge_all(partition_by_similarity(existing_ids, vectors, strategy.set_size)):
            if on_progress:
                on_progress(n_judged, len(existing_ids))
    return RefinePlan(
        decisions=tuple(judge.decisions),
        made_by=strategy.name,
        prompt=getattr(strategy, "prompt", ""),
        moment=moment,
        n_total=n_total,
        n_in_scope=len(existing_ids),
        failures=tuple(judge.failures),
    )


def apply_refine(store: Collection, plan: RefinePlan) -> int:
    """Apply a plan, and return the number of removed experiences.

    Raises:
        PlanOutdated: An experience of the plan, or its marks, have changed since; the store was not changed.
    """
    if not plan.removed_ids:
        return 0
    store.check_unchanged(plan.changed_ids, plan.moment)
    groups = plan.groups
    candidates = read_merge_candidates(store, [record_id for group in groups for record_id in group])
    merge_plan = plan_merge(groups, candidates, n_total=plan.n_total, moment=plan.moment, keep_first=True)
    store.merge(build_merges(store, merge_plan.groups), plan.moment, [decision.id for decision in plan.dropped])
    return len(plan.removed_ids)
