"""Strategy bank: advice by situation, with success rates (ArcMemo)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

from atlas.core.codec import decode_strategy
from atlas.core.errors import InvalidInput
from atlas.core.exchange import ExportedStrategy
from atlas.core.operations import UNTRIED_RATE, Use
from atlas.core.settings import RankingWeights
from atlas.core.types import Strategy, Task, Trajectory
from atlas.infra.actor import assign_actor_scope
from atlas.infra.clock import SystemClock
from atlas.infra.twin import twin
from atlas.memory.base.edits import Editable, check_changes
from atlas.memory.base.export import restored_history, stored_at
from atlas.memory.base.memory import Memory, Row, Weights
from atlas.memory.base.merging import parse_groups
from atlas.memory.base.records import retry
from atlas.memory.base.success_rates import EMASuccessUpdater
from atlas.memory.base.versions import ItemVersion, item_versions
from atlas.memory.strategies.merging import StrategyMergePlan, build_merge, plan_strategy_merge
from atlas.memory.strategies.outcomes import (
    RETIREMENT,
    RetirementRule,
    StrategyRate,
    cautious_success_rate,
    find_retired_by_outcomes,
    rates_of,
    read_retired,
    unretire,
)
from atlas.memory.strategies.records import FIELDS, TextFunction, content_hash, from_row, situation_of, validate
from atlas.memory.strategies.writing import StrategyWritePlan, StrategyWriter
from atlas.protocols.infra import Clock, Embedder, Progress, VectorStore
from atlas.protocols.strategies import StrategyAbstractor, SuccessRateUpdater
from atlas.storage.collection import Collection

COLLECTION = "atlas_strategies"

SITUATION_SIMILARITY = 0.92
"""Minimum cosine of two texts of the same situation.

Measured on τ-bench's airline tasks with MiniLM: situations of the same task have at least 0.985, and those of different
tasks at most 0.866.
"""

EDITABLE: Editable = {
    "title": str,
    "situation": str,
    "suggestion": str,
    "parameters": (tuple, list),
    "rationale": str,
    "metadata": Mapping,
}


class ChromaStrategyBank(Memory[Strategy]):
    """Strategies in a vector store, found by situation. Each method has an async twin, with an `a` before its name."""

    noun = "strategy"
    fields = FIELDS
    content_field = "suggestion"
    success_updater: SuccessRateUpdater

    def __init__(
        self,
        embedder: Embedder,
        vector_store: VectorStore | Collection,
        abstractor: StrategyAbstractor,
        success_updater: SuccessRateUpdater = EMASuccessUpdater(),
        collection_name: str = COLLECTION,
        *,
        weights: Weights = RankingWeights(),
        clock: Clock = SystemClock(),
        text_of: TextFunction = situation_of,
        same_situation: float = SITUATION_SIMILARITY,
        retirement: RetirementRule = RETIREMENT,
    ) -> None:
        """Open a bank.

        Args:
            text_of: Function that returns the text to embed of a strategy.
            same_situation: Minimum cosine of embedded texts for which `write` joins two strategies, in (0, 1].
            retirement: Rule that decides whether a strategy is retired for its outcomes.

        Raises:
            InvalidInput: `same_situation` is not in its range.
        """
        if not 0 < same_situation <= 1:
            raise InvalidInput(f"expected a number above 0 and at most 1 for same_situation, got {same_situation!r}")
        super().__init__(embedder, vector_store, collection_name, weights, clock, success_updater=success_updater)
        self.abstractor = abstractor
        self.retirement = retirement
        self._text_of = text_of
        self._same_situation = same_situation
        self._retriever.prior = cautious_success_rate

    def with_updater(self, success_updater: SuccessRateUpdater) -> Self:
        """Return a copy of this bank that computes all rates with another updater, from the same recorded attempts."""
        bank = copy(self)
        bank.success_updater = success_updater
        return bank

    def with_abstractor(self, abstractor: StrategyAbstractor) -> Self:
        """Return a copy of this bank with another abstractor for new strategies."""
        bank = copy(self)
        bank.abstractor = abstractor
        return bank

    # Writing

    def write(self, trajectory: Trajectory) -> Strategy | None:
        """Write and return the strategy of an attempt: a new one, or an existing one with the attempt as a source.

        Return None if the abstractor finds no reusable part. Also return None for a failed attempt, except with an
        abstractor that writes warnings, such as a language model. An attempt that is a source already is not abstracted
        again. A retired strategy gets sources too, but stays retired, which is logged.

        Raises:
            LLMError: The abstractor's language model gave no usable answer; the store was not changed.
        """
        return self._writer.write(self._prepare_new(trajectory))

    awrite = twin(write)

    def add(self, strategy: Strategy) -> str:
        """Add a strategy, such as one written by a person, and return its id.

        Given statistics are dropped, because rates are computed from recorded attempts.

        Raises:
            InvalidInput: The strategy is invalid, or the bank already has a strategy with its id or content.
        """
        valid = self._prepare_new(validate(strategy, self._clock.now()))
        added_ids = self._store.add_missing(*self._writer.encode(valid))
        if not added_ids:
            raise self._repetition_error(valid)
        return valid.id

    aadd = twin(add)

    def plan_write(self, trajectories: Sequence[Trajectory], on_progress: Progress | None = None) -> StrategyWritePlan:
        """Return a plan to write strategies from attempts. The abstractor is called, but the store is not changed.

        Failed attempts become warnings if the abstractor writes warnings, as a language model does. Otherwise failed
        attempts are left out. Attempts with the same situation become sources of one new or existing strategy.

        Args:
            on_progress: Called after each attempt with the number done, and the total.
        """
        return self._writer.plan([*map(self._prepare_new, trajectories)], on_progress)

    aplan_write = twin(plan_write)

    def apply_write(self, plan: StrategyWritePlan) -> list[str]:
        """Apply a plan as one operation, and return the ids of the added strategies.

        Raises:
            PlanOutdated: Strategies have been added, deleted or changed since; the store was not changed.
            InvalidInput: A strategy of the plan is invalid, or would lose a source or change the time of a stored one.
        """
        now = self._clock.now()
        new_strategies = tuple(self._prepare_new(validate(strategy, now)) for strategy in plan.added)
        changed_strategies = tuple(self._prepare_new(validate(strategy, now)) for strategy in plan.joined)
        return self._writer.apply(replace(plan, added=new_strategies, joined=changed_strategies))

    aapply_write = twin(apply_write)

    # Finding

    def read(self, task: Task, k: int = 5) -> list[Strategy]:
        """Return the k strategies that fit a task best, best first. Success rates decide between similar fits.

        Retired strategies are left out.
        """
        return [hit.item for hit in self.search_hits(task.description, k)]

    aread = twin(read)

    # Changing

    def edit(self, /, strategy_id: str, **changes: Any) -> Strategy:
        """Change a strategy and return it. A changed text is embedded again.

        Args:
            changes: New values of `title`, `situation`, `suggestion`, `parameters`, `rationale` or `metadata`.

        Raises:
            NotFound: The strategy does not exist.
            InvalidInput: Another field, a value that cannot be stored, or a repetition of another strategy.
            PlanOutdated: Concurrent changes outlasted the retries; the store was not changed.
        """
        check_changes(changes, EDITABLE)
        changes = self._replace_secrets(changes)
        return retry(lambda: self._edit(strategy_id, changes))

    aedit = twin(edit)

    def plan_merge(self, groups: Sequence[Sequence[str]]) -> StrategyMergePlan:
        """Return a plan to merge groups of duplicate strategies. The store is not changed.

        The most used strategy of each group, or the oldest in a tie, stays with its content. It takes over the sources,
        parameters, attempts, tags and notes of the others. It is pinned if any strategy of the group is, and retired by
        hand if all are.

        Raises:
            InvalidInput: A group has fewer than two strategies, or a strategy is in two groups or does not exist.
        """
        distinct_groups = parse_groups(groups)
        ids = [strategy_id for group in distinct_groups for strategy_id in group]
        with self._store.reading():
            moment = self._store.moment()
            strategies_by_id = {strategy.id: strategy for strategy in self.get_many(ids)}
            marks, n_total = self._store.marks(ids), self._store.count()
        return plan_strategy_merge(distinct_groups, strategies_by_id, marks, n_total=n_total, moment=moment)

    aplan_merge = twin(plan_merge)

    def apply_merge(self, plan: StrategyMergePlan) -> list[Strategy]:
        """Apply a plan as one operation, and return the strategies that stay.

        Raises:
            PlanOutdated: A strategy or its marks have changed since; the store was not changed.
        """
        kept_ids = [group.kept_id for group in plan.groups]
        rows = {row["id"]: row for row in self._store.get(kept_ids)}
        merges = [build_merge(group, rows.get(group.kept_id), self._text_of) for group in plan.groups]
        operation_store = self._store.ensure_operation("merge", plan.reason)
        if merges:
            operation_store.merge(merges, plan.moment)
        return self.get_many(kept_ids)

    aapply_merge = twin(apply_merge)

    def merge(self, ids: Sequence[str]) -> Strategy:
        """Merge strategies, and return the most used one, which stays. See `plan_merge`. `undo` reverts this."""

        def plan_and_apply() -> Strategy:
            return self.apply_merge(self.plan_merge([ids]))[0]

        return retry(plan_and_apply)

    amerge = twin(merge)

    def versions(self, strategy_id: str) -> list[ItemVersion[Strategy]]:
        """Return the earlier versions of a strategy, latest first. Empty if the strategy was never edited."""
        return item_versions(self._store.versions(strategy_id), decode_strategy)

    aversions = twin(versions)

    # Outcomes

    def update_stats(self, strategy_id: str, success: bool, *, task_id: str = "", trajectory_id: str = "") -> None:
        """Record the outcome of an attempt that used this strategy, or raise `NotFound` if it does not exist."""
        self.record_use(strategy_id, success, task_id=task_id, trajectory_id=trajectory_id)

    aupdate_stats = twin(update_stats)

    def attempts(self, strategy_id: str) -> list[Use]:
        """Return the recorded attempts that used a strategy or one merged into it, oldest first.

        Raises:
            NotFound: The strategy does not exist.
        """
        self._existing_row(strategy_id)
        return self._store.uses([strategy_id])[strategy_id]

    aattempts = twin(attempts)

    def attempts_of(self, strategy_ids: Sequence[str]) -> dict[str, list[Use]]:
        """Return the recorded attempts of several strategies, oldest first, keyed by strategy id."""
        return self._store.uses(strategy_ids)

    aattempts_of = twin(attempts_of)

    def rate(self, strategy_id: str) -> StrategyRate:
        """Return the success rate of a strategy with its interval, or raise `NotFound` if it does not exist."""
        self._existing_row(strategy_id)
        return self.rates([strategy_id])[strategy_id]

    arate = twin(rate)

    def rates(self, strategy_ids: Sequence[str]) -> dict[str, StrategyRate]:
        """Return the success rate of each strategy that exists, keyed by id."""
        with self._store.reading():
            return rates_of(self.get_many(strategy_ids), self._store.marks(strategy_ids), self.retirement)

    arates = twin(rates)

    def retired(self) -> dict[str, str]:
        """Return the reason of each retired strategy, `by hand` or `by its outcomes`, keyed by id."""
        return read_retired(self._store, self.retirement)

    aretired = twin(retired)

    def retire(self, strategy_ids: Sequence[str]) -> int:
        """Retire strategies, and return the number of newly retired ones. Searches do not find retired strategies."""
        return self.change_marks(strategy_ids, buried=True)

    aretire = twin(retire)

    def unretire(self, strategy_ids: Sequence[str]) -> int:
        """Bring retired strategies back into searches, and return the number of changed strategies.

        Strategies retired for their outcomes are pinned, to prevent another retirement.
        """
        return unretire(self._store, list(dict.fromkeys(strategy_ids)), self._excluded_ids())

    aunretire = twin(unretire)

    # Export and import

    def export(self, strategy_ids: Sequence[str]) -> list[ExportedStrategy]:
        """Return strategies with their marks and recorded attempts, for `restore_many`."""
        with self._store.reading():
            marks, usage = self._store.marks(strategy_ids), self._store.usage(strategy_ids)
            uses, rows = self._store.uses(strategy_ids), self._store.get(list(strategy_ids))
            strategies = self._to_records(rows)
        return [
            ExportedStrategy(
                strategy=replace(strategy, usage_count=0, n_succeeded=0, success_rate=UNTRIED_RATE),
                marks=marks[strategy.id],
                usage=usage[strategy.id],
                uses=tuple(replace(use, record_id=strategy.id) for use in uses[strategy.id]),
                stored_at=stored_at(row),
            )
            for row, strategy in zip(rows, strategies, strict=True)
        ]

    aexport = twin(export)

    def restore_many(self, exported: Sequence[ExportedStrategy]) -> list[str]:
        """Restore exported strategies with ids, marks and attempts, and return the restored ids.

        Strategies whose id or content is stored already are skipped.
        """
        exported_by_id = {item.strategy.id: item for item in exported}
        if not exported_by_id:
            return []
        valid = [assign_actor_scope(validate(item.strategy, self._clock.now())) for item in exported_by_id.values()]
        histories = {strategy_id: restored_history(item) for strategy_id, item in exported_by_id.items()}
        return self._store.add_missing(*self._writer.encode(*valid), histories)

    arestore_many = twin(restore_many)

    # Private steps

    @property
    def _writer(self) -> StrategyWriter:
        return StrategyWriter(
            store=self._store,
            embedder=self.embedder,
            clock=self._clock,
            abstractor=self.abstractor,
            text_of=self._text_of,
            same_situation=self._same_situation,
            retirement=self.retirement,
            to_strategies=self._to_records,
        )

    def _to_records(self, rows: Sequence[Row]) -> list[Strategy]:
        uses = self._store.uses([row["id"] for row in rows])
        return [from_row(row, uses[row["id"]], self.success_updater) for row in rows]

    def _excluded_ids(self) -> set[str]:
        return find_retired_by_outcomes(self._store, self.retirement)

    def _edit(self, strategy_id: str, changes: Mapping[str, Any]) -> Strategy:
        """Edit a strategy and return it, or raise `PlanOutdated` after a concurrent change."""
        with self._store.reading():
            moment, [before] = self._store.moment(), self._to_records([self._existing_row(strategy_id)])
        changed = validate(replace(before, **changes), self._clock.now())
        new_hash = content_hash(changed)
        if self._store.ids_by_hash([new_hash]).get(new_hash, before.id) != before.id:
            raise self._repetition_error(changed)
        self._store.update(*self._writer.encode(changed), unchanged_since=moment)
        return changed

    def _repetition_error(self, strategy: Strategy) -> InvalidInput:
        """Return the error for a strategy whose content another strategy already has."""
        ids_by_hash = self._store.ids_by_hash([content_hash(strategy)])
        existing_id = ids_by_hash.get(content_hash(strategy), strategy.id)
        return InvalidInput(f"strategy {existing_id!r} already has this content; edit it, or delete it first")
