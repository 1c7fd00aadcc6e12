"""Signs of an attack that show only in the whole store: bursts of one writer, hubs, and contradicting strategies.

These signs are suspicions for a person to check. Each weighs no more than the least score of a finding, and none is a
reason to put a record into quarantine without a check.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from math import ceil
from typing import Any

from atlas.core.types import Vector
from atlas.memory.effects.contradictions import find_contradictions
from atlas.memory.kinds.table import searchable_kinds
from atlas.memory.plugged import PluggedMemory
from atlas.scanning.text import SUSPICIOUS, Reason
from atlas.storage.damage import parse_time

BURST, HUB, CONTRADICTION = STORE_SIGNS = ("burst", "hub", "contradiction")
"""The attacks that these signs detect."""

BURST_MINUTES = 2
BURST_RECORDS = 30
"""Minimum number of records in a burst."""

BURST_RATIO = 5
"""Minimum ratio of the records in a burst to the usual maximum in the same time."""

BURST_SPANS = 20
"""Minimum number of other periods with records. With fewer, the usual number is unknown."""

HUB_TASKS = 100
"""Maximum number of tasks whose first hits are read."""

HUB_RECENT = 1_000
"""Number of the newest attempts from which unrelated tasks are chosen."""

HUB_MIN_TASKS = 30
"""Minimum number of unrelated tasks. With fewer, nothing is a hub."""

HUB_RECORDS = 100
"""Minimum number of records of a memory. In a smaller one, every record is among the first hits of many tasks."""

HUB_HITS = 5
HUB_SHARE = 0.15
"""Minimum share of the tasks whose first hits contain a hub."""

HUB_RATIO = 3
"""Minimum ratio of a hub's number of tasks to the 99th percentile. Weak models make many mild hubs."""

UNRELATED_SIMILARITY = 0.5
"""Cosine below which two tasks are unrelated."""

_SECONDS = BURST_MINUTES * 60


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """The writer and the time of a stored record."""

    id: str
    writer: str
    at: datetime


def signs_of_store(system: Any) -> dict[tuple[str, str], tuple[Reason, ...]]:
    """Return the signs of an attack that only the whole store shows, keyed by memory and record id."""
    memories = {name: kind.records(system) for name, kind in searchable_kinds().items()}
    own_memories = {name: records for name, records in memories.items() if not isinstance(records, PluggedMemory)}
    signs = chain(_burst_signs(system, own_memories), _hub_signs(own_memories), _contradiction_signs(own_memories))
    reasons_by_record = defaultdict[tuple[str, str], list[Reason]](list)
    for record, reason in signs:
        reasons_by_record[record].append(reason)
    return {record: tuple(reasons) for record, reasons in reasons_by_record.items()}


def find_bursts(writings: Sequence[WrittenRecord]) -> dict[str, Reason]:
    """Return a sign for each record of an unusual burst of one writer, keyed by id."""
    by_writer = defaultdict[str, list[WrittenRecord]](list)
    for writing in sorted(writings, key=lambda writing: writing.at):
        by_writer[writing.writer].append(writing)
    counts_by_writer = {
        writer: Counter(map(_period_number, own_writings)) for writer, own_writings in by_writer.items()
    }
    reasons: dict[str, Reason] = {}
    for writer, own_writings in by_writer.items():
        burst = _largest_burst(own_writings)
        burst_counts = Counter(_period_number(writing) for writing in burst)
        usual_counts = [
            count
            for other_writer, counts in counts_by_writer.items()
            if other_writer != writer
            for count in counts.values()
        ]
        usual_counts += (counts_by_writer[writer] - burst_counts).values()
        if (
            len(burst) < BURST_RECORDS
            or len(usual_counts) < BURST_SPANS
            or len(burst) < BURST_RATIO * _usual_maximum(usual_counts)
        ):
            continue
        why = (
            f"{len(burst)} of {len(own_writings)} records of {writer} were stored within {BURST_MINUTES} minutes; "
            f"usually a writer stores at most {_usual_maximum(usual_counts)} in that time."
        )
        reasons |= {writing.id: _make_reason(BURST, why) for writing in burst}
    return reasons


def select_dissimilar(vectors: Mapping[str, Vector]) -> list[str]:
    """Return the ids of at most `HUB_TASKS` tasks that are pairwise dissimilar, in the given order."""
    task_ids: list[str] = []
    for task_id, vector in vectors.items():
        if len(task_ids) == HUB_TASKS:
            break
        if all(float(vector @ vectors[selected_id]) < UNRELATED_SIMILARITY for selected_id in task_ids):
            task_ids.append(task_id)
    return task_ids


def _burst_signs(system: Any, memories: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Reason]]:
    """Yield a sign for each record of a burst. Imported records do not count, because an import stores many at once."""
    memory_by_id: dict[str, str] = {}
    writings: list[WrittenRecord] = []
    for name, records in memories.items():
        origins = system.storage.ledger.history.origins(records.collection_name)
        for record_id, stored_at in records.column("stored_at").items():
            if record_id in origins and origins[record_id].kind == "store":  # an import stores many at once
                memory_by_id[record_id] = name
                writings.append(WrittenRecord(record_id, origins[record_id].actor, parse_time(stored_at)))
    for record_id, reason in find_bursts(writings).items():
        yield (memory_by_id[record_id], record_id), reason


def _largest_burst(writings: Sequence[WrittenRecord]) -> Sequence[WrittenRecord]:
    """Return the largest group of a writer's records that were stored within `BURST_MINUTES`.

    Args:
        writings: Records of one writer, in the order of their times.
    """
    first, largest = 0, writings[:0]
    for n_read, writing in enumerate(writings, 1):
        while (writing.at - writings[first].at).total_seconds() > _SECONDS:
            first += 1
        if n_read - first > len(largest):
            largest = writings[first:n_read]
    return largest


def _period_number(writing: WrittenRecord) -> int:
    return int(writing.at.timestamp() // _SECONDS)


def _usual_maximum(counts: Sequence[int]) -> int:
    """Return the 95th percentile of numbers of records per period."""
    return sorted(counts)[ceil(0.95 * len(counts)) - 1]


def _hub_signs(memories: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Reason]]:
    """Yield a sign for each record among the first hits of many unrelated tasks. Only stored vectors are compared."""
    attempts = memories.get("experience")
    if attempts is None:
        return
    vectors = attempts.collection.first_vectors(attempts.ids()[: -HUB_RECENT - 1 : -1])
    task_ids = select_dissimilar(vectors)
    if len(task_ids) < HUB_MIN_TASKS:
        return
    for name, records in memories.items():
        if (n_records := records.count()) < HUB_RECORDS:
            continue
        n_tasks_by_id = Counter[str]()
        for task_id in task_ids:
            hits = records.collection.query(vectors[task_id], HUB_HITS + 1, with_buried=False).ids
            n_tasks_by_id.update([hit for hit in hits if hit != task_id][:HUB_HITS])
        counts = sorted(n_tasks_by_id.values(), reverse=True)
        n_outliers = n_records // 100
        usual_maximum = counts[n_outliers] if n_outliers < len(counts) else 0
        for record_id, n_tasks in n_tasks_by_id.items():
            if n_tasks >= max(HUB_SHARE * len(task_ids), HUB_RATIO * usual_maximum):
                why = f"It is among the first {HUB_HITS} hits of {n_tasks} of {len(task_ids)} unrelated tasks."
                yield (name, record_id), _make_reason(HUB, why)


def _contradiction_signs(memories: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Reason]]:
    strategies = memories.get("strategies")
    if strategies is None:
        return
    for contradiction in find_contradictions(strategies):
        reason = _make_reason(CONTRADICTION, contradiction.why)
        yield (
            ("strategies", contradiction.id),
            replace(reason, part="suggestion", excerpt=contradiction.excerpt),
        )


def _make_reason(attack: str, why: str) -> Reason:
    return Reason(rule=attack, attack=attack, why=why, excerpt="", weight=SUSPICIOUS)
