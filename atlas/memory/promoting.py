"""Promotion as methods of a memory system: entries of its journal become experiences and strategies."""

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


class PromotingMemories(ABC):
    """The part of a memory system that promotes entries of its journal."""

    @property
    @abstractmethod
    def journal(self) -> Journal:
        """The agent's notes."""

    @property
    @abstractmethod
    def _memories(self) -> Mapping[str, AnyMemory]:
        """The memories that exist, by name."""

    def plan_promotion(self, entry_id: str) -> Promotion:
        """Return a plan to promote an entry of the journal. The store is not changed.

        A crash becomes an experience with what fixed it as the solution and an unknown outcome, as links show that it
        was fixed, but no run does. A reflection becomes an untried strategy.

        Raises:
            NotFound: It does not exist, or this system has no memory for what it would become.
            InvalidInput: It is neither, the crash is linked to no fix, or it was promoted already.
        """
        return self._promoter.plan(entry_id)

    aplan_promotion = twin(plan_promotion)

    def apply_promotion(self, promotion: Promotion) -> str | None:
        """Apply a plan, as one operation. Return its id, for `undo`.

        Raises:
            PlanOutdated: One of the entries, or what they become, is another by now; the store was not changed.
        """
        return self._promoter.apply(promotion)

    aapply_promotion = twin(apply_promotion)

    @property
    def _promoter(self) -> Promoter:
        from atlas.memory.promotion import Promoter

        memories: Mapping[str, Any] = self._memories
        return Promoter(self.journal, own_memory(memories.get("experience")), own_memory(memories.get("strategies")))
