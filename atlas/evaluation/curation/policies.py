"""Policies that shrink a memory: common policies, and ATLAS's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from atlas.core.settings import Settings
from atlas.core.types import Task, Trajectory, Vectors
from atlas.evaluation.replay import group_by_time, temporary_memory
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import WholeEmbedder

MAX_ROUNDS = 8
"""Largest number of plans that `prune_measured` measures. It stops earlier if no task loses its best record."""

EXPERIENCE = frozenset({"experience"})


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record that a policy keeps when it shrinks a memory."""

    attempt: Trajectory
    sources: frozenset[str]
    """Ids of the attempts that the record was made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryToShrink:
    """A memory of attempts to be shrunk by a policy, and the number of records to keep."""

    attempts: Sequence[Trajectory]
    """The attempts, in the order in which they were made."""

    vectors: Vectors
    """Vectors of the descriptions of their tasks."""

    n_kept: int
    embedder: WholeEmbedder
    settings: Settings


Policy = Callable[[MemoryToShrink], list[KeptRecord]]


def sort_by_time(attempts: Sequence[Trajectory]) -> list[Trajectory]:
    """Return attempts sorted by time, oldest first, or unchanged if a time is unknown."""
    return [attempt for group in group_by_time(attempts)[0] for attempt in group]


def keep_newest(memory: MemoryToShrink) -> list[KeptRecord]:
    """Keep the newest attempts."""
    return _as_unmerged(memory.attempts[-memory.n_kept :])


def keep_short(memory: MemoryToShrink) -> list[KeptRecord]:
    """Keep the attempts with the shortest texts."""
    return _as_unmerged(sorted(memory.attempts, key=lambda attempt: len(text_without_task(attempt)))[: memory.n_kept])


def merge_similar(memory: MemoryToShrink) -> list[KeptRecord]:
    """Keep the newest attempt of each group of similar tasks, regardless of the outcomes."""
    return [KeptRecord(group[-1], _ids(group)) for group in _cluster_attempts(memory)]


def summarise_all(memory: MemoryToShrink) -> list[KeptRecord]:
    """Replace each group of similar tasks by one summary, which is about as long as one attempt."""
    return [KeptRecord(_summarise_group(group), _ids(group)) for group in _cluster_attempts(memory)]


def prune(memory: MemoryToShrink) -> list[KeptRecord]:
    """Prune with ATLAS to a number of records. The least successful records are removed first, then the oldest."""
    return _prune(memory, n_rounds=0)


def prune_measured(memory: MemoryToShrink) -> list[KeptRecord]:
    """Prune like `prune`, then keep successes that `curation_loss` lists, until the loss no longer falls."""
    return _prune(memory, n_rounds=MAX_ROUNDS)


POLICIES: Mapping[str, Policy] = {
    "keep the newest": keep_newest,
    "keep the shortest": keep_short,
    "merge by similarity": merge_similar,
    "summarise all": summarise_all,
    "ATLAS: prune": prune,
    "ATLAS: prune, keep what the preview names": prune_measured,
}
"""Policies, keyed by the name of their row in the report."""


def text_without_task(attempt: Trajectory) -> str:
    """Return the text of an attempt without its task: solution, feedback and steps."""
    parts = [str(attempt.metadata.get(name, "")) for name in ("solution", "feedback")]
    parts += [text for step in attempt.steps for text in (step.thought, step.action, step.observation)]
    return "\n".join(part for part in parts if part)


def _prune(memory: MemoryToShrink, n_rounds: int) -> list[KeptRecord]:
    """Prune a memory, and return the remaining records.

    In each round, some successes that tasks would lose are kept as well. The plan that loses the fewest of them is
    used.
    """
    with temporary_memory(EXPERIENCE, memory.embedder, memory.settings) as (system, _):
        attempts = dict(zip(system.experience.store_many(memory.attempts), memory.attempts, strict=True))
        kept_ids = list[str]()
        best_removed, smallest_loss = _pruned_ids(system, memory, kept_ids), len(attempts) + 1
        removed = best_removed
        for _ in range(n_rounds):
            lost_records = system.curation_loss("experience", dict.fromkeys(removed, "")).lost
            successes = [record for record in lost_records if attempts[record.id].outcome.success]
            n_lost = sum(len(record.tasks) for record in successes)
            if n_lost < smallest_loss:
                best_removed, smallest_loss = removed, n_lost
            if not successes or len(kept_ids) == memory.n_kept:
                break
            kept_ids += [record.id for record in successes][: memory.n_kept - len(kept_ids)]
            removed = _pruned_ids(system, memory, kept_ids)
    return _as_unmerged([attempt for record_id, attempt in attempts.items() if record_id not in best_removed])


def _pruned_ids(system: MemorySystem, memory: MemoryToShrink, kept_ids: Sequence[str]) -> set[str]:
    """Return the ids of the records that pruning removes to reach the target number, never those in `kept_ids`."""
    max_count = memory.n_kept
    while True:
        plan = system.experience.plan_prune({"max_count": max_count}, keep=kept_ids)
        surplus = plan.n_total - len(plan.removals) - memory.n_kept
        if surplus <= 0 or not max_count:
            return {decision.id for decision in plan.removals}
        max_count = max(0, max_count - surplus)


def _as_unmerged(attempts: Sequence[Trajectory]) -> list[KeptRecord]:
    return [KeptRecord(attempt, frozenset({attempt.id})) for attempt in attempts]


def _ids(group: Sequence[Trajectory]) -> frozenset[str]:
    return frozenset(attempt.id for attempt in group)


def _cluster_attempts(memory: MemoryToShrink) -> list[list[Trajectory]]:
    """Return `n_kept` groups of attempts, clustered by average linkage. Attempts keep their order."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if memory.n_kept >= len(memory.attempts):
        return [[attempt] for attempt in memory.attempts]
    tree = linkage(memory.vectors.astype(np.float64), method="average", metric="cosine")
    labels = fcluster(np.maximum(tree, 0.0), memory.n_kept, criterion="maxclust")
    groups: dict[int, list[Trajectory]] = {}
    for label, attempt in zip(labels.tolist(), memory.attempts, strict=True):
        groups.setdefault(label, []).append(attempt)
    return list(groups.values())


def _summarise_group(group: Sequence[Trajectory]) -> Trajectory:
    """Return the summary of a group: an attempt with the start of each text, and the most frequent outcome."""
    if len(group) == 1:
        return group[0]
    share = 1 / len(group)
    task = "\n".join(_truncate(attempt.task.description, share) for attempt in group)
    solution = "\n".join(_truncate(text_without_task(attempt), share) for attempt in group)
    latest_attempt = group[-1]
    outcomes = [attempt.outcome.success for attempt in group if attempt.outcome.success is not None]
    success = sum(outcomes) * 2 >= len(outcomes) if outcomes else None
    return replace(
        latest_attempt,
        task=Task(f"summary of {latest_attempt.id}", latest_attempt.task.domain, task),
        outcome=replace(latest_attempt.outcome, success=success),
        steps=(),
        metadata={"solution": solution},
    )


def _truncate(text: str, share: float) -> str:
    return text[: max(1, round(len(text) * share))]
