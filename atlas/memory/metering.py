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


class LossMixin(ABC):
    """Mixin of a memory system that measures the loss to agents if a plan were applied."""

    @property
    @abstractmethod
    def storage(self) -> Store:
        """The store that the memories share."""

    @property
    @abstractmethod
    def _memories(self) -> Mapping[str, AnyMemory]:
        """The memories that exist, keyed by name."""

    @property
    @abstractmethod
    def token_counter(self) -> TokenCounter:
        """The counter of the tokens of context blocks."""

    def curation_loss(self, memory: str, replacements: Mapping[str, str]) -> CurationLoss:
        """Return the loss to agents if some records were deleted, merged or buried.

        The tasks of these records are replayed against the memories with and without the records. If there are many
        records, only a sample is measured. The store is not changed, and no retrieval is counted. Word weights are
        computed from the whole store.

        Args:
            memory: `experience`, `concepts`, `strategies` or `journal`.
            replacements: Id of the record that a removed one is merged into, or an empty string, keyed by the removed
                one's id.

        Raises:
            InvalidInput: There is no such memory, or its store keeps no history.
        """
        if not replacements:
            return NO_LOSS
        from atlas.memory.effects.curation import LossMeter

        return LossMeter(self._memories, self.storage, self.token_counter).measure(memory, replacements)

    def _worths_of_right_attempts(self, task: Task, attempts: Sequence[Experience]) -> dict[str, int]:
        """Return the worth of each attempt that is right for a task, keyed by id. See `StrictnessQuery.right`."""
        from atlas.memory.effects.rightness import tasks_of, worth

        experience: Any = self._memories["experience"]
        tasks = tasks_of(experience, attempts, experience, self.storage.judgements.all())
        return {attempt.id: worth(attempt) for attempt in attempts if tasks.is_right(attempt.id, task)}

    acuration_loss = twin(curation_loss)

    def with_loss(self, plan: P) -> P:
        """Return a plan with its `loss` measured. After the plan is applied, the history shows the loss."""
        loss = self.curation_loss(plan.memory, plan.replacements)
        measured: Any = plan
        return replace(measured, loss=loss)  # type: ignore[no-any-return]
