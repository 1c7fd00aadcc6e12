"""Adapters for plugged-in memories: any object with a protocol's methods, sync or async."""

from __future__ import annotations

from collections.abc import Iterable
from pkgutil import resolve_name
from typing import Any, ClassVar, Self, TypeVar

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.hits import Retrieval, hit_without_signals
from atlas.core.settings import RankingWeights
from atlas.core.types import CodeConcept, Experience, Strategy, Task, Trajectory
from atlas.infra.actor import refuse_in_scope
from atlas.infra.bridge import call
from atlas.infra.duck_typing import get_member
from atlas.storage.plain.usage import with_successes

M = TypeVar("M")

PLUGGED_WRITE = "write to a plugged-in memory"
"""Action that an actor with a scope may not do, because a plugged-in memory would show the record to everyone."""


class PluggedMemory:
    """An adapter for a plugged-in memory, which has only the methods of a protocol: no signals, marks or history.

    Results keep the order of the memory, without weights and thresholds. Uses are counted by the memory's method
    `update_stats`, if there is one.
    """

    noun: ClassVar[str]
    item: ClassVar[type]
    """Type of the records."""

    needs: ClassVar[tuple[str, str] | tuple[str]]
    """Names of the required methods. The first one is the search."""

    own_name: ClassVar[str]
    """Property of a memory system that returns the wrapped object."""

    own_class: ClassVar[str]
    """ATLAS's own class of this memory, as `module:name`. Imported lazily."""

    operation_id: str | None = None
    collection_name = ""
    embedder: object = None

    def __init__(self, memory: Any) -> None:
        """Raise `InvalidInput` if the object lacks a required method."""
        missing_methods = [name for name in self.needs if not callable(get_member(memory, name))]
        if missing_methods:
            raise InvalidInput(
                f"expected the methods {' and '.join(self.needs)}, sync or async, for a plugged-in {self.noun}, got "
                f"{type(memory).__name__!r} without {' and '.join(missing_methods)}; see atlas.protocols.memory"
            )
        self.memory = memory

    def as_operation(
        self, kind: str, reason: str = "", *, operation_id: str | None = None, scrubs: bool = True
    ) -> Self:
        """Return this adapter unchanged, because a plugged-in memory has no history of operations."""
        return self

    def ranked_with(self, weights: RankingWeights) -> Any:
        """Return the plugged-in memory without its adapter. Its ranking cannot be changed."""
        return self.memory

    @property
    def counts_uses(self) -> bool:
        """True if the memory can record uses."""
        return callable(get_member(self.memory, "update_stats"))

    def record_use(self, record_id: str, success: bool, *, task_id: str = "", trajectory_id: str = "") -> None:
        """Record the outcome of an attempt that used a record."""
        call(self.memory.update_stats, record_id, success)

    def retrieve(self, task: Task, k: int) -> Retrieval[Any]:
        """Return at most k records for a task, as hits without signals."""
        method = self.needs[0]
        answer = call(getattr(self.memory, method), self._make_query(task), k) if k else []
        items = list(answer) if isinstance(answer, Iterable) else [answer]
        if not all(isinstance(item, self.item) for item in items):
            raise InvalidInput(
                f"expected a list of {self.item.__name__} from {type(self.memory).__name__}.{method}(), "
                f"got {answer!r:.120}"
            )
        return Retrieval(
            hits=[hit_without_signals(self._to_record(item)) for item in items[:k]], n_hidden=0, threshold=0.0
        )

    def _make_query(self, task: Task) -> Any:
        return task

    def _to_record(self, item: Any) -> Any:
        """Return a search result of the memory as a record of ATLAS."""
        return item


class PluggedExperience(PluggedMemory):
    """An adapter for a plugged-in experience memory."""

    noun, item, needs, own_name = "experience memory", Experience, ("search", "store"), "experience_memory"
    own_class = "atlas.memory.experience.memory:ChromaExperienceMemory"

    def store(self, trajectory: Trajectory) -> str:
        """Store an attempt and return its id."""
        refuse_in_scope(PLUGGED_WRITE)
        record_id: str = call(self.memory.store, trajectory)
        return record_id


class PluggedConcepts(PluggedMemory):
    """An adapter for a plugged-in concept library."""

    noun, item, needs, own_name = "concept library", CodeConcept, ("search",), "concept_library"
    own_class = "atlas.memory.concepts.memory:ChromaConceptLibrary"

    @property
    def compression_strategy(self) -> object:
        """Compression strategy of the library, or None."""
        return getattr(self.memory, "compression_strategy", None)

    def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        """Return the concepts that the compression strategy finds in attempts."""
        concepts: list[CodeConcept] = call(self.memory.compress, trajectories)
        return concepts

    def add_many(self, concepts: list[CodeConcept]) -> list[str]:
        """Add concepts and return their ids."""
        refuse_in_scope(PLUGGED_WRITE)
        return [call(self.memory.add, concept) for concept in concepts]

    def _make_query(self, task: Task) -> Any:
        return task.description


class PluggedStrategies(PluggedMemory):
    """An adapter for a plugged-in strategy bank."""

    noun, item, needs, own_name = "strategy bank", Strategy, ("read", "write"), "strategy_bank"
    own_class = "atlas.memory.strategies.memory:ChromaStrategyBank"

    def _to_record(self, item: Strategy) -> Strategy:
        return with_successes(item)

    def write(self, trajectory: Trajectory) -> Strategy | None:
        """Write the strategy of an attempt and return it, or None."""
        refuse_in_scope(PLUGGED_WRITE)
        strategy = call(self.memory.write, trajectory)
        if strategy is not None and not isinstance(strategy, Strategy):
            raise InvalidInput(
                f"expected a Strategy or None from the write of {type(self.memory).__name__!r}, got {strategy!r:.120}"
            )
        return strategy


def unwrap(memory: M | PluggedMemory | None) -> M | Any | None:
    """Return a plugged-in memory without its adapter, and any other memory unchanged."""
    return memory.memory if isinstance(memory, PluggedMemory) else memory


def own_memory(memory: M | PluggedMemory | None) -> M | None:
    """Return a memory if it is one of ATLAS's own, or None if it is plugged in or missing."""
    return None if isinstance(memory, PluggedMemory) else memory


def adapt_memory(memory: object, plugged: type[PluggedMemory]) -> Any:
    """Return a memory of ATLAS unchanged, and any other memory in an adapter."""
    if memory is None or isinstance(memory, resolve_name(plugged.own_class)):
        return memory
    return plugged(memory)


def missing_memory_error(memory: object, noun: str) -> NotFound:
    """Return the `NotFound` error for a memory that is missing, or that is plugged in."""
    if not isinstance(memory, PluggedMemory):
        return NotFound(f"this memory system has no {noun}")
    return NotFound(
        f"the {noun} of this memory system is of the type {type(memory.memory).__name__}, not ATLAS's own; "
        f"to call the methods of its protocol, use `{memory.own_name}`"
    )
