"""The memory system: all memories of one store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.hits import MemoryQueryResult, Retrieval, check_limit, clamp_limit
from atlas.core.imports.lazy import LazyModule
from atlas.core.settings import RankingWeights, Settings, parse_share
from atlas.core.types import Task
from atlas.infra.bridge import in_thread
from atlas.infra.twin import twin
from atlas.memory.attribution import (
    Delivery,
    TrajectoryAttribution,
)
from atlas.memory.base.strictness import StrictnessMixin
from atlas.memory.context.block import (
    BUDGET_TOKENS,
    DEFAULT_K,
    MEMORIES,
    Assignment,
    ContextBlock,
    TokenCounter,
    build_context,
    held_out_block,
    make_counter,
    tools_of,
)
from atlas.memory.judging import JudgementMixin
from atlas.memory.metering import LossMixin
from atlas.memory.plugged import (
    PluggedConcepts,
    PluggedExperience,
    PluggedMemory,
    PluggedStrategies,
    adapt_memory,
    missing_memory_error,
    own_memory,
    unwrap,
)
from atlas.memory.promoting import PromotionMixin
from atlas.memory.query import (
    AnyMemory,
    QueryFilters,
    TrustedMemories,
    combine_results,
    prepare_searches,
    search_all,
    search_all_by_words,
    search_memory,
)
from atlas.memory.storing import StoringMixin
from atlas.memory.undoing import HistoryMixin
from atlas.protocols.infra import Where
from atlas.protocols.memory import ConceptLibrary, ExperienceMemory, StrategyBank
from atlas.storage.store import Store

if TYPE_CHECKING:
    import asyncio

    from atlas.memory.concepts.memory import ChromaConceptLibrary
    from atlas.memory.effects.memory_effect import MemoryEffect
    from atlas.memory.experience.memory import ChromaExperienceMemory
    from atlas.memory.journal import Journal
    from atlas.memory.journal.conversations import Conversations
    from atlas.memory.strategies.memory import ChromaStrategyBank
else:
    asyncio = LazyModule("asyncio")

__all__ = ["AnyMemory", "MemoryQueryResult", "MemorySystem", "MemorySystemImpl"]

M = TypeVar("M")


class MemorySystemImpl(JudgementMixin, LossMixin, PromotionMixin, StoringMixin, StrictnessMixin, HistoryMixin):
    """The memory system of an agent. Each memory is optional, so that its contribution can be measured."""

    def __init__(
        self,
        experience: ExperienceMemory | None = None,
        concepts: ConceptLibrary | None = None,
        strategies: StrategyBank | None = None,
        journal: Journal | None = None,
        *,
        experience_memory: ExperienceMemory | None = None,
        concept_library: ConceptLibrary | None = None,
        strategy_bank: StrategyBank | None = None,
        conversations: Conversations | None = None,
        storage: Store | None = None,
        attribution: TrajectoryAttribution | None = None,
    ) -> None:
        """Create a system of ATLAS's own memories, or of any objects with the methods of these protocols.

        Sync methods of plugged-in memories are called in threads. The memories' coroutines are awaited on the caller's
        event loop, or on ATLAS's own loop if the caller uses a sync method such as `query_sync`.

        Args:
            experience_memory: Another name of `experience`.
            concept_library: Another name of `concepts`.
            strategy_bank: Another name of `strategies`.

        Raises:
            InvalidInput: A memory lacks a required method, or is passed under both of its names.
        """
        experience = _given_memory(experience=experience, experience_memory=experience_memory)
        concepts = _given_memory(concepts=concepts, concept_library=concept_library)
        strategies = _given_memory(strategies=strategies, strategy_bank=strategy_bank)
        self._memory_by_name: dict[str, Any] = {
            "experience": adapt_memory(experience, PluggedExperience),
            "concepts": adapt_memory(concepts, PluggedConcepts),
            "strategies": adapt_memory(strategies, PluggedStrategies),
            "journal": journal,
            "conversations": conversations,
        }
        self._makers: dict[str, Callable[[], Any]] = {}
        self._making_lock = threading.RLock()
        self._storage = storage
        self._extracts_at_once = self._memory_by_name["concepts"] is not None
        self._attribution = attribution or TrajectoryAttribution()

    @property
    def experience_memory(self) -> ExperienceMemory | None:
        """The experience memory as it was passed, without an adapter."""
        return unwrap(self._memory("experience"))

    @property
    def experience(self) -> ChromaExperienceMemory:
        """The experience memory.

        Raises:
            NotFound: The system has no experience memory, or a plugged-in one.
        """
        memory: ChromaExperienceMemory = self._own_memory("experience", "experience memory")
        return memory

    @property
    def concept_library(self) -> ConceptLibrary | None:
        """The concept library as it was passed, without an adapter."""
        return unwrap(self._memory("concepts"))

    @property
    def concepts(self) -> ChromaConceptLibrary:
        """The concept library.

        Raises:
            NotFound: The system has no concept library, or a plugged-in one.
        """
        library: ChromaConceptLibrary = self._own_memory("concepts", "concept library")
        return library

    @property
    def strategy_bank(self) -> StrategyBank | None:
        """The strategy bank as it was passed, without an adapter."""
        return unwrap(self._memory("strategies"))

    @property
    def strategies(self) -> ChromaStrategyBank:
        """The strategy bank.

        Raises:
            NotFound: The system has no strategy bank, or a plugged-in one.
        """
        bank: ChromaStrategyBank = self._own_memory("strategies", "strategy bank")
        return bank

    @property
    def journal(self) -> Journal:
        """The journal of the agent.

        Raises:
            NotFound: The system has no journal.
        """
        journal: Journal = self._own_memory("journal", "journal")
        return journal

    @property
    def conversations(self) -> Conversations:
        """The conversations between people and the agent.

        Raises:
            NotFound: The system has no conversations.
        """
        conversations: Conversations = self._own_memory("conversations", "conversations")
        return conversations

    @property
    def storage(self) -> Store:
        """The store that the memories share.

        Raises:
            NotFound: The system has no store.
        """
        if self._storage is None:
            raise NotFound("this memory system has no store; open one with atlas.open_memory")
        return self._storage

    @property
    def _memories(self) -> dict[str, AnyMemory]:
        """The memories that exist, keyed by name."""
        from atlas.memory.kinds.kind import ADDED_KINDS

        names = ["experience", "concepts", "strategies", "journal", *(ADDED_KINDS if self._storage is not None else ())]
        memories = {name: self._memory(name) for name in names}
        return {name: memory for name, memory in memories.items() if memory is not None}

    def _register_makers(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        """Register factories of memories, keyed by name. Each is called when its memory is first used."""
        self._makers = dict(makers)

    def _memory(self, name: str) -> Any:
        """Return a memory by its name, or None."""
        if name in self._makers:
            with self._making_lock:
                if name in self._makers:  # checked again, because another thread may have created it
                    self._memory_by_name[name] = self._makers[name]()
                    del self._makers[name]
        if name not in self._memory_by_name:
            from atlas.memory.kinds.kind import ADDED_KINDS

            self._memory_by_name[name] = ADDED_KINDS[name].records(self)
        return self._memory_by_name[name]

    def _own_memory(self, name: str, noun: str) -> Any:
        """Return one of ATLAS's own memories, or raise `NotFound`."""
        memory = self._memory(name)
        if memory is None or isinstance(memory, PluggedMemory):
            raise missing_memory_error(memory, noun)
        return memory

    @property
    def token_counter(self) -> TokenCounter:
        """The counter of the tokens of context blocks: the embedder's tokenizer, or else an estimate."""
        embedders = (memory.embedder for memory in self._memories.values())
        return make_counter(next((embedder for embedder in embedders if embedder is not None), None))

    def ranked_with(self, weights: RankingWeights, names: Collection[str] = MEMORIES) -> MemorySystemImpl:
        """Return a copy of this system, with all or some of its memories, that ranks with other weights.

        Use it for comparisons. Records that the copy retrieves count as used only by attempts that the copy stores.

        Args:
            names: Names of the memories to include: `strategies`, `experience`, `concepts`, `journal`.
        """
        selected_memories = {name: memory for name, memory in self._memories.items() if name in names}
        memories: dict[str, Any] = {name: memory.ranked_with(weights) for name, memory in selected_memories.items()}
        system = MemorySystemImpl(**memories, storage=self._storage)
        system._extracts_at_once = False
        return system

    async def query(
        self,
        task: Task,
        k: int = 5,
        *,
        where: Where | None = None,
        threshold: float | None = None,
        distinct: bool = False,
        diversity: float = 0.0,
        count_retrieval: bool = True,
        min_trust: str = "",
    ) -> MemoryQueryResult:
        """Return at most k hits of every memory for a task, best first. The memories are queried concurrently.

        If the task has a domain, attempts of that domain come first among hits of similar relevance.
        `where={"domain": …}` leaves others out.

        The returned records are candidates for the uses of the next attempt at the task that this object stores.

        Args:
            where: Filter for the records of every memory, such as `{"scope.project": "shop"}`. A memory whose records
                lack the field has no hits. A plugged-in memory cannot filter, and is left out with an error.
            threshold: Minimum relevance of a hit, in [0, 1]. None for each memory's own level.
            distinct: See `Memory.retrieve`. Only ATLAS's own memories support it.
            diversity: See `Memory.retrieve`. Only ATLAS's own memories support it.
            count_retrieval: Whether the hits count as retrieved, and may count as used. Use False for a
                demonstration.
            min_trust: See `build_context`.

        Raises:
            InvalidInput: The threshold is out of range, or a text cannot be encoded as JSON.
        """
        if not clamp_limit(k):
            return MemoryQueryResult()
        memories = (await in_thread(self._trusted_memories, min_trust)).memories
        filters = QueryFilters(where=where, threshold=threshold, distinct=distinct, diversity=diversity)
        searches = await in_thread(prepare_searches, memories, task, k, filters)
        pending_searches = [
            in_thread(search_memory, memories[name], searches[name], task, k, count_retrieval) for name in searches
        ]
        outcomes = await asyncio.gather(*pending_searches, return_exceptions=True)
        return self._record_result(task, dict(zip(searches, outcomes, strict=True)), count_retrieval)

    def query_sync(
        self,
        task: Task,
        k: int = 5,
        *,
        where: Where | None = None,
        threshold: float | None = None,
        distinct: bool = False,
        diversity: float = 0.0,
        count_retrieval: bool = True,
        min_trust: str = "",
    ) -> MemoryQueryResult:
        """Run `query` from sync code: the memories are queried sequentially, in one snapshot of the store."""
        if not clamp_limit(k):
            return MemoryQueryResult()
        filters = QueryFilters(where=where, threshold=threshold, distinct=distinct, diversity=diversity)
        outcomes = search_all(
            self._trusted_memories(min_trust).memories, self._storage, task, k, filters, count_retrieval
        )
        return self._record_result(task, outcomes, count_retrieval)

    def build_context(
        self,
        task: Task,
        budget_tokens: int = BUDGET_TOKENS,
        k: int = DEFAULT_K,
        *,
        where: Where | None = None,
        threshold: float | None = None,
        distinct: bool = False,
        diversity: float = 0.0,
        by_words: bool = False,
        holdout: float | None = None,
        attempt: str = "",
        min_trust: str = "",
        examples: str = "",
    ) -> ContextBlock:
        """Return the part of a prompt with the memories for a task, within a budget.

        The memories are queried as in `query`. Only the records in the block, except warnings, are candidates for the
        uses of the next attempt at the task.
        Tokens are counted with the embedder's tokenizer if it has one.

        Args:
            by_words: Whether to search by keywords only, which needs no embedding model.
            holdout: Share of attempts, in [0, 1), that get an empty block at random. The attempt is marked when it is
                stored, and `memory_effect` compares both groups. None for `Settings.holdout`, which is 0.
            attempt: Id with which the attempt will be stored, and which determines its group. By default, the number
                of stored attempts at the task determines the group.
            min_trust: Minimum class of a record by its origin, which the block then names: `untrusted`, `imported`,
                `agent`, `reviewed` or `person`. Empty for all records, whose origins are not named.
            examples: Form of the examples that the block consists of, such as `Q: {task} A: {answer}`, for
                models that continue a pattern. They are successful attempts, the best one last. Empty for a block of
                all memories.

        Raises:
            InvalidInput: k is below 1, the budget is negative, `holdout` is out of range, `examples` lacks a field, or
                `query` would raise it.
        """
        from atlas.memory.context.examples import (  # late: opening builds no block
            IS_SUCCESS,
            build_examples,
            check_form,
        )

        check_limit(k, "k")
        if examples:
            check_form(examples)
            where = {"$and": [where, IS_SUCCESS]} if where else IS_SUCCESS
        filters = QueryFilters(where=where, threshold=threshold, distinct=distinct, diversity=diversity)
        search = partial(search_all_by_words, where=where) if by_words else partial(search_all, filters=filters)
        counter = make_counter(None) if by_words else self.token_counter
        assignment = self._assignment(task, holdout, attempt)
        if assignment is not None and assignment.is_held_out:
            self._attribution.record_delivery(task, Delivery({}, assignment), attempt=attempt)
            return held_out_block(assignment, counter, budget_tokens)
        trusted = self._trusted_memories(min_trust)
        if examples:
            result = combine_results(search({"experience": trusted.memories["experience"]}, self._storage, task, k))
            block = build_examples(result, counter, budget_tokens, examples, by_words=by_words)
            delivery = Delivery(block.credited_ids, assignment)
        else:
            result = combine_results(search(trusted.memories, self._storage, task, k))
            block = build_context(
                result, counter, budget_tokens, by_words=by_words, tools=tools_of(task), origins=trusted.origins
            )
            delivery = Delivery(block.credited_ids, assignment, block.text, counter)
        self._attribution.record_delivery(task, delivery, attempt=attempt)
        return replace(block, assignment=assignment)

    abuild_context = twin(build_context)

    def _trusted_memories(self, min_trust: str) -> TrustedMemories:
        """Return the memories restricted to records of a trust class or above. An empty string restricts nothing."""
        if not min_trust:
            return TrustedMemories(memories=self._memories)
        from atlas.memory.effects.trust import trusted_memories

        return trusted_memories(self, self._memories, min_trust)

    def _assignment(self, task: Task, holdout: float | None, attempt: str) -> Assignment | None:
        """Return the holdout assignment of an attempt, or None if no attempts are held out."""
        share = parse_share("holdout", self._settings.holdout if holdout is None else holdout)
        if not share:
            return None
        from atlas.memory.effects.holdout import assign_group, next_attempt_name
        from atlas.memory.experience.memory import COLLECTION

        store = self._storage.ledger.position(COLLECTION).ledger_id if self._storage is not None else ""
        attempt_id = attempt or next_attempt_name(own_memory(self._memory("experience")), task)
        return assign_group(share, store=store, task=task.id or task.description, attempt=attempt_id)

    @property
    def _settings(self) -> Settings:
        return self._storage.settings if self._storage is not None else Settings()

    def memory_effect(self) -> MemoryEffect:
        """Return a comparison of attempts with and without memories at the same tasks."""
        from atlas.memory.effects.memory_effect import memory_effect

        with self.storage.reading():
            used_by = self.storage.ledger.usage.records_by_attempt()
            return memory_effect(self.experience, list(self._memories.values()), used_by)

    amemory_effect = twin(memory_effect)

    def _record_result(
        self, task: Task, outcomes: Mapping[str, Retrieval[Any] | BaseException], count_retrieval: bool
    ) -> MemoryQueryResult:
        result = combine_results(outcomes)
        if count_retrieval:
            self._attribution.record_delivery(task, Delivery(result.ids), keeps_assignment=True)
        return result

    def close(self) -> None:
        """Update the index and close all files. Writes that wait for a language model are dropped."""
        self._drop_deferred_writes()
        if self._storage is not None:
            self._storage.close()

    def __enter__(self) -> MemorySystemImpl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._storage is not None:
            self._storage.__exit__(kind, error, trace)


def _given_memory(**memories: M | None) -> M | None:
    """Return the one of two arguments that is not None, or None. Raise `InvalidInput` if both are given."""
    given = {name: memory for name, memory in memories.items() if memory is not None}
    if len(given) > 1:
        raise InvalidInput(f"expected only one of the arguments {' and '.join(given)}, got both; leave one out")
    return next(iter(given.values()), None)


MemorySystem = MemorySystemImpl
