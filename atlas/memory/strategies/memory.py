"""Strategy bank: what to do in which situation, and how surely that works (ArcMemo); and its strategies."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from atlas.core.errors import AtlasError, InvalidInput, LLMError, PlanOutdated
from atlas.core.exchange import ExportedStrategy
from atlas.core.operations import UNTRIED_RATE
from atlas.core.strategy_codec import decode_strategy
from atlas.core.types import Strategy, Task, Trajectory, Vectors
from atlas.infra.bridge import call
from atlas.infra.twin import twin
from atlas.llm.budget import operation
from atlas.memory.base.edits import Editable, check_changes
from atlas.memory.base.export import stored_at, to_restored
from atlas.memory.base.marks import joined
from atlas.memory.base.records import retried
from atlas.memory.base.success_rates import BayesianUpdater, EMASuccessUpdater, SimpleAverageUpdater
from atlas.memory.base.versions import ItemVersion, item_versions
from atlas.memory.experience.merging import check_groups
from atlas.memory.strategies.merging import StrategyMergePlan, merge_of, plan_strategy_merge
from atlas.memory.strategies.model_induction import LLMStrategyAbstractor
from atlas.memory.strategies.outcomes import (
    BY_HAND,
    BY_OUTCOMES,
    COLLECTION,
    RetirementRule,
    StrategyOutcomes,
    StrategyRate,
)
from atlas.memory.strategies.records import checked, content_hash
from atlas.memory.strategies.writing import Abstracted, StrategyWritePlan, grouped, says_the_same, with_sources
from atlas.protocols.infra import Progress
from atlas.protocols.strategies import StrategyAbstractor, StrategyCombiner, SuccessRateUpdater

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

logger = logging.getLogger(__name__)

EDITABLE: Editable = {
    "title": str,
    "situation": str,
    "suggestion": str,
    "parameters": (tuple, list),
    "rationale": str,
    "metadata": Mapping,
}


class ChromaStrategyBank(StrategyOutcomes):
    """What to do in which situation, in a vector store.

    Each method has an async twin, with an `a` before its name, whose docstring says more.
    """

    # Writing

    def write(self, trajectory: Trajectory) -> Strategy | None:
        """The strategy that an attempt becomes, or that is there for its situation and gets the attempt as a source.

        None for an attempt that did not succeed, and where the abstractor finds nothing to reuse. An attempt that a
        strategy names among its sources is not abstracted again. What is retired gets sources too, and stays retired;
        the log says so.

        Raises:
            LLMError: The abstractor asks a language model, which gave no usable answer; nothing was written.
        """
        if trajectory.outcome.success is not True:
            return None
        known = self.get_many(self._store.ids({"sources": trajectory.id}))
        already = next((strategy for strategy in known if trajectory.id in strategy.sources), None)
        if already is not None:
            return already
        with operation():
            abstracted = self._abstracted(trajectory)
            return None if abstracted is None else self._joined_or_added(abstracted)

    awrite = twin(write)

    def add(self, strategy: Strategy) -> str:
        """Add a strategy as it is, such as one that a person wrote; its id.

        Statistics that it brings along are not kept: a rate here is what recorded attempts say.

        Raises:
            InvalidInput: It cannot be kept, or the bank has it already, by id or by what it says.
        """
        made = checked(strategy, self._clock.now())
        added = self._store.add_unknown(*self._columns(made))
        if not added:
            raise self._known_already(made)
        return made.id

    aadd = twin(add)

    def plan_write(self, trajectories: Sequence[Trajectory], on_progress: Progress | None = None) -> StrategyWritePlan:
        """What `apply_write` would make of attempts; nothing is touched, but the abstractor is asked.

        Attempts that did not succeed are left out. Those of one situation become one strategy, with all as its
        sources, or sources of the one that is there for it.

        Args:
            on_progress: Called after each attempt with how many are done, and of how many.
        """
        moment, held = self._store.moment(), frozenset(self._store.ids())
        succeeded = [one for one in trajectories if one.outcome.success is True]
        known = self._known_sources()
        made, problems = list[Strategy](), list[str]()
        with operation() as account:
            for n_done, trajectory in enumerate(succeeded, start=1):
                if trajectory.id not in known:
                    try:
                        abstracted = self._abstracted(trajectory)
                        made += [abstracted] if abstracted is not None else []
                    except AtlasError as error:  # one that a model cannot read should not cost all the others
                        problems.append(f"{trajectory.task.id}: {error}")
                if on_progress:
                    on_progress(n_done, len(succeeded))
            placed = self._placed(made)
            near = {one.id: one for one in self.get_many(list({one.near for one in placed if one.near}))}
            added, changed = grouped(placed, near, self._same_situation, self._combined)
        retired = self.retired() if changed else {}
        n_known = sum(one.id in known for one in succeeded)
        return StrategyWritePlan(
            added=added,
            joined=changed,
            n_attempts=len(succeeded),
            n_known=n_known,
            n_nothing=len(succeeded) - n_known - len(made) - len(problems),
            problems=tuple(problems),
            spent=str(account.spent) if account.spent.n_calls else "",
            retired=tuple(one.id for one in changed if one.id in retired),
            held=held,
            moment=moment,
        )

    aplan_write = twin(plan_write)

    def apply_write(self, plan: StrategyWritePlan) -> list[str]:
        """Write exactly what a plan says, as one operation; the ids of the strategies that were added.

        Raises:
            PlanOutdated: Strategies came, went or changed since; nothing was done.
        """
        if frozenset(self._store.ids()) != plan.held:
            raise PlanOutdated("strategies came or went since this was planned; nothing was done. Plan anew")
        scoped = self._store if self.operation_id else self._store.within("store", "from successful attempts")
        if plan.joined:
            scoped.update(*self._columns(*plan.joined), unchanged_since=plan.moment)
        return scoped.add_unknown(*self._columns(*plan.added)) if plan.added else []

    aapply_write = twin(apply_write)

    # Finding

    def read(self, task: Task, k: int = 5) -> list[Strategy]:
        """The k strategies that fit a task best, best first; of about equals, those that surely work.

        Retired ones are left out.
        """
        return [hit.item for hit in self.search_hits(task.description, k)]

    aread = twin(read)

    # Changing

    def edit(self, /, strategy_id: str, **changes: Any) -> Strategy:
        """Change a strategy, and embed it anew if what is embedded has changed; the changed one.

        Args:
            changes: New values of `title`, `situation`, `suggestion`, `parameters`, `rationale` or `metadata`.

        Raises:
            NotFound: It is not there.
            InvalidInput: Another field, a value that cannot be stored, or what another strategy says already.
            PlanOutdated: Others changed it each time before this could be written; nothing was done.
        """
        check_changes(changes, EDITABLE)
        return retried(lambda: self._edit(strategy_id, changes))

    aedit = twin(edit)

    def plan_merge(self, groups: Sequence[Sequence[str]]) -> StrategyMergePlan:
        """What `apply_merge` would make of groups of strategies that say the same; nothing is touched.

        The most used of each group stays, else the oldest, as it is. It takes over the others' sources, parameters,
        attempts, tags and notes, is pinned if one is, and retired by hand if all are.

        Raises:
            InvalidInput: A group has fewer than two strategies, one is in two groups, or one is not there.
        """
        checked_groups = check_groups(groups)
        moment = self._store.moment()
        ids = [strategy_id for group in checked_groups for strategy_id in group]
        held = {one.id: one for one in self.get_many(ids)}
        marks, n_total = self._store.marks(ids), self._store.count()
        return plan_strategy_merge(checked_groups, held, marks, n_total=n_total, moment=moment)

    aplan_merge = twin(plan_merge)

    def apply_merge(self, plan: StrategyMergePlan) -> list[Strategy]:
        """Merge exactly what a plan says, as one operation; the strategies that stay.

        Raises:
            PlanOutdated: One of the strategies, or its marks, has changed since; nothing was done.
        """
        kept = [group.kept_id for group in plan.groups]
        rows = {row["id"]: row for row in self._store.get(kept)}
        merges = [merge_of(group, rows.get(group.kept_id), self._text_of) for group in plan.groups]
        scoped = self._store if self.operation_id else self._store.within("merge", plan.reason)
        if merges:
            scoped.merge(merges, plan.moment)
        return self.get_many(kept)

    aapply_merge = twin(apply_merge)

    def merge(self, ids: Sequence[str]) -> Strategy:
        """Merge strategies into the most used of them; see `plan_merge`. `undo` parts them again."""

        def plan_and_apply() -> Strategy:
            return self.apply_merge(self.plan_merge([ids]))[0]

        return retried(plan_and_apply)

    amerge = twin(merge)

    def versions(self, strategy_id: str) -> list[ItemVersion[Strategy]]:
        """A strategy as it was before each edit, the last first; none where it was never edited."""
        return item_versions(self._store.versions(strategy_id), decode_strategy)

    aversions = twin(versions)

    # Carrying elsewhere

    def export(self, strategy_ids: Sequence[str]) -> list[ExportedStrategy]:
        """Strategies with their marks and every recorded attempt; `arestore_many` puts them back."""
        marks, usage = self._store.marks(strategy_ids), self._store.usage(strategy_ids)
        uses, rows = self._store.uses(strategy_ids), self._store.get(list(strategy_ids))
        return [
            ExportedStrategy(
                strategy=replace(one, usage_count=0, n_succeeded=0, success_rate=UNTRIED_RATE),
                marks=marks[one.id],
                usage=usage[one.id],
                uses=tuple(replace(use, record_id=one.id) for use in uses[one.id]),
                stored_at=stored_at(row),
            )
            for row, one in zip(rows, self._read(rows), strict=True)
        ]

    aexport = twin(export)

    def restore_many(self, exported: Sequence[ExportedStrategy]) -> list[str]:
        """Put exported strategies back with their ids, marks and attempts; the ids of those that were put back.

        What the bank holds already, by id or by what it says, stays as it is.
        """
        given = {item.strategy.id: item for item in exported}
        if not given:
            return []
        made = [checked(item.strategy, self._clock.now()) for item in given.values()]
        restored = {one: to_restored(item) for one, item in given.items()}
        return self._store.add_unknown(*self._columns(*made), restored)

    arestore_many = twin(restore_many)

    # Steps of the above

    def _abstracted(self, trajectory: Trajectory) -> Strategy | None:
        """Return what the abstractor makes of an attempt, which becomes one of its sources if that is not said."""
        made = call(self.abstractor.abstract, trajectory)
        if made is None:
            return None
        return checked(replace(made, sources=joined(made.sources, [trajectory.id])), self._clock.now())

    def _known_sources(self) -> set[str]:
        """The attempts that strategies were abstracted from."""
        held = self._store.column("sources")
        return {one for of in held.values() for one in ([of] if isinstance(of, str) else of)}

    def _placed(self, strategies: Sequence[Strategy]) -> list[Abstracted]:
        """Strategies that are not there yet, each with the one that is there for its situation."""
        if not strategies:
            return []
        vectors = [np.atleast_2d(given)[0] for given in self._columns(*strategies)[1]]
        return [
            Abstracted(strategy=strategy, vector=vector, near=self._near(vector))
            for strategy, vector in zip(strategies, vectors, strict=True)
        ]

    def _near(self, vector: Vectors) -> str:
        """The id of the strategy that is there for a situation; empty where there is none."""
        near = self._store.query(vector, 1)
        return near.ids[0] if near.ids and 1.0 - near.distances[0] >= self._same_situation else ""

    def _joined_or_added(self, strategy: Strategy) -> Strategy:
        """The strategy that is there for its situation, with its sources, else itself, added."""
        given = self._columns(strategy)
        near = self._near(given[1][0][0])
        together = retried(lambda: self._with_sources(near, strategy)) if near else None
        if together is not None:
            return together
        if not self._store.add_unknown(*given):  # another process has just written the same
            same = self._store.known_hashes([content_hash(strategy)])[content_hash(strategy)]
            return retried(lambda: self._with_sources(same, strategy)) or strategy
        return strategy

    def _combined(self, held: Strategy, other: Strategy) -> Strategy | None:
        """A strategy with another one of an alike situation; None where a model says that they are two."""
        both = with_sources(held, other)
        if says_the_same(held, other) or not isinstance(self.abstractor, StrategyCombiner):
            return both
        try:
            together = call(self.abstractor.combined, held, other)
        except LLMError as error:
            logger.warning("strategy %s keeps another suggestion as a variant: %s", held.id, error)
            return both
        return None if together is None else replace(together, id=held.id, sources=both.sources)

    def _with_sources(self, strategy_id: str, other: Strategy) -> Strategy | None:
        moment = self._store.moment()
        held = self._read([self._row(strategy_id)])[0]
        changed = self._combined(held, other)
        if changed is not None and changed != held:
            if strategy_id in self.retired():
                logger.warning("strategy %s gets one more source, but is retired: agents are not given it", held.id)
            scoped = self._store if self.operation_id else self._store.within("edit", f"one more source: {held.title}")
            scoped.update(*self._columns(changed), unchanged_since=moment)
        return changed

    def _edit(self, strategy_id: str, changes: Mapping[str, Any]) -> Strategy:
        """`aedit`, unless the strategy changes between being read and being written."""
        moment = self._store.moment()
        before = self._read([self._row(strategy_id)])[0]
        changed = checked(replace(before, **changes), self._clock.now())
        if self._store.known_hashes([content_hash(changed)]).get(content_hash(changed), before.id) != before.id:
            raise self._known_already(changed)
        self._store.update(*self._columns(changed), unchanged_since=moment)
        return changed

    def _known_already(self, strategy: Strategy) -> InvalidInput:
        found = self._store.known_hashes([content_hash(strategy)])
        same = found.get(content_hash(strategy), strategy.id)
        return InvalidInput(f"the bank says this already, with strategy {same!r}; edit that one, or delete it first")
