"""Groups of attempts at the same task, by task id or by equal text."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

import numpy as np

from atlas.core.codec import decode_experience
from atlas.core.errors import StoreDamaged
from atlas.core.types import Experience
from atlas.memory.experience.same_task import input_key, significant_words
from atlas.storage.damage import decode_content
from atlas.storage.store import Store

BATCH_SIZE = 500
NO_CHARACTER_LIMIT = 1 << 30
"""Maximum number of characters that no string reaches."""

TaskKey = tuple[str, tuple[str, ...]]
"""Domain and significant words of a task."""


def group_by_task(store: Store, collection: str, ids: Sequence[str]) -> list[list[int]]:
    """Return a group for each task with several attempts: the positions in `ids` of its attempts, ascending.

    Two attempts are at the same task if they have the same task id, or equal domain, context and significant words.
    """
    with store.reading():
        task_ids = store.ledger.columns.column(collection, "task_id")
        task_keys = _read_task_keys(store, collection)
        same_words = _repeated_positions(task_keys.get(record_id) for record_id in ids)
        ambiguous = list[int]()
        for positions in same_words:
            if len({task_ids.get(ids[position]) for position in positions}) > 1:
                ambiguous += positions
        contexts = _read_contexts(store, collection, [ids[position] for position in ambiguous])
    keys_with_context = [
        (task_keys[record_id], contexts.get(record_id, "")) if record_id in task_keys else None for record_id in ids
    ]
    same_task_id = _repeated_positions(task_ids.get(record_id) for record_id in ids)
    return _merge_overlapping(len(ids), [*same_task_id, *_repeated_positions(keys_with_context)])


def solution_digests(store: Store, collection: str, ids: Sequence[str]) -> dict[str, str]:
    """Return a digest of each attempt's solution and actions, keyed by the attempt's id.

    Two attempts that differ in white space alone have the same digest. An attempt that cannot be read gets a digest of
    its own.
    """
    return _read_texts(store, collection, ids, _solution_digest)


def _solution_digest(attempt: Experience) -> str:
    parts = [attempt.solution_output, *(step.action for step in attempt.steps)]
    return hashlib.sha256("\0".join(" ".join(part.split()) for part in parts).encode()).hexdigest()


def _read_task_keys(store: Store, collection: str) -> dict[str, TaskKey]:
    """Return the domain and the significant words of each attempt's task, keyed by the attempt's id."""
    columns, seqs = store.ledger.columns, np.sort(store.ledger.matching_seqs(collection))
    domains, task_keys = columns.column(collection, "domain"), {}
    for start in range(0, len(seqs), BATCH_SIZE):
        for record_id, _, text in columns.beginnings(collection, seqs[start : start + BATCH_SIZE], NO_CHARACTER_LIMIT):
            if words := significant_words(text):
                task_keys[record_id] = (str(domains.get(record_id, "")), words)
    return task_keys


def _read_contexts(store: Store, collection: str, ids: Sequence[str]) -> dict[str, str]:
    """Return the context of each attempt's task as text, keyed by the attempt's id."""
    return _read_texts(store, collection, ids, lambda attempt: input_key(attempt.task.context))


def _read_texts(store: Store, collection: str, ids: Sequence[str], read: Callable[[Experience], str]) -> dict[str, str]:
    """Return the result of `read` for each attempt, keyed by id. An attempt that cannot be read gets its id instead."""
    records, texts = store.collection(collection), {}
    for start in range(0, len(ids), BATCH_SIZE):
        for row in records.get(list(ids[start : start + BATCH_SIZE])):
            texts[row["id"]] = _text_or_id(row["id"], row["metadata"], read)
    return texts


def _text_or_id(record_id: str, metadata: Mapping[str, object], read: Callable[[Experience], str]) -> str:
    try:
        return read(decode_content(decode_experience, metadata))
    except StoreDamaged:
        return record_id


def _repeated_positions(keys: Iterator[Hashable] | Sequence[Hashable]) -> list[list[int]]:
    """Return the positions of each key that occurs several times. None is not a key."""
    positions: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position, key in enumerate(keys):
        if key is not None:
            positions[key].append(position)
    return [group for group in positions.values() if len(group) > 1]


def _merge_overlapping(n_positions: int, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return groups of positions after merging groups that overlap, each sorted."""
    parents = list(range(n_positions))

    def root(position: int) -> int:
        while parents[position] != position:
            parents[position] = position = parents[parents[position]]
        return position

    for group in groups:
        for position in group[1:]:
            low, high = sorted((root(group[0]), root(position)))
            parents[high] = low
    return _repeated_positions([root(position) for position in range(n_positions)])
