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
    """Yield the differences between two memories: added records, removed ones, then changed ones."""
    ids_before, ids_after = before.ids(), after.ids()
    before_set, after_set = set(ids_before), set(ids_after)
    yield from _list_differences(
        name, after, [record_id for record_id in ids_after if record_id not in before_set], ADDED
    )
    yield from _list_differences(
        name, before, [record_id for record_id in ids_before if record_id not in after_set], REMOVED
    )
    common_ids = [record_id for record_id in ids_before if record_id in after_set]
    for batch in (common_ids[start : start + BATCH] for start in range(0, len(common_ids), BATCH)):
        yield from _compare_records(name, before, after, batch)


def _list_differences(name: str, records: Memory[Any], ids: Sequence[str], change: str) -> Iterator[RecordDifference]:
    titles = records.titles(ids)
    for record_id in ids:
        yield RecordDifference(memory=name, id=record_id, title=titles.get(record_id, ""), change=change)


def _compare_records(
    name: str, before: Memory[Any], after: Memory[Any], ids: Sequence[str]
) -> Iterator[RecordDifference]:
    """Yield the differences between the records with these ids, which both memories have."""
    records_before = {record.id: record for record in before.get_many(ids)}
    records_after = {record.id: record for record in after.get_many(ids)}
    marks_before, marks_after = before.marks(ids), after.marks(ids)
    usage_before = before.usage(ids)
    usage_after = after.usage(ids)
    titles = after.titles(ids)
    for record_id in ids:
        changed_fields = _changed_fields(records_before.get(record_id), records_after.get(record_id))
        if marks_before[record_id] != marks_after[record_id]:
            changed_fields = (*changed_fields, "marks")
        title = titles.get(record_id, "")
        if changed_fields:
            yield RecordDifference(memory=name, id=record_id, title=title, change=CHANGED, fields=changed_fields)
        rate_before, rate_after = _describe_rate(usage_before[record_id]), _describe_rate(usage_after[record_id])
        if rate_before != rate_after:
            yield RecordDifference(
                memory=name, id=record_id, title=title, change=RATE, before=rate_before, after=rate_after
            )


def _changed_fields(before: Any, after: Any) -> tuple[str, ...]:
    """Return the names of the fields that differ. None stands for a damaged record that cannot be read."""
    if before is None or after is None:
        return () if before is after else ("record",)
    names = [field.name for field in fields(before) if field.name not in _STATISTICS]
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))


def _describe_rate(usage: Usage) -> str:
    return f"{usage.n_successes:,} of {usage.n_uses:,}" if usage.n_uses else ""
