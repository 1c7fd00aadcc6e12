"""Credit assignment: the outcome of an attempt counts for the retrieved records that the attempt used."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.operations import Operations
from atlas.core.types import Task, Trajectory
from atlas.core.unseen import SHORT_ID, shown_id
from atlas.infra.actor import actor_name
from atlas.infra.secrets import counting_secrets, replace_secrets
from atlas.memory.base.memory import Memory
from atlas.memory.plugged import PluggedMemory
from atlas.memory.query import AnyMemory, Ids, Texts, error_text, join_errors
from atlas.storage.store import Store

if TYPE_CHECKING:
    from atlas.memory.context.block import Assignment, TokenCounter

logger = logging.getLogger(__name__)

MAX_TASKS = 1_000

NAMES: Mapping[Any, str] = {
    "experience": "experience",
    "experiences": "experience",
    "concepts": "concepts",
    "concept": "concepts",
    "strategies": "strategies",
    "strategy": "strategies",
    "journal": "journal",
    "entry": "journal",
}
"""Names of the memories, keyed by the name and by the label in a context block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The records that an attempt used, and the metadata to add to the attempt."""

    used: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids of the used records, keyed by memory."""

    unknown: tuple[str, ...] = ()
    """Ids that the attempt lists as used, but that are ambiguous or were not retrieved for its task."""

    problems: tuple[str, ...] = ()
    """Reasons why other values in the metadata `used` cannot be counted."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Metadata to add to the attempt: its random assignment, and the result of `context_metadata`."""

    def with_metadata(self, trajectory: Trajectory) -> Trajectory:
        """Return an attempt with `metadata` added to its own. Existing keys keep their values."""
        return replace(trajectory, metadata={**self.metadata, **trajectory.metadata}) if self.metadata else trajectory


@dataclass(frozen=True, slots=True)
class Delivery:
    """The records that an agent received for a task, with the random assignment and the context block, if any."""

    retrieved: Ids
    assignment: Assignment | None = None
    block: str = ""
    counter: TokenCounter | None = None
    """The counter of the block's tokens."""


_NO_DELIVERY = Delivery({})


class TrajectoryAttribution:
    """A register of the records that agents received for the latest unfinished tasks of this process."""

    def __init__(self, max_tasks: int = MAX_TASKS) -> None:
        self._max_tasks = max_tasks
        self._deliveries: OrderedDict[tuple[str, str, str], Delivery] = OrderedDict()
        self._lock = threading.Lock()

    def record_delivery(
        self, task: Task, delivery: Delivery, *, attempt: str = "", keeps_assignment: bool = False
    ) -> None:
        """Remember the records that an agent received for an attempt at a task, replacing earlier ones.

        Args:
            attempt: Id of the attempt, if it is known before it is stored.
            keeps_assignment: Whether the random assignment of an earlier search is kept.
        """
        key = (*_task_key(task), attempt)
        with self._lock:
            if keeps_assignment:
                earlier_keys = (earlier_key for earlier_key in reversed(self._deliveries) if earlier_key[:2] == key[:2])
                latest = self._deliveries.get(next(earlier_keys, key), _NO_DELIVERY)
                delivery = replace(delivery, assignment=latest.assignment)
            self._deliveries.pop(key, None)
            self._deliveries[key] = delivery
            while len(self._deliveries) > self._max_tasks:
                self._deliveries.popitem(last=False)

    def _delivery_key(self, trajectory: Trajectory) -> tuple[str, str, str]:
        """Return the key of the delivery to an attempt: by the attempt's id, or else the latest one for its task."""
        task = trajectory.task
        task_keys = (_task_key(task), _task_key(replace(task, id="")))
        keys_by_id = [(*key, trajectory.id) for key in task_keys]
        latest_keys = [key for task_key in task_keys for key in reversed(self._deliveries) if key[:2] == task_key]
        return next((key for key in (*keys_by_id, *latest_keys) if key in self._deliveries), keys_by_id[0])

    def attribute(self, trajectory: Trajectory, read_texts: Callable[[Ids], Texts] = lambda _: {}) -> Attribution:
        """Return the records that an attempt used, and the metadata to add to the attempt.

        A record counts as used if the attempt's thoughts, actions or solution contain its id. If they contain no id, a
        record whose text reappears in them counts as used. If the attempt's metadata has the key `used`, only the ids
        listed there count. `used` is a list, or a mapping from memories to lists. An id may be shortened to a prefix
        of at least the length in a context block.

        Args:
            read_texts: Function that returns the texts of retrieved records. It is called if there was no block.
        """
        with self._lock:
            delivery = self._deliveries.get(self._delivery_key(trajectory), _NO_DELIVERY)
        assignment = delivery.assignment.metadata if delivery.assignment is not None else {}
        if not any(delivery.retrieved.values()):
            return replace(_attribution_from_metadata(trajectory.metadata.get("used"), {}), metadata=assignment)
        from atlas.memory.effects.uses import (  # late: opening stores nothing
            block_texts,
            context_metadata,
            find_used_records,
        )

        retrieved = delivery.retrieved
        texts = block_texts(delivery.block, retrieved) if delivery.block else read_texts(retrieved)
        stated_ids = trajectory.metadata.get("used")
        if stated_ids is None:
            solution = trajectory.metadata.get("solution")
            attribution = Attribution(
                used=find_used_records(retrieved, texts, trajectory.task, trajectory.steps, solution)
            )
        else:
            attribution = _attribution_from_metadata(stated_ids, retrieved)
        counter = delivery.counter if delivery.block else None
        return replace(
            attribution, metadata={**assignment, **context_metadata(retrieved, texts, attribution.used, counter)}
        )

    def forget(self, trajectory: Trajectory) -> None:
        """Forget the records that were received for an attempt, after the attempt was stored."""
        with self._lock:
            self._deliveries.pop(self._delivery_key(trajectory), None)


def _attribution_from_metadata(value: object, retrieved: Ids) -> Attribution:
    """Return the records that the metadata `used` of an attempt lists."""
    if value is None:
        return Attribution()
    if isinstance(value, Mapping):
        return _attribution_by_memory(value, retrieved)
    ids = _parse_used_ids(value)
    if ids is None:
        return Attribution(
            problems=(f"expected a list of ids, or a mapping from memories to lists, for `used`, got {value!r:.80}",)
        )
    return _attribution_from_prefixes(ids, retrieved)


@dataclass(slots=True)
class UseCount:
    """The uses that were counted for an attempt, and the reasons why others could not be counted."""

    used: dict[str, list[str]] = field(default_factory=dict)
    """Ids of the records credited with the outcome, keyed by memory."""

    errors: dict[str, str] = field(default_factory=dict)
    """Reasons why uses could not be counted, keyed by memory. The key `used` has errors without a memory."""


@dataclass(frozen=True, slots=True)
class UseCounter:
    """A counter of the uses of a memory system's records."""

    memories: Mapping[str, AnyMemory]

    def count(self, attribution: Attribution, trajectory: Trajectory, operation_id: str | None) -> UseCount:
        """Count an attempt's outcome for the records that it used, as part of an operation. Ignore unknown outcomes."""
        result, success = UseCount(), trajectory.outcome.success
        if success is None:
            return result
        unknown_ids, failures = list(attribution.unknown), list[dict[str, str]]()
        find_used_records = [(name, record_id) for name, ids in attribution.used.items() for record_id in ids]
        for name, record_id in find_used_records:
            try:
                if full_id := self._count_use(name, record_id, success, trajectory, operation_id):
                    result.used.setdefault(name, []).append(full_id)
            except NotFound:  # deleted after it was retrieved
                unknown_ids.append(record_id)
            except Exception as error:  # the uses of other memories are still counted
                logger.warning("the memory %r could not count the use of %r", name, record_id, exc_info=True)
                failures.append({name: error_text(error)})
        problems = list(attribution.problems)
        if unknown_ids:
            problems.append(f"no record with the id {', '.join(map(repr, unknown_ids))} was retrieved for the task")
        result.errors = join_errors(*failures, *({"used": problem} for problem in problems))
        return result

    def _count_use(
        self, name: str, record_id: str, success: bool, trajectory: Trajectory, operation_id: str | None
    ) -> str | None:
        """Count a use of a record, and return the record's full id. `record_id` may be a prefix, as in a context block.

        Return None if the memory counts no uses.
        """
        memory = self.memories.get(name)
        if memory is None:
            raise NotFound(f"this memory system has no memory {name!r}; it has {', '.join(self.memories)}")
        if not memory.counts_uses:
            return None
        record_id = self._full_id(memory, record_id)
        memory_in_operation = memory.as_operation("store", operation_id=operation_id) if operation_id else memory
        memory_in_operation.record_use(record_id, success, task_id=trajectory.task.id, trajectory_id=trajectory.id)
        return record_id

    def _full_id(self, memory: AnyMemory, record_id: str) -> str:
        """Return the only id of a memory with this prefix, or the prefix itself if there is none or more than one."""
        if isinstance(memory, PluggedMemory) or len(record_id) != SHORT_ID:
            return record_id
        ids = memory.collection.ids_with_prefix(record_id)
        return ids[0] if len(ids) == 1 else record_id


def _attribution_by_memory(values_by_memory: Mapping[Any, Any], retrieved: Ids) -> Attribution:
    """Return the attribution for a mapping from memories, by name or by their label in a block, to lists of ids."""
    used_ids: dict[str, tuple[str, ...]] = {}
    problems = []
    for label, value in values_by_memory.items():
        name, ids = NAMES.get(label), _parse_used_ids(value)
        if name is None:
            names = ", ".join(dict.fromkeys(NAMES.values()))
            problems.append(f"expected one of {names} for a memory in `used`, got {label!r:.80}")
        elif ids is None:
            problems.append(f"expected a list of ids for `used` of {label}, got {value!r:.80}")
        elif ids:
            full_ids = (_expand_prefix(prefix, retrieved.get(name, ())) for prefix in ids)
            used_ids[name] = tuple(dict.fromkeys((*used_ids.get(name, ()), *full_ids)))
    return Attribution(used=used_ids, problems=tuple(problems))


def _expand_prefix(prefix: str, retrieved: Sequence[str]) -> str:
    """Return the only retrieved id with this prefix, or the prefix itself if there is none or more than one."""
    matches = [record_id for record_id in retrieved if _has_prefix(prefix, record_id)]
    return prefix if prefix in retrieved or len(matches) != 1 else matches[0]


def _has_prefix(prefix: str, record_id: str) -> bool:
    """Return whether an id begins with a prefix that is at least as long as the ids in a context block."""
    if not isinstance(record_id, str):
        return False
    if shown_id(record_id) == prefix:
        return True
    return len(prefix) >= SHORT_ID and record_id.startswith(prefix)


def _attribution_from_prefixes(prefixes: Sequence[str], retrieved: Ids) -> Attribution:
    """Return the attribution for a list of ids or prefixes. Those without a unique match become `unknown`."""
    used_ids: dict[str, list[str]] = {}
    unknown_prefixes = []
    records = [(name, record_id) for name, ids in retrieved.items() for record_id in ids]
    for prefix in prefixes:
        matches = [(name, record_id) for name, record_id in records if record_id == prefix]
        if not matches:
            matches = [(name, record_id) for name, record_id in records if _has_prefix(prefix, record_id)]
        if len(matches) == 1:
            name, record_id = matches[0]
            used_ids.setdefault(name, []).append(record_id)
        else:
            unknown_prefixes.append(prefix)
    distinct_ids = {name: tuple(dict.fromkeys(ids)) for name, ids in used_ids.items()}
    return Attribution(used=distinct_ids, unknown=tuple(unknown_prefixes))


def _parse_used_ids(value: Any) -> tuple[str, ...] | None:
    """Return the distinct ids in a list or a single string, or None for a value of another type."""
    if value is None:
        return ()
    ids = [value] if isinstance(value, str) else value
    if not isinstance(ids, list | tuple | set | frozenset) or not all(isinstance(record_id, str) for record_id in ids):
        return None
    return tuple(dict.fromkeys(ids))


def _task_key(task: Task) -> tuple[str, str]:
    """Return the key of the deliveries for a task. It includes the actor, so that agents share no deliveries."""
    return actor_name(""), task.id or task.description


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrubbedAttempt:
    """An attempt to store, with its secrets replaced."""

    original: Trajectory
    """The attempt as the agent gave it, which identifies its task."""

    trajectory: Trajectory
    """The attempt without secrets, unless the store's settings keep them."""

    is_clean: bool
    """True if secrets were searched for and replaced."""

    scrubbed: Mapping[str, int]
    """Number of secrets that were replaced, keyed by kind."""

    @classmethod
    def scrub(cls, trajectory: Trajectory, storage: Store | None) -> ScrubbedAttempt:
        """Return an attempt with its secrets replaced, or unchanged if the store's settings keep secrets."""
        scrubs = storage is None or storage.settings.scrub_secrets
        with counting_secrets() as counts:
            clean = replace_secrets(trajectory) if scrubs else trajectory
        return cls(original=trajectory, trajectory=clean, is_clean=scrubs, scrubbed=dict(counts))


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """An attempt that is already in the store."""

    record_id: str
    operation_id: str | None
    """The operation that stored the attempt, or None if it was imported."""


def find_stored_attempt(experience: Memory[Any], storage: Store, trajectory: Trajectory) -> StoredAttempt | None:
    """Return the actor's stored attempt with the same id, or None.

    Raises:
        InvalidInput: Another actor has stored an attempt with this id, or the stored attempt has another task.
    """
    ids = experience.ids({"trajectory_id": trajectory.id})
    if not ids:
        return None
    operations = storage.history(1, 0, Operations(kind="store", of=ids[0]))
    if operations and operations[0].actor != actor_name(storage.settings.actor):
        raise InvalidInput(
            f"{operations[0].actor} has already stored an attempt with the id {trajectory.id!r}; choose another id"
        )
    stored_attempt = experience.get(ids[0])
    if stored_attempt is not None and stored_attempt.task.description != trajectory.task.description:
        raise InvalidInput(
            f"the id {trajectory.id!r:.80} belongs to an attempt at the task {stored_attempt.task.description!r:.100}, "
            f"not at {trajectory.task.description!r:.100}; choose another id or key"
        )
    return StoredAttempt(ids[0], operations[0].id if operations else None)
