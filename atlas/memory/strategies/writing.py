"""Writing strategies from attempts: new strategies, or more sources of existing ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from atlas.core.errors import AtlasError, InvalidInput, LLMError, PlanOutdated
from atlas.core.filters import parse_scope, scope_of
from atlas.core.tables import TableRow, Tabular
from atlas.core.types import Strategy, Trajectory, Vectors
from atlas.infra.bridge import call
from atlas.llm.budget import operation
from atlas.llm.concurrency import call_concurrently, concurrency_of
from atlas.memory.base.marks import check_may_change
from atlas.memory.base.memory import Row, not_found_error
from atlas.memory.base.merging import join_distinct
from atlas.memory.base.records import EncodedEntries, encode_entries, retry
from atlas.memory.strategies.outcomes import RetirementRule, read_retired
from atlas.memory.strategies.records import TextFunction, content_hash, is_warning, to_entry, validate
from atlas.protocols.infra import Clock, Progress, WholeEmbedder
from atlas.protocols.strategies import (
    CombinedStrategy,
    ExplainingCombiner,
    InformedAbstractor,
    StrategyAbstractor,
    StrategyCombiner,
)
from atlas.storage.collection import Collection
from atlas.storage.records import Moment

logger = logging.getLogger(__name__)

MAX_VARIANTS = 5
"""Maximum number of other suggestions that a strategy keeps."""

MAX_SHOWN = 5
"""Maximum number of similar strategies to compare with a new one."""

SEPARATION_REASON = "kept_apart_because"
"""Metadata key for a model's reason not to merge a strategy into another one for a similar situation."""

Combine = Callable[[Strategy, Strategy], CombinedStrategy]
"""Function that combines two strategies for similar situations, unless they differ."""

KEPT_FIELDS = ("title", "situation", "suggestion", "rationale", "parameters", "metadata")
"""Fields that stay when a strategy gets a further source: the advice, its scope and further facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyWritePlan(Tabular):
    """A plan to write strategies from attempts. Applying it makes exactly these changes, or fails."""

    added: tuple[Strategy, ...]
    joined: tuple[Strategy, ...]
    """Existing strategies with new sources."""

    n_attempts: int
    """Number of judged attempts: successes, and failures if the abstractor makes warnings."""

    n_known: int
    """Number of attempts that are sources of strategies already."""

    n_nothing: int
    """Number of attempts in which the abstractor found no reusable part."""

    problems: tuple[str, ...]
    """Reasons why attempts could not be abstracted."""

    unmerged: tuple[str, ...] = ()
    """Reasons why similar strategies were not merged, or were merged with both suggestions. Untrusted text."""

    spent: str = ""
    """Cost of the language model, as a string, or empty if no model reports it."""

    retired: tuple[str, ...] = ()
    """Ids of the strategies in `joined` that are retired. They stay retired."""

    ids_before: frozenset[str]
    """Ids of the strategies at the time of the plan."""

    moment: Moment
    """Moment in the store's history at which the plan was made."""

    @property
    def n_joined_sources(self) -> int:
        """Number of attempts that become further sources of a new or existing strategy."""
        return self.n_attempts - self.n_known - self.n_nothing - len(self.problems) - len(self.added)

    def _caption(self) -> str:
        return f"strategies: {len(self.added):,} would be added, {len(self.joined):,} would get more sources"

    def _rows(self) -> Iterator[TableRow]:
        for strategies, change in ((self.added, "added"), (self.joined, "given more sources")):
            for strategy in strategies:
                yield {"situation": strategy.situation, "suggestion": strategy.suggestion, "would be": change}


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyDraft:
    """A new strategy from an attempt, with the id of an existing strategy for a similar situation."""

    strategy: Strategy
    vector: Vectors
    """Vector of the embedded text, shape (dim,), of unit length."""

    neighbour_id: str
    """Id of the bank's strategy for a similar situation, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedDrafts:
    """Drafts of new strategies, with the bank's strategies for similar situations."""

    drafts: Sequence[StrategyDraft]
    stored: Mapping[str, Strategy]
    """The strategies of the bank for situations similar to a draft's, keyed by id."""

    retired: Mapping[str, str]
    """The reason of each retired strategy, keyed by id. Empty if `stored` is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedDrafts:
    """The strategies to add and to change for drafts. Each has the sources of all drafts for the same situation."""

    added: tuple[Strategy, ...]
    changed: tuple[Strategy, ...]


def merge_drafts(
    drafts: Sequence[StrategyDraft], stored_by_id: Mapping[str, Strategy], same_situation: float, combine: Combine
) -> MergedDrafts:
    """Return drafts for the same situation merged with each other and with stored strategies.

    Args:
        stored_by_id: The bank's strategies for situations similar to a draft's, keyed by id.
        same_situation: Minimum cosine of two texts of the same situation.
        combine: Function that combines two strategies, unless it finds them different.
    """
    new_strategies: list[Strategy] = []
    vectors: list[Vectors] = []
    changed_by_id: dict[str, Strategy] = {}
    for draft in drafts:
        existing = changed_by_id.get(draft.strategy.id) or stored_by_id.get(draft.strategy.id)
        if existing is not None:  # the model returned the id of an existing strategy that covers the attempt
            changed_by_id[existing.id] = with_sources(existing, draft.strategy)
            continue
        if draft.neighbour_id:
            combined = combine(changed_by_id.get(draft.neighbour_id, stored_by_id[draft.neighbour_id]), draft.strategy)
            if combined.strategy is not None:
                changed_by_id[draft.neighbour_id] = combined.strategy
                continue
            draft = replace(draft, strategy=_with_reason_not_merged(draft.strategy, combined.why_not))
        nearest_position = _nearest_joinable(draft, new_strategies, vectors)
        if nearest_position is not None and float(vectors[nearest_position] @ draft.vector) >= same_situation:
            combined = combine(new_strategies[nearest_position], draft.strategy)
            if combined.strategy is not None:
                new_strategies[nearest_position] = combined.strategy
                continue
            draft = replace(draft, strategy=_with_reason_not_merged(draft.strategy, combined.why_not))
        new_strategies.append(draft.strategy)
        vectors.append(draft.vector)
    return MergedDrafts(
        added=tuple(new_strategies),
        changed=tuple(strategy for strategy in changed_by_id.values() if strategy != stored_by_id[strategy.id]),
    )


def _with_reason_not_merged(strategy: Strategy, why: str) -> Strategy:
    """Return a strategy whose metadata contains the reason why it was not merged into another one."""
    return replace(strategy, metadata={**strategy.metadata, SEPARATION_REASON: why}) if why else strategy


def _nearest_joinable(
    draft: StrategyDraft, new_strategies: Sequence[Strategy], vectors: Sequence[Vectors]
) -> int | None:
    """Return the position in `new_strategies` of the nearest strategy that may be joined with a draft, or None."""
    joinable = [position for position, strategy in enumerate(new_strategies) if is_joinable(strategy, draft.strategy)]
    return max(joinable, key=lambda position: float(vectors[position] @ draft.vector), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyWriter:
    """A writer of strategies from attempts into one view of a bank's collection."""

    store: Collection
    embedder: WholeEmbedder
    clock: Clock
    abstractor: StrategyAbstractor
    text_of: TextFunction
    same_situation: float
    """Minimum cosine of the embedded texts of two strategies for the same situation."""

    retirement: RetirementRule
    to_strategies: Callable[[Sequence[Row]], list[Strategy]]
    """Function from rows to strategies."""

    def encode(self, *strategies: Strategy) -> EncodedEntries:
        """Return strategies as arguments for the store's `add` and `update`, with the vectors of their texts."""
        return encode_entries(
            [to_entry(strategy, self.text_of) for strategy in strategies], self.store, self.embedder, {}
        )

    def write(self, trajectory: Trajectory) -> Strategy | None:
        """Write the strategy of an attempt. See `ChromaStrategyBank.write`."""
        if not self._should_abstract(trajectory):
            return None
        if ids := self.store.ids({"sources": trajectory.id}):
            candidates = self.to_strategies(self.store.get(ids))
            existing = next((strategy for strategy in candidates if trajectory.id in strategy.sources), None)
            if existing is not None:
                return existing
        with operation():
            abstracted = next(self._abstract_each([trajectory]))
            if isinstance(abstracted, AtlasError):
                raise abstracted
            return None if abstracted is None else self._join_or_add(abstracted)

    def plan(self, trajectories: Sequence[Trajectory], on_progress: Progress | None) -> StrategyWritePlan:
        """Return a plan to write strategies from attempts. See `ChromaStrategyBank.plan_write`."""
        with self.store.reading():
            moment, ids = self.store.moment(), frozenset(self.store.ids())
            sources = self._known_sources()
        attempts = [trajectory for trajectory in trajectories if self._should_abstract(trajectory)]
        with operation() as account:
            drafts, problems = self._abstract_all(attempts, sources, on_progress)
            compared_drafts = self._make_drafts(drafts)
            unmerged: list[str] = []
            combine = partial(self._combine, unmerged=unmerged)
            merged_drafts = merge_drafts(compared_drafts.drafts, compared_drafts.stored, self.same_situation, combine)
        n_known = sum(trajectory.id in sources for trajectory in attempts)
        return StrategyWritePlan(
            added=merged_drafts.added,
            joined=merged_drafts.changed,
            n_attempts=len(attempts),
            n_known=n_known,
            n_nothing=len(attempts) - n_known - len(drafts) - len(problems),
            problems=tuple(problems),
            unmerged=tuple(unmerged),
            spent=str(account.spent) if account.spent.n_calls else "",
            retired=tuple(strategy.id for strategy in merged_drafts.changed if strategy.id in compared_drafts.retired),
            ids_before=ids,
            moment=moment,
        )

    def apply(self, plan: StrategyWritePlan) -> list[str]:
        """Apply a plan. See `ChromaStrategyBank.apply_write`."""
        if frozenset(self.store.ids()) != plan.ids_before:
            raise PlanOutdated(
                "strategies have been added or deleted since the plan was made; nothing was done. Plan again"
            )
        self._check_sources_kept(plan.joined)
        operation_store = self.store.ensure_operation("store", "from attempts")
        joined_entries = self.encode(*plan.joined)
        added_entries = self.encode(*plan.added)  # embedded before anything is written
        if plan.joined:
            operation_store.update(*joined_entries, unchanged_since=plan.moment)
        return operation_store.add_missing(*added_entries) if plan.added else []

    def _check_sources_kept(self, changed_strategies: Sequence[Strategy]) -> None:
        """Raise an error unless changed strategies keep their sources and `created_at`.

        Raises:
            InvalidInput: A strategy lost a source, or its `created_at` changed.
            NotAllowed: A writer would change more than the sources of another actor's strategy.
        """
        ids = [strategy.id for strategy in changed_strategies]
        stored_by_id = {strategy.id: strategy for strategy in self.to_strategies(self.store.get(ids))}
        for strategy in changed_strategies:
            before = stored_by_id.get(strategy.id)
            if before is None:
                raise not_found_error("strategy", strategy.id)
            if strategy.created_at != before.created_at:
                raise InvalidInput(
                    f"strategy {strategy.id!r} should keep its created_at, but the plan changes it; plan again"
                )
            if not set(before.sources) <= set(strategy.sources):
                raise InvalidInput(
                    f"strategy {strategy.id!r} should keep its sources, but the plan removes some; plan again"
                )
        reworded = [
            strategy.id
            for strategy in changed_strategies
            if any(getattr(strategy, field) != getattr(stored_by_id[strategy.id], field) for field in KEPT_FIELDS)
        ]
        check_may_change(self.store, reworded)

    def _should_abstract(self, trajectory: Trajectory) -> bool:
        """Return True for a successful attempt, and for a failed one if the abstractor makes warnings."""
        success = trajectory.outcome.success
        return success is True or (success is False and isinstance(self.abstractor, InformedAbstractor))

    def _abstract_all(
        self, attempts: Sequence[Trajectory], sources: set[str], on_progress: Progress | None
    ) -> tuple[list[Strategy], list[str]]:
        """Return the strategies of the attempts that are not sources yet, and the messages of errors."""
        strategies, problems = list[Strategy](), list[str]()
        results = self._abstract_each([trajectory for trajectory in attempts if trajectory.id not in sources])
        for n_done, trajectory in enumerate(attempts, start=1):
            if trajectory.id not in sources:
                strategy = next(results)
                if isinstance(strategy, AtlasError):  # one failed attempt should not fail the others
                    problems.append(f"{trajectory.task.id}: {strategy}")
                elif strategy is not None:
                    strategies.append(strategy)
            if on_progress:
                on_progress(n_done, len(attempts))
        return strategies, problems

    def _abstract_each(self, attempts: Sequence[Trajectory]) -> Iterator[Strategy | AtlasError | None]:
        """Yield the checked strategy of each attempt, None, or the error. The attempt is one of the sources."""
        for trajectory, strategy in zip(attempts, self._call_abstractor(attempts), strict=True):
            if not isinstance(strategy, Strategy):
                yield strategy
                continue
            try:
                sources = join_distinct(strategy.sources, [trajectory.id])
                metadata = {**strategy.metadata, **scope_of(trajectory.metadata)}
                yield validate(replace(strategy, sources=sources, metadata=metadata), self.clock.now())
            except AtlasError as error:
                yield error

    def _call_abstractor(self, attempts: Sequence[Trajectory]) -> Iterator[Strategy | AtlasError | None]:
        """Call the abstractor for each attempt, and yield its strategy, None, or the error."""
        abstractor, concurrency = self.abstractor, concurrency_of(self.abstractor)
        if not isinstance(abstractor, InformedAbstractor):
            return call_concurrently(getattr(abstractor, "abstract_now", abstractor.abstract), attempts, concurrency)
        pairs = ((trajectory, self._find_similar_strategies(trajectory)) for trajectory in attempts)
        return call_concurrently(lambda pair: abstractor.abstract_beside(*pair), pairs, concurrency)

    def _find_similar_strategies(self, trajectory: Trajectory) -> list[Strategy]:
        """Return the strategies whose situations are nearest to an attempt's task."""
        encode = getattr(self.embedder, "encode_query", self.embedder.encode)
        with self.store.reading():
            if not self.store.count():
                return []
            vector, scope = encode(trajectory.task.description), parse_scope(trajectory.metadata)
            strategies = self.to_strategies(self.store.get(self.store.query(vector, MAX_SHOWN, scope or None).ids))
            return [strategy for strategy in strategies if scope_of(strategy.metadata) == scope]

    def _known_sources(self) -> set[str]:
        """Return the ids of attempts that are sources of strategies."""
        sources = self.store.column("sources")
        lists = [[value] if isinstance(value, str) else value for value in sources.values()]
        return set(chain.from_iterable(lists))

    def _make_drafts(self, strategies: Sequence[Strategy]) -> ComparedDrafts:
        """Return strategies as drafts, with the stored strategies for similar situations."""
        if not strategies:
            return ComparedDrafts(drafts=(), stored={}, retired={})
        vectors = [np.atleast_2d(embedding)[0] for embedding in self.encode(*strategies).embeddings]
        with self.store.reading():
            drafts = [
                StrategyDraft(strategy=strategy, vector=vector, neighbour_id=self._nearest_id(vector, strategy))
                for strategy, vector in zip(strategies, vectors, strict=True)
            ]
            related_ids = {draft.neighbour_id for draft in drafts if draft.neighbour_id} | {
                draft.strategy.id for draft in drafts
            }
            stored_by_id = {strategy.id: strategy for strategy in self.to_strategies(self.store.get(list(related_ids)))}
            retirement_reasons = read_retired(self.store, self.retirement) if stored_by_id else {}
            return ComparedDrafts(drafts=drafts, stored=stored_by_id, retired=retirement_reasons)

    def _nearest_id(self, vector: Vectors, strategy: Strategy) -> str:
        """Return the id of a stored strategy for the same situation that may be joined with this one, or empty."""
        result = self.store.query(vector, MAX_SHOWN, scope_of(strategy.metadata) or None)
        neighbours = zip(result.ids, result.distances, strict=True)
        same_ids = [strategy_id for strategy_id, distance in neighbours if 1.0 - distance >= self.same_situation]
        candidates = self.to_strategies(self.store.get(same_ids))
        return next((candidate.id for candidate in candidates if is_joinable(candidate, strategy)), "")

    def _join_or_add(self, strategy: Strategy) -> Strategy:
        """Store a strategy, or add its sources to the stored one for the same situation, and return the stored one."""
        arguments = self.encode(strategy)
        is_known = bool(self.store.get([strategy.id]))  # the model returned the id of an existing strategy
        neighbour_id = strategy.id if is_known else self._nearest_id(arguments.embeddings[0].vectors[0], strategy)
        if neighbour_id:
            combined = retry(lambda: self._add_sources(neighbour_id, strategy))
            if combined.strategy is not None:
                return combined.strategy
            if combined.why_not:
                strategy = _with_reason_not_merged(strategy, combined.why_not)
                arguments = self.encode(strategy)
        if not self.store.add_missing(*arguments):  # another process has just written the same strategy
            existing_id = self.store.ids_by_hash([content_hash(strategy)])[content_hash(strategy)]
            return retry(lambda: self._add_sources(existing_id, strategy)).strategy or strategy
        return strategy

    def _combine(self, stored: Strategy, other: Strategy, unmerged: list[str]) -> CombinedStrategy:
        """Return a stored strategy combined with a new one, or the reason why a model finds them different.

        Args:
            unmerged: List to which this function adds a sentence if the suggestions were not merged.
        """
        if not needs_variant(stored, other) or not isinstance(self.abstractor, StrategyCombiner):
            return CombinedStrategy(strategy=with_sources(stored, other))
        try:
            combined = _ask_to_combine(self.abstractor, stored, other)
        except LLMError as error:
            logger.warning("strategy %s keeps another suggestion as a variant: %s", stored.id, error)
            unmerged.append(f"{stored.title!r} keeps the suggestion of {other.title!r} as a variant: {error}")
            return CombinedStrategy(strategy=with_sources(stored, other, why_variant=str(error)))
        if combined.strategy is None:
            unmerged.append(
                f"{stored.title!r} and {other.title!r} were not merged: {combined.why_not or 'no reason is given'}"
            )
            return combined
        sources = join_distinct(stored.sources, other.sources)
        return CombinedStrategy(strategy=replace(combined.strategy, id=stored.id, sources=sources))

    def _add_sources(self, strategy_id: str, other: Strategy) -> CombinedStrategy:
        """Update a stored strategy by combining it with a new one, and return the combined strategy.

        Nothing is written if nothing changes. The result contains a reason instead if the two were not combined.
        """
        with self.store.reading():
            moment, rows = self.store.moment(), self.store.get([strategy_id])
            if not rows:
                raise not_found_error("strategy", strategy_id)
            [stored] = self.to_strategies(rows)
        combined = self._combine(stored, other, [])
        changed = combined.strategy
        if changed is not None and changed != stored:
            if strategy_id in read_retired(self.store, self.retirement):
                logger.warning("strategy %s got another source, but is retired, so agents do not receive it", stored.id)
            reason = f"one more source: {stored.title}"
            operation_store = self.store.ensure_operation("store", reason)
            operation_store.update(*self.encode(changed), unchanged_since=moment)
        return combined


def _ask_to_combine(combiner: StrategyCombiner, stored: Strategy, other: Strategy) -> CombinedStrategy:
    if isinstance(combiner, ExplainingCombiner):
        return call(combiner.explain_combined, stored, other)
    return CombinedStrategy(strategy=call(combiner.combined, stored, other))


def with_sources(strategy: Strategy, other: Strategy, *, why_variant: str = "") -> Strategy:
    """Return a strategy with another strategy's sources added, and the other suggestion added to `variants`.

    Args:
        why_variant: The reason why the suggestions were not combined, stored with the variant.
    """
    metadata = dict(strategy.metadata)
    if needs_variant(strategy, other):
        reason = {SEPARATION_REASON: why_variant} if why_variant else {}
        variant = {"suggestion": other.suggestion, "sources": list(other.sources), **reason}
        metadata["variants"] = [*_variants(strategy), variant]
    return replace(strategy, sources=join_distinct(strategy.sources, other.sources), metadata=metadata)


def is_joinable(strategy: Strategy, other: Strategy) -> bool:
    """Return whether two strategies are both advice or both warnings, and have the same scope."""
    same_scope = scope_of(strategy.metadata) == scope_of(other.metadata)
    return same_scope and is_warning(strategy) == is_warning(other)


def needs_variant(strategy: Strategy, other: Strategy) -> bool:
    """Return whether to keep another strategy's suggestion as a variant: it is new, and there is room for a variant.

    Suggestions that differ only in whitespace are the same.
    """
    variant_suggestions = [
        str(variant.get("suggestion", "")) for variant in _variants(strategy) if isinstance(variant, Mapping)
    ]
    known_suggestions = [suggestion.split() for suggestion in (strategy.suggestion, *variant_suggestions)]
    return len(variant_suggestions) < MAX_VARIANTS and other.suggestion.split() not in known_suggestions


def _variants(strategy: Strategy) -> list[Any]:
    variants = strategy.metadata.get("variants", [])
    return list(variants) if isinstance(variants, (list, tuple)) else [variants]  # third parties may have written it
