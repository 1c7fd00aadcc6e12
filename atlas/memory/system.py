"""All memories of one store behind one object."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any

from atlas.core.codec import check_text
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.hits import MemoryQueryResult
from atlas.core.operations import Operation, RecordChange
from atlas.core.settings import RankingWeights
from atlas.core.types import Task, Trajectory
from atlas.infra import aio
from atlas.memory.attribution import TrajectoryAttribution
from atlas.memory.concepts import ChromaConceptLibrary
from atlas.memory.context import (
    BUDGET_TOKENS,
    EACH,
    SECTIONS,
    SHORT_ID,
    ContextBlock,
    TokenCounter,
    build_context,
    counter_of,
)
from atlas.memory.conversations import Conversations
from atlas.memory.experience import ChromaExperienceMemory
from atlas.memory.gathering import gather
from atlas.memory.journal import Journal
from atlas.memory.promoting import Promoter, Promotion
from atlas.memory.purging import rewording
from atlas.memory.ranking import check_k, check_threshold
from atlas.memory.strategies import ChromaStrategyBank
from atlas.storage.purge import Purged, PurgePlan, apply_purge, plan_purge
from atlas.storage.store import Store


class MemorySystemImpl:
    """The memories of an agent; each is optional, so that what one contributes can be measured."""

    def __init__(
        self,
        experience: ChromaExperienceMemory | None = None,
        concepts: ChromaConceptLibrary | None = None,
        strategies: ChromaStrategyBank | None = None,
        journal: Journal | None = None,
        *,
        conversations: Conversations | None = None,
        storage: Store | None = None,
        attribution: TrajectoryAttribution | None = None,
    ) -> None:
        self._experience = experience
        self._concepts = concepts
        self._strategies = strategies
        self._journal = journal
        self._conversations = conversations
        self._storage = storage
        self._attribution = attribution or TrajectoryAttribution()

    @property
    def experience_memory(self) -> ChromaExperienceMemory | None:
        """Attempts at tasks."""
        return self._experience

    @property
    def experience(self) -> ChromaExperienceMemory:
        """Attempts at tasks.

        Raises:
            NotFound: This system was put together without them.
        """
        if self._experience is None:
            raise NotFound("this memory system has no experience memory")
        return self._experience

    @property
    def concept_library(self) -> ChromaConceptLibrary | None:
        """Reusable code."""
        return self._concepts

    @property
    def concepts(self) -> ChromaConceptLibrary:
        """Reusable code.

        Raises:
            NotFound: This system was put together without it.
        """
        if self._concepts is None:
            raise NotFound("this memory system has no concept library")
        return self._concepts

    @property
    def strategy_bank(self) -> ChromaStrategyBank | None:
        """What to do in which situation."""
        return self._strategies

    @property
    def strategies(self) -> ChromaStrategyBank:
        """What to do in which situation.

        Raises:
            NotFound: This system was put together without it.
        """
        if self._strategies is None:
            raise NotFound("this memory system has no strategy bank")
        return self._strategies

    @property
    def journal(self) -> Journal:
        """What the agent noted, generation by generation.

        Raises:
            NotFound: This system was put together without it.
        """
        if self._journal is None:
            raise NotFound("this memory system has no journal")
        return self._journal

    @property
    def conversations(self) -> Conversations:
        """What people and the agent said to each other.

        Raises:
            NotFound: This system was put together without them.
        """
        if self._conversations is None:
            raise NotFound("this memory system has no conversations")
        return self._conversations

    @property
    def storage(self) -> Store:
        """The store that the memories share.

        Raises:
            NotFound: This system was put together without one.
        """
        if self._storage is None:
            raise NotFound("this memory system has no store; open one with atlas.open_memory")
        return self._storage

    @property
    def _memories(self) -> dict[str, AnyMemory]:
        """The memories that are there, by the names that results, ids and errors have them under."""
        given: dict[str, AnyMemory | None] = {
            "experience": self._experience,
            "concepts": self._concepts,
            "strategies": self._strategies,
            "journal": self._journal,
        }
        return {name: memory for name, memory in given.items() if memory is not None}

    @property
    def token_counter(self) -> TokenCounter:
        """What counts the tokens of a context: the embedder's tokenizer where it has one."""
        return counter_of(next((memory.embedder for memory in self._memories.values()), None))

    def ranked_with(self, weights: RankingWeights, names: Collection[str] = tuple(SECTIONS)) -> MemorySystemImpl:
        """The same memories, or only some of them, whose searches rank with other weights.

        It is for looking: what it is asked counts as used only for what it stores itself.

        Args:
            names: Of the memories that it has: `strategies`, `experience`, `concepts`, `journal`.
        """
        made = {name: memory.ranked_with(weights) for name, memory in self._memories.items() if name in names}
        return MemorySystemImpl(**made, storage=self._storage)  # type: ignore[arg-type]

    async def query(
        self, task: Task, k: int = 5, *, threshold: float | None = None, count_retrieval: bool = True
    ) -> MemoryQueryResult:
        """What every memory holds for a task, asked at once; at most k of each, best first.

        What is returned counts as used for the task by the next attempt at it that this object stores; see `store`.

        Args:
            threshold: The relevance that a hit has at least, in [0, 1]; None for that of the ranking's weights.
            count_retrieval: Whether what is returned counts as retrieved, and as used for the task; a demonstration
                does not.

        Raises:
            InvalidInput: A negative k, an impossible threshold, or a text that JSON cannot hold.
        """
        result = await self._asked(task, k, threshold, count_retrieval)
        if count_retrieval:
            self._attribution.note(task, result.ids)
        return result

    def query_sync(
        self, task: Task, k: int = 5, *, threshold: float | None = None, count_retrieval: bool = True
    ) -> MemoryQueryResult:
        """Sync form of `query`."""
        return aio.run(self.query(task, k, threshold=threshold, count_retrieval=count_retrieval))

    async def abuild_context(
        self, task: Task, budget_tokens: int = BUDGET_TOKENS, k: int = EACH, *, threshold: float | None = None
    ) -> ContextBlock:
        """The part of a prompt that tells an agent what is remembered for a task, within a budget.

        It asks like `query`; what it shows, rather than all that was found, then counts as used for the task.
        Tokens are counted with the embedder's tokenizer where it has one.
        """
        result = await self._asked(task, k, threshold)
        block = await asyncio.to_thread(lambda: build_context(result, self.token_counter, budget_tokens))
        self._attribution.note(task, block.shown)
        return block

    def build_context(
        self, task: Task, budget_tokens: int = BUDGET_TOKENS, k: int = EACH, *, threshold: float | None = None
    ) -> ContextBlock:
        """Sync form of `abuild_context`."""
        return aio.run(self.abuild_context(task, budget_tokens, k, threshold=threshold))

    async def astore(self, trajectory: Trajectory) -> dict[str, Any]:
        """Remember an attempt, and count its outcome for what it used.

        A success goes to the experiences and to the strategies, anything else to the experiences alone. Concepts learn
        only by compression, from many attempts at once. Importers bypass this: they fill the experiences alone.

        Where `query` or `build_context` was asked for its task before, the outcome counts for what they gave;
        `trajectory.metadata["used"]`, ids by memory or a list of ids that were given, says otherwise. Where the outcome
        is unknown nothing is counted. `undo` takes the counting back with the attempt.

        Returns:
            `experience` and `strategies`, each with an id, where they hold it now; `used`, the ids by memory that the
            outcome was counted for, where there are any; `errors`, by memory, where something failed after the
            experience was stored.

        Raises:
            InvalidInput: The attempt cannot be stored; nothing was.
        """
        stored: dict[str, Any] = {}
        errors: dict[str, str] = {}
        operation_id = None
        if self._experience is not None:
            scoped = self._experience.within("store")
            stored["experience"], operation_id = await scoped.astore(trajectory), scoped.operation_id
        if self._strategies is not None:
            bank = self._strategies.within("store", operation_id=operation_id)
            operation_id = bank.operation_id
            written = await gather({"strategies": bank.awrite(trajectory)})
            strategy = written.answers.get("strategies")
            stored |= {"strategies": strategy.id} if strategy else {}
            errors |= written.errors
        used = await self._count_uses(trajectory, errors, operation_id)
        return stored | ({"used": used} if used else {}) | ({"errors": errors} if errors else {})

    def store(self, trajectory: Trajectory) -> dict[str, Any]:
        """Sync form of `astore`."""
        return aio.run(self.astore(trajectory))

    async def aplan_promotion(self, entry_id: str) -> Promotion:
        """What an entry of the journal would become; nothing is touched.

        A crash becomes an experience with what fixed it as the solution and an unknown outcome, as a link says that it
        was fixed, but no run does. A reflection becomes a strategy that nobody has tried.

        Raises:
            NotFound: It is not there, or this system has no memory for what it would become.
            InvalidInput: It is neither, the crash is linked to no fix, or it was promoted already.
        """
        return await self._promoter.plan(entry_id)

    def plan_promotion(self, entry_id: str) -> Promotion:
        """Sync form of `aplan_promotion`."""
        return aio.run(self.aplan_promotion(entry_id))

    async def aapply_promotion(self, promotion: Promotion) -> str | None:
        """Do exactly what a plan says, as one operation; its id, for `undo`.

        Raises:
            PlanOutdated: One of the entries has changed since; nothing was done.
        """
        return await self._promoter.apply(promotion)

    def apply_promotion(self, promotion: Promotion) -> str | None:
        """Sync form of `aapply_promotion`."""
        return aio.run(self.aapply_promotion(promotion))

    @property
    def _promoter(self) -> Promoter:
        return Promoter(self.journal, self._experience, self._strategies)

    async def _asked(
        self, task: Task, k: int, threshold: float | None, count_retrieval: bool = True
    ) -> MemoryQueryResult:
        check_k(k)
        check_text(task.description, "the task's description")
        if threshold is not None:
            check_threshold(threshold)
        found = await gather(
            {
                name: memory.aretrieve(task.description, k, threshold=threshold, count_retrieval=count_retrieval)
                for name, memory in self._memories.items()
            }
        )
        hits = {name: tuple(retrieval.hits) for name, retrieval in found.answers.items()}
        return MemoryQueryResult(
            experience_hits=hits.get("experience", ()),
            concept_hits=hits.get("concepts", ()),
            strategy_hits=hits.get("strategies", ()),
            journal_hits=hits.get("journal", ()),
            n_hidden={name: retrieval.n_hidden for name, retrieval in found.answers.items()},
            errors=found.errors,
        )

    async def _count_uses(
        self, trajectory: Trajectory, errors: dict[str, str], operation_id: str | None
    ) -> dict[str, list[str]]:
        """Count an attempt's outcome for what it used, within its operation; adds to the errors what could not be."""
        attribution, success = self._attribution.take(trajectory), trajectory.outcome.success
        if success is None:
            return {}
        unknown, counted = list(attribution.unknown), dict[str, list[str]]()
        for name, record_id in ((name, one) for name, ids in attribution.used.items() for one in ids):
            try:
                used = await self._count_use(name, record_id, success, trajectory, operation_id)
                counted.setdefault(name, []).append(used)
            except NotFound:  # deleted since it was retrieved
                unknown.append(record_id)
            except InvalidInput as error:  # a store that keeps no usage
                errors[name] = str(error)
        problems = list(attribution.problems)
        if unknown:
            problems.append(f"nothing that was retrieved for the task has the id {', '.join(map(repr, unknown))}")
        errors |= {"used": "; ".join(problems)} if problems else {}
        return counted

    async def _count_use(
        self, name: str, record_id: str, success: bool, trajectory: Trajectory, operation_id: str | None
    ) -> str:
        """Count one use; the whole id of what was used, of which a context block shows the beginning."""
        memory = self._memories.get(name)
        if memory is None:
            raise NotFound(f"this memory system has no {name!r}")
        record_id = await self._whole_id(memory, record_id)
        scoped = memory.within("store", operation_id=operation_id) if operation_id else memory
        await scoped.arecord_use(record_id, success, task_id=trajectory.task.id, trajectory_id=trajectory.id)
        return record_id

    async def _whole_id(self, memory: AnyMemory, record_id: str) -> str:
        """The id that begins as a context block shows it; itself where none does, or several do."""
        if self._storage is None or len(record_id) != SHORT_ID:
            return record_id
        found = await asyncio.to_thread(self._storage.ledger.ids_beginning, memory.collection_name, record_id)
        return found[0] if len(found) == 1 else record_id

    def revision(self) -> int:
        """A number that grows with every change to the store, by any process: what to key a cache on."""
        return self.storage.ledger.revision()

    def history(self, limit: int = 50, offset: int = 0) -> list[Operation]:
        """What was done to the store, newest first."""
        return self.storage.history(limit, offset)

    def operation(self, operation_id: str) -> Operation:
        """One operation, by its id or a beginning of it that no other shares, or `NotFound`."""
        return self.storage.operation(operation_id)

    def count_operations(self) -> int:
        """How many operations the history holds."""
        return self.storage.count_operations()

    def changes(self, operation_id: str, limit: int = 50, offset: int = 0) -> list[RecordChange]:
        """What an operation did to each record, in its order, field by field."""
        return self.storage.changes(operation_id, limit, offset)

    def undo(self, operation_id: str, *, reason: str = "") -> Operation:
        """Take an operation back, exactly; see `atlas.storage.undo.undo` for when that is refused."""
        return self.storage.undo(operation_id, reason=reason)

    def plan_purge(self, ids: Sequence[str], *, collection: str = "") -> PurgePlan:
        """What forgetting records of any memory for good would do; see `atlas.storage.purge`."""
        return plan_purge(self.storage, ids, collection=collection)

    def apply_purge(self, plan: PurgePlan, *, reason: str = "") -> Purged:
        """Forget exactly the records of a plan for good, or raise `PlanOutdated`; nothing brings them back."""
        return apply_purge(self.storage, plan, reason=reason, reword=rewording(self._journal))

    def close(self) -> None:
        """Catch the index up and let go of every file."""
        if self._storage is not None:
            self._storage.close()

    def __enter__(self) -> MemorySystemImpl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._storage is not None:
            self._storage.__exit__(kind, error, trace)


MemorySystem = MemorySystemImpl

AnyMemory = ChromaExperienceMemory | ChromaConceptLibrary | ChromaStrategyBank | Journal
