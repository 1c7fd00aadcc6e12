"""Plans to merge duplicate strategies: the kept strategy, and the values that it takes over from the others.

The functions are pure: they map strategies to a plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from atlas.core.errors import InvalidInput
from atlas.core.operations import Marks
from atlas.core.types import Strategy
from atlas.memory.base.merging import GroupsPlan, make_store_merge, merge_marks
from atlas.memory.strategies.records import TextFunction, merge_strategies, sort_by_merge_preference, to_entry
from atlas.storage.records import Merge, Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyMergeGroup:
    """A group of strategies to be merged into one of them."""

    merged: Strategy
    """The kept strategy after the merge: its own content, with the sources and parameters of all."""

    why_kept: str
    removed: tuple[Strategy, ...]
    marks: Marks
    """The kept strategy's marks after the merge."""

    @property
    def kept_id(self) -> str:
        """Id of the strategy that stays."""
        return self.merged.id


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyMergePlan(GroupsPlan[StrategyMergeGroup]):
    """A plan to merge strategies."""

    memory: ClassVar[str] = "strategies"


def plan_strategy_merge(
    groups: Sequence[Sequence[str]],
    strategies: Mapping[str, Strategy],
    marks: Mapping[str, Marks],
    *,
    n_total: int,
    moment: Moment,
) -> StrategyMergePlan:
    """Return a plan to merge each group into the most used strategy of the group, or the oldest in a tie.

    Raises:
        InvalidInput: A strategy does not exist.
    """
    for strategy_id in chain.from_iterable(groups):
        if strategy_id not in strategies:
            raise InvalidInput(f"there is no strategy {strategy_id!r} to merge; it may have been deleted")
    merge_groups = tuple(_merge_group([strategies[strategy_id] for strategy_id in ids], marks) for ids in groups)
    return StrategyMergePlan(groups=merge_groups, n_total=n_total, moment=moment)


def build_merge(group: StrategyMergeGroup, row: Mapping[str, Any] | None, text_of: TextFunction) -> Merge:
    """Return the merge of a group for the store, or raise `PlanOutdated` if the kept strategy was deleted."""
    removed_ids = [strategy.id for strategy in group.removed]
    return make_store_merge(row, group.kept_id, to_entry(group.merged, text_of).metadata, removed_ids, group.marks)


def _merge_group(strategies: Sequence[Strategy], marks: Mapping[str, Marks]) -> StrategyMergeGroup:
    survivor, *duplicates = sort_by_merge_preference(strategies)
    return StrategyMergeGroup(
        merged=merge_strategies(survivor, duplicates),
        why_kept=_reason_kept(survivor, duplicates),
        removed=tuple(duplicates),
        marks=merge_marks([marks[strategy.id] for strategy in (survivor, *duplicates)]),
    )


def _reason_kept(survivor: Strategy, duplicates: Sequence[Strategy]) -> str:
    if all(survivor.usage_count > duplicate.usage_count for duplicate in duplicates):
        return "it was used most"
    return "it is the oldest" if not survivor.usage_count else "it is the oldest of the most used"
