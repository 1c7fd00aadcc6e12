"""Strategy bank: what to do in which situation, and how surely that works (ArcMemo); and its strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atlas.core.exchange import ExportedStrategy
from atlas.core.operations import Use
from atlas.core.types import Strategy, Task, Trajectory
from atlas.infra import aio
from atlas.memory.model_abstracting import LLMStrategyAbstractor
from atlas.memory.retrieval import RetrievalMemory
from atlas.memory.strategies_async import AsyncStrategyBank
from atlas.memory.strategy_merging import StrategyMergePlan
from atlas.memory.strategy_outcomes_async import (
    BY_HAND,
    BY_OUTCOMES,
    COLLECTION,
    RetirementRule,
    StrategyRate,
)
from atlas.memory.strategy_writing import StrategyWritePlan
from atlas.memory.updating import BayesianUpdater, EMASuccessUpdater, SimpleAverageUpdater
from atlas.memory.versions import ItemVersion
from atlas.protocols.infra import Progress
from atlas.protocols.strategies import StrategyAbstractor, SuccessRateUpdater

__all__ = [
    "BY_HAND",
    "BY_OUTCOMES",
    "COLLECTION",
    "BayesianUpdater",
    "ChromaStrategyBank",
    "EMASuccessUpdater",
    "LLMStrategyAbstractor",
    "RetirementRule",
    "SimpleAverageUpdater",
    "StrategyAbstractor",
    "StrategyRate",
    "SuccessRateUpdater",
]


class ChromaStrategyBank(AsyncStrategyBank, RetrievalMemory[Strategy]):
    """What to do in which situation, in a vector store.

    Each method has an async twin, with an `a` before its name, whose docstring says more.
    """

    def write(self, trajectory: Trajectory) -> Strategy | None:
        """Sync form of `awrite`."""
        return aio.run(self.awrite(trajectory))

    def add(self, strategy: Strategy) -> str:
        """Sync form of `aadd`."""
        return aio.run(self.aadd(strategy))

    def read(self, task: Task, k: int = 5) -> list[Strategy]:
        """Sync form of `aread`."""
        return aio.run(self.aread(task, k))

    def update_stats(self, strategy_id: str, success: bool, *, task_id: str = "", trajectory_id: str = "") -> None:
        """Sync form of `aupdate_stats`."""
        aio.run(self.aupdate_stats(strategy_id, success, task_id=task_id, trajectory_id=trajectory_id))

    def attempts(self, strategy_id: str) -> list[Use]:
        """Sync form of `aattempts`."""
        return aio.run(self.aattempts(strategy_id))

    def attempts_of(self, strategy_ids: Sequence[str]) -> dict[str, list[Use]]:
        """Sync form of `aattempts_of`."""
        return aio.run(self.aattempts_of(strategy_ids))

    def rate(self, strategy_id: str) -> StrategyRate:
        """Sync form of `arate`."""
        return aio.run(self.arate(strategy_id))

    def rates(self, strategy_ids: Sequence[str]) -> dict[str, StrategyRate]:
        """Sync form of `arates`."""
        return aio.run(self.arates(strategy_ids))

    def retire(self, strategy_ids: Sequence[str]) -> int:
        """Sync form of `aretire`."""
        return aio.run(self.aretire(strategy_ids))

    def unretire(self, strategy_ids: Sequence[str]) -> int:
        """Sync form of `aunretire`."""
        return aio.run(self.aunretire(strategy_ids))

    def edit(self, strategy_id: str, **changes: Any) -> Strategy:
        """Sync form of `aedit`."""
        return aio.run(self.aedit(strategy_id, **changes))

    def retired(self) -> dict[str, str]:
        """Sync form of `aretired`."""
        return aio.run(self.aretired())

    def plan_write(self, trajectories: Sequence[Trajectory], on_progress: Progress | None = None) -> StrategyWritePlan:
        """Sync form of `aplan_write`."""
        return aio.run(self.aplan_write(trajectories, on_progress))

    def apply_write(self, plan: StrategyWritePlan) -> list[str]:
        """Sync form of `aapply_write`."""
        return aio.run(self.aapply_write(plan))

    def plan_merge(self, groups: Sequence[Sequence[str]]) -> StrategyMergePlan:
        """Sync form of `aplan_merge`."""
        return aio.run(self.aplan_merge(groups))

    def apply_merge(self, plan: StrategyMergePlan) -> list[Strategy]:
        """Sync form of `aapply_merge`."""
        return aio.run(self.aapply_merge(plan))

    def versions(self, strategy_id: str) -> list[ItemVersion[Strategy]]:
        """Sync form of `aversions`."""
        return aio.run(self.aversions(strategy_id))

    def export(self, strategy_ids: Sequence[str]) -> list[ExportedStrategy]:
        """Sync form of `aexport`."""
        return aio.run(self.aexport(strategy_ids))

    def restore_many(self, exported: Sequence[ExportedStrategy]) -> list[str]:
        """Sync form of `arestore_many`."""
        return aio.run(self.arestore_many(exported))

    def merge(self, ids: Sequence[str]) -> Strategy:
        """Sync form of `amerge`."""
        return aio.run(self.amerge(ids))
