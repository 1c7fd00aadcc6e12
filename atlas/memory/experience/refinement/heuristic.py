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
                experience_id=e.id, action="drop", reason="it has no solution, no feedback and no informative step"
            )
            for e in experiences
            if _is_noise(e)
        ]
        if not useful:
            return RefinedSet(experiences=[], decisions=decisions)
        tasks = await self._embed([experience.embedding_text for experience in useful])
        solutions = await self._embed(
            [experience.solution_output or experience.feedback or "-" for experience in useful]
        )
        is_same = np.minimum(tasks @ tasks.T, solutions @ solutions.T) >= self._duplicate_similarity
        if not self._mix_outcomes:
            is_same &= np.array([[_is_same_case(experience, other) for other in useful] for experience in useful])
        groups = _groups(is_same)
        merged = [_merge([useful[position] for position in group]) for group in groups]
        for group, result in zip(groups, merged, strict=True):
            decisions += [_decision(useful[position], result, len(group)) for position in group]
        order = await self._order(merged, context)
        return RefinedSet(experiences=[merged[position] for position in order], decisions=decisions)

    async def _order(self, experiences: Sequence[Experience], context: Task | None) -> list[int]:
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
        *(s.thought + s.action + s.observation for s in experience.steps),
    )
    return not any(any(character.isalnum() for character in text) for text in texts)


def _is_same_case(experience: Experience, other: Experience) -> bool:
    return experience.outcome.label == other.outcome.label and is_same_task(experience.task, other.task)


def _groups(is_same: np.ndarray) -> list[list[int]]:
    """Return groups of positions. Each group is the first remaining item with all its remaining near-duplicates.

    Near-duplication is not transitive, so two items of a group may differ.
    """
    remaining, groups = list(range(len(is_same))), []
    while remaining:
        group = [item for item in remaining if is_same[remaining[0], item] or item == remaining[0]]
        remaining = [item for item in remaining if item not in group]
        groups.append(group)
    return groups


def _merge(group: list[Experience]) -> Experience:
    best = max(group, key=lambda e: ({True: 2, None: 1, False: 0}[e.success], e.created_at))
    return with_merged_ids(best, [experience for experience in group if experience.id != best.id])


def _decision(experience: Experience, result: Experience, size: int) -> RefineDecision:
    if experience.id == result.id:
        reason = f"the best of {size} near-duplicates" if size > 1 else "it has no near-duplicate in the set"
        return RefineDecision(experience_id=experience.id, action="keep", reason=reason)
    reason = f"near-duplicate of {result.id[:8]}, the better or newer attempt (outcome: {result.outcome.label})"
    return RefineDecision(experience_id=experience.id, action="merge", reason=reason, into=result.id)
