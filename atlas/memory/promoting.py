"""Mixin of a memory system that promotes journal entries to experiences and strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from atlas.infra.twin import twin
from atlas.memory.plugged import own_memory
from atlas.memory.query import AnyMemory

if TYPE_CHECKING:
    from atlas.memory.journal import Journal
    from atlas.memory.promotion import Promoter, Promotion


class PromotionMixin(ABC):
    """Mixin of a memory system that promotes entries of its journal."""

    @property
    @abstractmethod
    def journal(self) -> Journal:
        """The agent's journal."""

    @property
    @abstractmethod
    def _memories(self) -> Mapping[str, AnyMemory]:
        """The memories that exist, keyed by name."""

    def plan_promotion(self, entry_id: str) -> Promotion:
        """Return a plan to promote an entry of the journal. The store is not changed.

        A crash becomes an experience with its fix as the solution and an unknown outcome, because no run has confirmed
        the fix. A reflection becomes an untried strategy.

        Raises:
            NotFound: The entry does not exist, or this system lacks the target memory.
            InvalidInput: The entry is neither a crash with a linked fix nor a reflection, or was promoted already.
        """
        return self._promoter.plan(entry_id)

    aplan_promotion = twin(plan_promotion)

    def apply_promotion(self, promotion: Promotion) -> str | None:
        """Apply a plan as one operation, and return the operation's id.

        Raises:
            PlanOutdated: An entry or the target has changed since; the store was not changed.
            NotAllowed: An entry is by another actor, and the actor is not a curator.
        """
        return self._promoter.apply(promotion)

    aapply_promotion = twin(apply_promotion)

    @property
    def _promoter(self) -> Promoter:
        from atlas.memory.promotion import Promoter

        memories: Mapping[str, Any] = self._memories
        return Promoter(self.journal, own_memory(memories.get("experience")), own_memory(memories.get("strategies")))
