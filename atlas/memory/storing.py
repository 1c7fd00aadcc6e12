"""Mixin of a memory system that stores attempts in its memories, and counts the uses of their records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from atlas.core.errors import LLMUnavailable
from atlas.core.settings import Settings
from atlas.core.types import Trajectory
from atlas.infra.locks import lock_of
from atlas.infra.twin import twin
from atlas.llm.budget import Account, operation
from atlas.memory.attribution import ScrubbedAttempt, TrajectoryAttribution, UseCounter, find_stored_attempt
from atlas.memory.plugged import PluggedMemory
from atlas.memory.query import AnyMemory, Ids, Texts, join_errors, result_or_error, split_errors
from atlas.storage.store import Store

if TYPE_CHECKING:
    from atlas.memory.concepts.automatic import AutomaticCompression
    from atlas.memory.deferred_writes import DeferredWrites
    from atlas.memory.experience.memory import ChromaExperienceMemory


LATE_STRATEGY = "it is written in the background; if that fails, a plan to write strategies includes the attempt"
LATE_SUMMARY = "it is found by its task until its summary is written in the background"


class StoringMixin(ABC):
    """Mixin of a memory system that stores attempts, and the concepts and strategies learned from them."""

    _attribution: TrajectoryAttribution
    _storage: Store | None
    _extracts_at_once: bool
    """True if concepts are extracted from each success when it is stored."""

    _automatic_compression: AutomaticCompression | None = None
    """Trigger of a search for concepts in the background, or None without automatic compression."""

    _deferred_writes: DeferredWrites | None = None

    @property
    @abstractmethod
    def storage(self) -> Store:
        """The store that the memories share."""

    @property
    @abstractmethod
    def experience(self) -> ChromaExperienceMemory:
        """The experience memory."""

    @property
    @abstractmethod
    def _memories(self) -> Mapping[str, AnyMemory]:
        """The memories that exist, keyed by name."""

    @property
    @abstractmethod
    def _settings(self) -> Settings:
        """The settings of the store, or the defaults without a store."""

    @abstractmethod
    def _memory(self, name: str) -> Any:
        """Return a memory by its name, or None."""

    @property
    def _write_queue(self) -> DeferredWrites:
        """The queue of writes that wait for a language model."""
        from atlas.memory.deferred_writes import DeferredWrites  # only needed if a model is slow

        with lock_of(self):
            self._deferred_writes = self._deferred_writes or DeferredWrites()
            return self._deferred_writes

    def _compress_automatically(self, automatic: AutomaticCompression) -> None:
        """Let `store` start a search for concepts in the background after enough successes."""
        self._automatic_compression = automatic

    def compression_status(self) -> str:
        """Return a sentence on whether `store` triggers compression, and on the last search in the background."""
        if self._automatic_compression is not None:
            return self._automatic_compression.status()
        if self._extracts_concepts():
            return "Concepts are extracted from each success immediately when it is stored."
        return (
            "Concepts are not extracted from stored successes: that needs a compression strategy or a built-in model."
        )

    @operation()
    def store(self, trajectory: Trajectory) -> dict[str, Any]:
        """Store an attempt, and count its outcome for the records that it used.

        A success is stored in all memories, any other attempt only as an experience. A concept library with a
        `compression_strategy` adds the concepts that the strategy finds in the success. If `atlas.open_memory` opened
        the memory without a custom embedder, a separate process searches for concepts after every
        `Settings.compress_every` new successes with programs. `compression_status` returns its result.

        An attempt that ATLAS's own experience memory refuses is not stored at all. If a plugged-in memory raises, only
        its own part fails: strategies are still written, and uses are still counted.

        If `query` or `build_context` returned records for the task before, the outcome counts for the records that the
        attempt used: those whose id, or else text, is contained in its thoughts, actions or solution. The metadata
        `used`, a list of ids or a mapping from memories to lists, overrides this. The metadata `shown_records`,
        `shown_tokens` and `unused_tokens` report the size of the context. No use is counted if the outcome is unknown,
        or in a plugged-in memory without `update_stats`. `undo` reverts the counts together with the attempt.

        Returns:
            A dict with these keys, as far as they apply: `experience` and `strategies`, the ids of the stored records;
            `concepts`, the ids of added concepts; `compression`, which is `started` if a search began in the
            background; `used`, the ids for which the outcome was counted, keyed by memory; `errors`, the failures,
            keyed by memory, and writes that continue in the background because a language model took longer than
            `Settings.llm_store_seconds`; `scrubbed`, the number of replaced secrets, keyed by kind.

        Raises:
            InvalidInput: ATLAS's own experience memory refuses the attempt; the store was not changed.
        """
        return self._store(ScrubbedAttempt.scrub(trajectory, self._storage), self._new_operation())

    astore = twin(store)

    @operation()
    def store_once(self, trajectory: Trajectory) -> dict[str, Any]:
        """Store an attempt as `store` does, unless the same actor has stored an attempt with the same id.

        For retries: work left unfinished by a killed process is completed. Raises `InvalidInput` if the id belongs to
        another actor's attempt or to another task.
        """
        with self.storage.locked():
            attempt = ScrubbedAttempt.scrub(trajectory, self._storage)
            stored_attempt = find_stored_attempt(self.experience, self.storage, attempt.trajectory)
            if stored_attempt is None:
                return self._store(attempt, self._new_operation())
            return self._store(attempt, stored_attempt.operation_id, known_id=stored_attempt.record_id) | {
                "is_known": True
            }

    astore_once = twin(store_once)

    def _new_operation(self) -> str | None:
        """Return the id of a new operation that all memories write to, or None if there is no history."""
        operations = (memory.as_operation("store").operation_id for memory in self._memories.values())
        return next(filter(None, operations), None)

    def _store(self, attempt: ScrubbedAttempt, operation_id: str | None, *, known_id: str = "") -> dict[str, Any]:
        with operation() as account, account.limit_time(self._settings.llm_store_seconds):
            return self._store_within_time(account, attempt, operation_id, known_id)

    def _store_within_time(
        self, account: Account, attempt: ScrubbedAttempt, operation_id: str | None, known_id: str
    ) -> dict[str, Any]:
        """Store an attempt, and return the result of `store`. Postpone work that takes the model too long."""
        attribution = self._attribution.attribute(attempt.original, self._record_texts)
        trajectory = attribution.with_metadata(attempt.trajectory)
        scrubs = not attempt.is_clean
        postponed = dict[str, str]()
        stored_ids: dict[str, Any] = {"experience": known_id} if known_id else {}
        outcomes: dict[str, Any] = {}
        experience, strategies = self._memory("experience"), self._memory("strategies")
        if experience is not None and not known_id:
            experience_in_operation = experience.as_operation("store", operation_id=operation_id, scrubs=scrubs)
            if isinstance(experience, PluggedMemory):
                outcomes["experience"] = result_or_error(experience_in_operation.store, trajectory)
            else:
                stored_ids["experience"] = experience_in_operation.store(trajectory)
                if account.overdue:
                    postponed["experience"] = f"{account.overdue}; {LATE_SUMMARY}"
                    self._write_queue.add("a summary", partial(experience_in_operation.edit, stored_ids["experience"]))
        if strategies is not None and trajectory.outcome.success is True:
            write = strategies.as_operation("store", operation_id=operation_id, scrubs=scrubs).write
            outcomes["strategies"] = result_or_error(write, trajectory)
            if account.overdue and isinstance(outcomes["strategies"], LLMUnavailable):
                outcomes["strategies"] = LLMUnavailable(f"{account.overdue}; {LATE_STRATEGY}")
                self._write_queue.add("a strategy", partial(write, trajectory))
        if trajectory.outcome.success is True and self._extracts_concepts():
            outcomes["concepts"] = result_or_error(self._extract_concepts, trajectory, operation_id)
        results = split_errors(outcomes)
        new_ids = {
            name: getattr(answer, "id", answer) for name, answer in results.answers.items() if answer is not None
        }
        self._attribution.forget(attempt.original)
        use_count = UseCounter(self._memories).count(attribution, trajectory, operation_id)
        errors = join_errors(postponed, results.errors, use_count.errors)
        further_results = {
            "used": use_count.used,
            "errors": errors,
            "scrubbed": attempt.scrubbed,
            "compression": self._start_compression(trajectory),
        }
        return stored_ids | new_ids | {name: value for name, value in further_results.items() if value}

    def _record_texts(self, retrieved: Ids) -> Texts:
        from atlas.memory.effects.uses import read_record_texts

        return read_record_texts(self._memories, retrieved)

    def _extracts_concepts(self) -> bool:
        """Return whether the concept library extracts concepts from each success when it is stored."""
        strategy = getattr(self._memory("concepts"), "compression_strategy", None)
        return self._extracts_at_once and strategy is not None

    def _extract_concepts(self, trajectory: Trajectory, operation_id: str | None) -> list[str] | None:
        """Add the concepts that the library's strategy finds in a success, and return their ids, or None."""
        library = self._memory("concepts").as_operation("store", operation_id=operation_id)
        return library.add_many(library.compress([trajectory])) or None

    def _start_compression(self, trajectory: Trajectory) -> str:
        """Return `started` if this success started a search for concepts, or else an empty string."""
        if self._automatic_compression is None or trajectory.outcome.success is not True:
            return ""
        return "started" if self._automatic_compression.count_stored(trajectory) else ""

    def _drop_deferred_writes(self) -> None:
        if self._deferred_writes is not None:
            self._deferred_writes.drop()
