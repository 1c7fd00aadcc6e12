"""The candidates of pruning and merging, read from a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from atlas.core.codec import decode_experience
from atlas.core.operations import NO_MARKS, NO_USAGE, Marks, Usage
from atlas.memory.experience.merging import MergeCandidate, MergeGroup, build_merge
from atlas.memory.experience.pruning import PruneCandidate
from atlas.storage.collection import Collection
from atlas.storage.damage import decode_content, decode_field
from atlas.storage.records import Merge

COLUMNS = ("title", "success", "created_at", "stored_at")


def read_prune_candidates(store: Collection, only_ids: Sequence[str] | None = None) -> list[PruneCandidate]:
    """Return experiences with the data that pruning needs: all, or those of the given ones that exist.

    Full records are not read. The time of the attempt replaces a missing time of storage.
    """
    values_by_id = _read_all_values(store) if only_ids is None else _read_values(store, only_ids)
    usage, marks = store.usage(list(values_by_id)), store.marks(list(values_by_id))
    return [
        _candidate(record_id, values, usage.get(record_id, NO_USAGE), marks.get(record_id, NO_MARKS))
        for record_id, values in values_by_id.items()
    ]


def read_merge_candidates(store: Collection, ids: Sequence[str]) -> dict[str, MergeCandidate]:
    """Return the experiences that exist with the data that a merge needs, keyed by id."""
    marks = store.marks(ids)
    return {
        row["id"]: MergeCandidate(
            experience=decode_content(decode_experience, row["metadata"]),
            title=row["metadata"].get("title", ""),
            marks=marks[row["id"]],
            content_hash=row["metadata"].get("content_hash", ""),
        )
        for row in store.get(list(ids))
    }


def build_merges(store: Collection, groups: Sequence[MergeGroup]) -> list[Merge]:
    """Return one merge for each group, or raise `PlanOutdated` if a record to keep was deleted."""
    rows = {row["id"]: row for row in store.get([group.kept_id for group in groups])}
    return [build_merge(group, rows.get(group.kept_id)) for group in groups]


def _read_all_values(store: Collection) -> dict[str, tuple[Any, ...]]:
    columns = [store.column(name) for name in COLUMNS]
    return {record_id: tuple(column.get(record_id) for column in columns) for record_id in store.ids()}


def _read_values(store: Collection, ids: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    rows = [
        (row["id"], {**row["metadata"], "stored_at": row.get("stored_at")}) for row in store.get_without_content(ids)
    ]
    return {record_id: tuple(values.get(name) for name in COLUMNS) for record_id, values in rows}


def _candidate(record_id: str, values: tuple[Any, ...], usage: Usage, marks: Marks) -> PruneCandidate:
    title, success, created_at, stored_at = values
    return PruneCandidate(
        id=record_id,
        title=str(title or ""),
        success=None if success is None else bool(success),
        created_at=_parse_time(created_at),
        stored_at=_parse_time(stored_at or created_at),
        usage=usage,
        marks=marks,
    )


def _parse_time(text: Any) -> datetime | None:
    return decode_field(datetime.fromisoformat, {"time": text}, "time") if text else None
