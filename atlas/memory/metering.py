"""Mixin of a memory system that measures the loss of a plan before it is applied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from atlas.core.types import Experience, Task
from atlas.infra.twin import twin
from atlas.memory.context.block import TokenCounter
from atlas.memory.loss import NO_LOSS, CurationLoss, MeasuredPlan
from atlas.memory.query import AnyMemory
from atlas.storage.store import Store

P = TypeVar("P", bound=MeasuredPlan)


class MeteredMemories(ABC):
    """Mixin of a memory system that measures the loss that plans would cause."""

    @property
    @abstractmethod
    def storage(self) -> Store:
        """The store that the memories share."""

    @property
    @abstractmethod
    def _memories(self) -> Mapping[str, AnyMemory]:
        """The memories that exist, by name."""

    @property
    @abstractmethod
    def token_counter(self) -> TokenCounter:
        """The counter of a context's tokens."""

    def curation_loss(self, memory: str, replacements: Mapping[str, str]) -> CurationLoss:
        """Return the loss to agents if some records are deleted, merged or buried.

        The tasks of these records are replayed against the memories with and without them. Many records are sampled.
        The store is not changed, and no retrieval is counted. Word weights are computed from the whole store.

        Args:
            memory: `experience`, `concepts`, `strategies` or `journal`.
            replacements: For each removed record's id, the id of the record that it is merged into, or an empty string.

        Raises:
            InvalidInput: There is no such memory, or its store keeps no history.
        """
        if not replacements:
            return NO_LOSS
        from atlas.memory.effects.curation import Meter

        return Meter(self._memories, self.storage, self.token_counter).measure(memory, replacements)

    def _right_attempts(self, task: Task, attempts: Sequence[Experience]) -> dict[str, int]:
        """Return the attempts that are right for a task, each with its worth, by id. See `AskedQuery.right`."""
        from atlas.memory.effects.rightness import tasks_of, worth

        experience: Any = self._memories["experience"]
        tasks = tasks_of(experience, attempts, experience, self.storage.judgements.all())
        return {attempt.id: worth(attempt) for attempt in attempts if tasks.is_right(attempt.id, task)}

    acuration_loss = twin(curation_loss)

    def with_loss(self, plan: P) -> P:
        """Return a plan with its `loss`. After the plan is applied, the history shows the loss."""
        loss = self.curation_loss(plan.memory, plan.replacements)
        measured: Any = plan
        return replace(measured, loss=loss)  # type: ignore[no-any-return]
