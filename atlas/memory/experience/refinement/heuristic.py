"""Refining a retrieved set without a language model: merge near-duplicates, drop noise, order by marginal relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from atlas.core.imports.lazy import LazyModule
from atlas.core.types import Experience, Task, Vectors
from atlas.embedding.chunking import encode_any_length
from atlas.embedding.plain import whole_embedder
from atlas.memory.base.ranking import maximal_marginal_relevance
from atlas.memory.experience.refinement.decisions import RefineDecision, RefinedSet, with_merged_ids
from atlas.memory.experience.same_task import is_same_task
from atlas.protocols.infra import Embedder

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = LazyModule("asyncio")


class PassthroughRefineStrategy:
    """A strategy that changes nothing: the baseline of ablations."""

    async def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        """Return the experiences unchanged."""
        return experiences


class HeuristicRefineStrategy:
    """A strategy that refines by rules, without a language model.

    Two experiences are near-duplicates if both their tasks and their solutions are nearly the same. Each group keeps
    its best attempt, whose metadata lists the others under `merged_from`. Noise is an experience without a lesson:
    no solution, no feedback and no informative step.
    """

    name = "rules"
    set_size = 64

    def __init__(
        self,
        embedder: Embedder,
        *,
        duplicate_similarity: float = 0.95,
        diversity: float = 0.3,
        mix_outcomes: bool = True,
    ) -> None:
        """Create the strategy.

        Args:
            duplicate_similarity: Cosine from which two texts count as duplicates.
            diversity: See `maximal_marginal_relevance`.
            mix_outcomes: Whether attempts with different outcomes or tasks may be near-duplicates. Use True for a
                prompt, which needs only one copy, and False for a store, which should keep all.
        """
        self._embedder = whole_embedder(embedder)
        self._duplicate_similarity = duplicate_similarity
        self._diversity = diversity
        self._mix_outcomes = mix_outcomes

    async def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        """Return the experiences worth showing, in the order to show them."""
        return (await self.refine_with_reasons(experiences, context)).experiences

    async def refine_with_reasons(self, experiences: list[Experience], context: Task | None = None) -> RefinedSet:
        """Return the experiences worth keeping, and a decision with a reason for each given experience."""
        useful = [experience for experience in experiences if not _is_noise(experience)]
        decisions = [
            RefineDecision(
                experience_id=experience.id,
                action="drop",
                reason="it has no solution, no feedback and no informative step",
            )
            for experience in experiences
            if _is_noise(experience)
        ]
        if not useful:
            return RefinedSet(experiences=[], decisions=decisions)
        tasks = await self._embed([experience.embedding_text for experience in useful])
        solutions = await self._embed(
            [experience.solution_output or experience.feedback or "-" for experience in useful]
        )
        is_duplicate = np.minimum(tasks @ tasks.T, solutions @ solutions.T) >= self._duplicate_similarity
        if not self._mix_outcomes:
            is_duplicate &= np.array([[_is_same_case(experience, other) for other in useful] for experience in useful])
        groups = _group_duplicates(is_duplicate)
        survivors = [_merge_into_best([useful[position] for position in group]) for group in groups]
        for group, survivor in zip(groups, survivors, strict=True):
            decisions += [_decide(useful[position], survivor, len(group)) for position in group]
        order = await self._order_by_relevance(survivors, context)
        return RefinedSet(experiences=[survivors[position] for position in order], decisions=decisions)

    async def _order_by_relevance(self, experiences: Sequence[Experience], context: Task | None) -> list[int]:
        """Return the positions of experiences in the order of marginal relevance.

        Relevance is the similarity to the task or, without a task, the given order.
        """
        vectors = await self._embed([experience.embedding_text for experience in experiences])
        if context is None:
            relevance = [1.0 - 0.5 * position / len(experiences) for position in range(len(experiences))]
        else:
            query = (await self._embed([context.description]))[0]
            relevance = [float(value) for value in vectors @ query]
        return maximal_marginal_relevance(vectors, relevance, diversity=self._diversity)

    async def _embed(self, texts: list[str]) -> Vectors:
        return await asyncio.to_thread(encode_any_length, self._embedder, texts)


def _is_noise(experience: Experience) -> bool:
    texts = (
        experience.solution_output,
        experience.feedback,
        *(step.thought + step.action + step.observation for step in experience.steps),
    )
    return not any(any(character.isalnum() for character in text) for text in texts)


def _is_same_case(experience: Experience, other: Experience) -> bool:
    return experience.outcome.label == other.outcome.label and is_same_task(experience.task, other.task)


def _group_duplicates(is_duplicate: np.ndarray) -> list[list[int]]:
    """Return groups of positions: the first remaining position with all of its remaining near-duplicates, and so on.

    Two members of a group need not be near-duplicates of each other.

    Args:
        is_duplicate: Whether two items are near-duplicates, shape (n_items, n_items).
    """
    remaining_positions, groups = list(range(len(is_duplicate))), []
    while remaining_positions:
        group = [
            position
            for position in remaining_positions
            if is_duplicate[remaining_positions[0], position] or position == remaining_positions[0]
        ]
        remaining_positions = [position for position in remaining_positions if position not in group]
        groups.append(group)
    return groups


def _merge_into_best(group: list[Experience]) -> Experience:
    best = max(group, key=lambda experience: ({True: 2, None: 1, False: 0}[experience.success], experience.created_at))
    return with_merged_ids(best, [experience for experience in group if experience.id != best.id])


def _decide(experience: Experience, survivor: Experience, group_size: int) -> RefineDecision:
    if experience.id == survivor.id:
        reason = (
            f"the best of {group_size} near-duplicates" if group_size > 1 else "it has no near-duplicate in the set"
        )
        return RefineDecision(experience_id=experience.id, action="keep", reason=reason)
    reason = f"near-duplicate of {survivor.id[:8]}, the better or newer attempt (outcome: {survivor.outcome.label})"
    return RefineDecision(experience_id=experience.id, action="merge", reason=reason, into=survivor.id)
