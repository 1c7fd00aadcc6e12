"""The frozen copy of a trial's store, and a fork of it for the context blocks of each arm."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from atlas.core.errors import NotFound
from atlas.core.hits import Hit, MemoryQueryResult
from atlas.core.settings import Settings, settings_for_store
from atlas.core.types import Experience, Task
from atlas.evaluation.trial.design import Arm, task_name
from atlas.memory.context.block import ContextBlock, build_context
from atlas.memory.kinds.table import searchable_kinds
from atlas.memory.open import open_memory
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Embedder
from atlas.storage.maintenance.copying import copy_store
from atlas.storage.store import Store

READY_FILE = "ready"
"""Name of the file whose existence shows that the copy in a directory is complete."""

N_RECENT, N_UNRELATED, N_RELATED = 8, 40, 50
"""Number of latest attempts for `recency`, of candidates for a placebo, and of hits that a placebo excludes."""


HASH_BATCH = 500
"""Number of records in a batch for the hash of a store."""


def fork(source: Settings, directory: Path, settings: Settings) -> Path:
    """Copy a store into a directory, unless a complete copy is there, and return the path of the copy."""
    target = directory / "store"
    if not (directory / READY_FILE).exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        original = Store.open(source.address or source.directory, read_only=True, create=False, settings=source)
        with (
            original,
            Store.open(target, settings=settings_for_store(settings, str(target)), accept_incomplete=True) as copy,
        ):
            copy_store(original, copy)
    return target


def ensure_fork(arm: Arm, frozen: Path, directory: Path, settings: Settings, embedder: Embedder | None) -> Path:
    """Copy the store for an arm, unless a complete copy exists, and return the path of the copy.

    The copy lacks the records that the arm excludes.
    """
    source = settings_for_store(settings, arm.store or str(frozen))
    is_new = not (directory / READY_FILE).exists()
    target = fork(source, directory, settings)
    if is_new:
        with open_fork(target, settings, embedder) as memory:
            _delete_excluded(memory, arm)
            if arm.profile:
                memory.storage.profiles.use(arm.profile)
        (directory / READY_FILE).touch()
    return target


def freeze(source: Settings, directory: Path, settings: Settings) -> Path:
    """Copy a store once for the whole trial, unless a complete copy exists, and return the path of the copy."""
    target = fork(source, directory, settings)
    (directory / READY_FILE).touch()
    return target


@contextmanager
def open_fork(path: Path, settings: Settings, embedder: Embedder | None) -> Iterator[MemorySystem]:
    """Open the memory of a copy for a `with` block, with holdout and automatic concept learning switched off."""
    own_settings = replace(
        settings_for_store(settings, str(path)), holdout=0.0, compress_every=0, index="", read_only=False
    )
    with open_memory(path, settings=own_settings, embedder=embedder, create=False) as memory:
        yield memory


def build_block(memory: MemorySystem, arm: Arm, task: Task, seed: str) -> ContextBlock:
    """Return the context block of an arm for a task. Equal seeds and stores give equal blocks."""
    if arm.block == "nothing":
        return build_context(MemoryQueryResult(), memory.token_counter, arm.budget)
    if arm.block == "recency":
        newest_experiences = memory.experience.get_many([row["id"] for row in memory.experience.browse(limit=N_RECENT)])
        return build_context(_as_hits(newest_experiences), memory.token_counter, arm.budget)
    for kind in searchable_kinds().values():
        kind.records(memory).calibrate()  # at each size, as a level that is measured in the background depends on time
    block = memory.build_context(task, arm.budget)
    if arm.block == "memory" or not block.text:
        return block
    unrelated = _unrelated_attempts(memory, task, seed)
    return build_context(_as_hits(unrelated), memory.token_counter, block.n_tokens)


def store_hash(memory: MemorySystem) -> str:
    """Return the SHA-256 of the content and the marks of all records. Equal stores have equal hashes."""
    digest = hashlib.sha256()
    for name, kind in sorted(searchable_kinds().items()):
        records = kind.records(memory)
        ids = sorted(records.ids())
        for start in range(0, len(ids), HASH_BATCH):
            batch = ids[start : start + HASH_BATCH]
            marks = records.marks(batch)
            for record in records.get_many(batch):
                parts = [asdict(record), asdict(marks[record.id])]
                content = json.dumps(parts, default=str, sort_keys=True)
                digest.update(f"{name}\x1f{content}\n".encode())
    return digest.hexdigest()


def has_attempt(memory: MemorySystem, task: Task) -> bool:
    """Return whether the memory has an attempt at a task."""
    where = {"task_id": task.id} if task.id else {"title": task.description}
    return memory.experience.count(where) > 0


def _delete_excluded(memory: MemorySystem, arm: Arm) -> None:
    """Delete the records that an arm excludes from its copy of the store."""
    kinds = searchable_kinds()
    if arm.without:
        records = kinds[arm.without].records(memory)
        records.delete(records.ids())
    if arm.without_tag:
        for kind in kinds.values():
            records = kind.records(memory)
            tagged = [
                record_id for record_id, marks in records.marks(records.ids()).items() if arm.without_tag in marks.tags
            ]
            records.delete(tagged)
    if arm.without_strategy:
        if memory.strategies.get(arm.without_strategy) is None:
            raise NotFound(f"there is no strategy {arm.without_strategy!r} to leave out; list them: atlas strategies")
        memory.strategies.delete([arm.without_strategy])


def _unrelated_attempts(memory: MemorySystem, task: Task, seed: str) -> list[Experience]:
    """Return a random sample of attempts at other tasks, without the most similar ones, in random order."""
    hits = memory.experience.retrieve(task.description, N_RELATED, threshold=0.0, count_retrieval=False).hits
    related = {hit.item.id for hit in hits}
    ids = memory.experience.ids()
    unrelated = [record_id for record_id in ids if record_id not in related] or [
        hit.item.id for hit in hits[len(hits) // 2 :]
    ]
    sampled_ids = random.Random(seed).sample(sorted(unrelated), min(N_UNRELATED, len(unrelated)))
    return [
        attempt for attempt in memory.experience.get_many(sampled_ids) if task_name(attempt.task) != task_name(task)
    ]


def _as_hits(records: Sequence[Experience]) -> MemoryQueryResult:
    """Return records as hits whose relevance decreases from the first to the last."""
    hits = (
        Hit(
            item=record,
            similarity=0.0,
            meaning=0.0,
            words=0.0,
            relevance=1 - index / (len(records) + 1),
            signals={},
            outcomes={record.outcome.label: 1},
        )
        for index, record in enumerate(records)
    )
    return MemoryQueryResult(experience_hits=tuple(hits))
