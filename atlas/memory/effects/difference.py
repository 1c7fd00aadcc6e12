"""Comparison of the records and success rates of two memory systems, such as a store and its backup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from atlas.core.operations import Usage
from atlas.memory.base.memory import Memory
from atlas.memory.kinds.table import searchable_kinds

BATCH = 500
"""Number of records that are read at once."""

ADDED, REMOVED, CHANGED, RATE = "added", "removed", "changed", "rate"

_STATISTICS = frozenset({"usage_count", "n_succeeded", "success_rate"})
"""Fields of records that follow from their uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDifference:
    """A record that only one of two memory systems has, or that differs between them."""

    memory: str
    """Name of the memory with the record."""

    id: str
    title: str
    """Untrusted text."""

    change: str
    """`added`, `removed`, `changed`, or `rate` if the record's success rate has changed."""

    fields: tuple[str, ...] = ()
    """Names of the changed fields. `marks` stands for all marks."""

    before: str = ""
    """The earlier success rate, such as `1 of 3`. Empty if it is unknown or has not changed."""

    after: str = ""
    """The later success rate."""


def compare_memories(before: Any, after: Any) -> Iterator[RecordDifference]:
    """Yield the differences between the records of two memory systems, memory by memory, added records first."""
    for name, kind in searchable_kinds().items():
        yield from _compare_memory(name, kind.records(before), kind.records(after))


def _compare_memory(name: str, before: Memory[Any], after: Memory[Any]) -> Iterator[RecordDifference]:
    ids, later_ids = before.ids(), after.ids()
    earlier, later = set(ids), set(later_ids)
    yield from _list_differences(name, after, [record_id for record_id in later_ids if record_id not in earlier], ADDED)
    yield from _list_differences(name, before, [record_id for record_id in ids if record_id not in later], REMOVED)
    common = [record_id for record_id in ids if record_id in later]
    for batch in (common[start : start + BATCH] for start in range(0, len(common), BATCH)):
        yield from _compare_records(name, before, after, batch)


def _list_differences(name: str, records: Memory[Any], ids: Sequence[str], change: str) -> Iterator[RecordDifference]:
    titles = records.titles(ids)
    for record_id in ids:
        yield RecordDifference(memory=name, id=record_id, title=titles.get(record_id, ""), change=change)


def _compare_records(
    name: str, before: Memory[Any], after: Memory[Any], ids: Sequence[str]
) -> Iterator[RecordDifference]:
    records, later_records = ({record.id: record for record in side.get_many(ids)} for side in (before, after))
    marks, later_marks = before.marks(ids), after.marks(ids)
    usage = before.usage(ids)
    later_usage = after.usage(ids)
    titles = after.titles(ids)
    for record_id in ids:
        changed = _changed_fields(records.get(record_id), later_records.get(record_id))
        if marks[record_id] != later_marks[record_id]:
            changed = (*changed, "marks")
        title = titles.get(record_id, "")
        if changed:
            yield RecordDifference(memory=name, id=record_id, title=title, change=CHANGED, fields=changed)
        rate, later_rate = _rate(usage[record_id]), _rate(later_usage[record_id])
        if rate != later_rate:
            yield RecordDifference(memory=name, id=record_id, title=title, change=RATE, before=rate, after=later_rate)


def _changed_fields(before: Any, after: Any) -> tuple[str, ...]:
    """Return the names of the fields that differ. None stands for a damaged record that cannot be read."""
    if before is None or after is None:
        return () if before is after else ("record",)
    names = [field.name for field in fields(before) if field.name not in _STATISTICS]
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))


def _rate(usage: Usage) -> str:
    return f"{usage.n_successes:,} of {usage.n_uses:,}" if usage.n_uses else ""
