"""Policies that shrink a memory: common policies, and ATLAS's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from atlas.core.settings import Settings
from atlas.core.types import Task, Trajectory, Vectors
from atlas.evaluation.replay import group_by_time, scratch_memory
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import WholeEmbedder

ROUNDS = 8
"""Largest number of plans that are measured until no task loses its best record."""

EXPERIENCE = frozenset({"experience"})


@dataclass(frozen=True, slots=True)
class Remains:
    """A record that remains in a memory after a policy has shrunk it."""

    attempt: Trajectory
    sources: frozenset[str]
    """Ids of the attempts that the record was made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrinking:
    """A memory of attempts, and its target size."""

    attempts: Sequence[Trajectory]
    """The attempts, in the order in which they were made."""

    vectors: Vectors
    """Vectors of the descriptions of their tasks."""

    n_kept: int
    embedder: WholeEmbedder
    settings: Settings


Policy = Callable[[Shrinking], list[Remains]]


def in_order(attempts: Sequence[Trajectory]) -> list[Trajectory]:
    """Return attempts in the order in which they were made, as far as it is known."""
    return [attempt for moment in group_by_time(attempts)[0] for attempt in moment]


def keep_newest(memory: Shrinking) -> list[Remains]:
    """Keep the newest attempts."""
    return _alone(memory.attempts[-memory.n_kept :])


def keep_short(memory: Shrinking) -> list[Remains]:
    """Keep the attempts with the shortest texts."""
    return _alone(sorted(memory.attempts, key=lambda attempt: len(text_of(attempt)))[: memory.n_kept])


def merge_similar(memory: Shrinking) -> list[Remains]:
    """Merge attempts at the most similar tasks, regardless of their outcomes. The newest of each group stays."""
    return [Remains(group[-1], _ids(group)) for group in _groups(memory)]


def summarise_all(memory: Shrinking) -> list[Remains]:
    """Replace groups of similar attempts by summaries: the start of each text, in total as long as one attempt."""
    return [Remains(_summary(group), _ids(group)) for group in _groups(memory)]


def prune(memory: Shrinking) -> list[Remains]:
    """Prune with ATLAS to a number of records. The least successful are removed first, then the oldest."""
    return _prune(memory, rounds=0)


def prune_measured(memory: Shrinking) -> list[Remains]:
    """Prune with ATLAS, and protect the successes that the preview lists, as long as that helps more tasks."""
    return _prune(memory, rounds=ROUNDS)


POLICIES: Mapping[str, Policy] = {
    "keep the newest": keep_newest,
    "keep the shortest": keep_short,
    "merge by similarity": merge_similar,
    "summarise all": summarise_all,
    "ATLAS: prune": prune,
    "ATLAS: prune, keep what the preview names": prune_measured,
}
"""Policies by the name of their row in the report."""


def text_of(attempt: Trajectory) -> str:
    """Return the text of an attempt without its task: solution, feedback and steps."""
    parts = [str(attempt.metadata.get(name, "")) for name in ("solution", "feedback")]
    parts += [text for step in attempt.steps for text in (step.thought, step.action, step.observation)]
    return "\n".join(part for part in parts if part)


def _prune(memory: Shrinking, rounds: int) -> list[Remains]:
    with scratch_memory(EXPERIENCE, memory.embedder, memory.settings) as (system, _):
        attempts = dict(zip(system.experience.store_many(memory.attempts), memory.attempts, strict=True))
        kept_ids = list[str]()
        best_going, fewest = _pruned_ids(system, memory, kept_ids), len(attempts) + 1
        removed = best_going
        for _ in range(rounds):
            lost_records = system.curation_loss("experience", dict.fromkeys(removed, "")).lost
            successes = [record for record in lost_records if attempts[record.id].outcome.success]
            n_lost = sum(len(record.tasks) for record in successes)
            if n_lost < fewest:
                best_going, fewest = removed, n_lost
            if not successes or len(kept_ids) == memory.n_kept:
                break
            kept_ids += [record.id for record in successes][: memory.n_kept - len(kept_ids)]
            removed = _pruned_ids(system, memory, kept_ids)
    return _alone([attempt for record_id, attempt in attempts.items() if record_id not in best_going])


def _pruned_ids(system: MemorySystem, memory: Shrinking, kept_ids: Sequence[str]) -> set[str]:
    """Return the ids that pruning removes to reach the target number of records, `kept_ids` being protected."""
    n_max = memory.n_kept
    while True:
        plan = system.experience.plan_prune({"max_count": n_max}, keep=kept_ids)
        surplus = plan.n_total - len(plan.removals) - memory.n_kept
        if surplus <= 0 or not n_max:
            return {decision.id for decision in plan.removals}
        n_max = max(0, n_max - surplus)


def _alone(attempts: Sequence[Trajectory]) -> list[Remains]:
    return [Remains(attempt, frozenset({attempt.id})) for attempt in attempts]


def _ids(group: Sequence[Trajectory]) -> frozenset[str]:
    return frozenset(attempt.id for attempt in group)


def _groups(memory: Shrinking) -> list[list[Trajectory]]:
    """Return a group of attempts for each record to keep, by average linkage. Attempts keep their order."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if memory.n_kept >= len(memory.attempts):
        return [[attempt] for attempt in memory.attempts]
    tree = linkage(memory.vectors.astype(np.float64), method="average", metric="cosine")
    labels = fcluster(np.maximum(tree, 0.0), memory.n_kept, criterion="maxclust")
    groups: dict[int, list[Trajectory]] = {}
    for label, attempt in zip(labels.tolist(), memory.attempts, strict=True):
        groups.setdefault(label, []).append(attempt)
    return list(groups.values())


def _summary(group: Sequence[Trajectory]) -> Trajectory:
    """Return an attempt with the start of each text of a group, and the most frequent outcome."""
    if len(group) == 1:
        return group[0]
    share = 1 / len(group)
    task = "\n".join(_truncate(attempt.task.description, share) for attempt in group)
    solution = "\n".join(_truncate(text_of(attempt), share) for attempt in group)
    last = group[-1]
    outcomes = [attempt.outcome.success for attempt in group if attempt.outcome.success is not None]
    success = sum(outcomes) * 2 >= len(outcomes) if outcomes else None
    return replace(
        last,
        task=Task(f"summary of {last.id}", last.task.domain, task),
        outcome=replace(last.outcome, success=success),
        steps=(),
        metadata={"solution": solution},
    )


def _truncate(text: str, share: float) -> str:
    return text[: max(1, round(len(text) * share))]
