"""Merging of duplicate records: groups, plans, and the ids that a merged record replaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.core.operations import Marks
from atlas.core.tables import TableRow, Tabular, caption_of
from atlas.memory.loss import CurationLoss, reason_with_loss
from atlas.storage.records import Merge, Moment


class Group(Protocol):
    """A group of records to be merged into one of them."""

    @property
    def kept_id(self) -> str:
        """The id of the record that is kept."""

    @property
    def removed(self) -> Sequence[Any]:
        """The records that are removed, each with its `id`."""


G = TypeVar("G", bound=Group)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsPlan(Tabular, Generic[G]):
    """A plan to merge records. Applying it makes exactly these changes, or fails if one of the records has changed."""

    groups: tuple[G, ...]
    n_total: int
    """Number of records in the store when the plan was made."""

    moment: Moment
    """Moment in the store's history at which the plan was made."""

    loss: CurationLoss | None = None
    """Loss to agents, or None if it was not measured. See `MemorySystem.with_loss`."""

    @property
    def replacements(self) -> dict[str, str]:
        """Id of the kept record, keyed by the id of each removed record."""
        return {record.id: group.kept_id for group in self.groups for record in group.removed}

    @property
    def n_removed(self) -> int:
        """Number of records that would be removed."""
        return sum(len(group.removed) for group in self.groups)

    @property
    def share(self) -> float:
        """Share of the memory's records that would be removed, in [0, 1]."""
        return self.n_removed / self.n_total if self.n_total else 0.0

    @property
    def reason(self) -> str:
        """The reason shown in the history."""
        n_records = self.n_removed + len(self.groups)
        survivors = self.groups[0].kept_id[:8] if len(self.groups) == 1 else str(len(self.groups))
        return reason_with_loss(f"merged {n_records} records into {survivors}", self.loss)

    def _caption(self) -> str:
        return f"{self.n_removed:,} of {self.n_total:,} records would be merged into others ({self.share:.1%})"

    def _rows(self) -> Iterator[TableRow]:
        for group in self.groups:
            for record in group.removed:
                yield {"record": caption_of(record), "would be merged into": group.kept_id[:8]}


def parse_groups(groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the groups as lists of distinct ids.

    Raises:
        InvalidInput: A group has fewer than two records, or a record is in two groups.
    """
    distinct_groups = [list(dict.fromkeys([ids] if isinstance(ids, str) else ids)) for ids in groups]
    earlier_ids: set[str] = set()
    for ids in distinct_groups:
        if len(ids) < 2:
            raise InvalidInput(f"expected at least two records in a group to merge, got {len(ids)}; choose more")
        repeated_id = next((record_id for record_id in ids if record_id in earlier_ids), None)
        if repeated_id is not None:
            raise InvalidInput(
                f"expected each record in one group, got {repeated_id!r} in two; remove it from one of them"
            )
        earlier_ids.update(ids)
    return distinct_groups


def make_store_merge(
    row: Mapping[str, Any] | None, kept_id: str, metadata: Mapping[str, Any], removed_ids: Sequence[str], marks: Marks
) -> Merge:
    """Return the arguments with which a store merges a group. The kept record keeps its text and its embedding.

    Args:
        row: Row of the kept record, or None if it was deleted.
        metadata: New metadata of the kept record.
        marks: New marks of the kept record.

    Raises:
        PlanOutdated: The kept record was deleted.
    """
    if row is None:
        raise PlanOutdated(
            f"the record {kept_id!r} has been deleted since the plan was made; nothing was done. Plan again"
        )
    return Merge(
        kept_id=kept_id,
        embedding=row["embedding"],
        metadata=dict(metadata),
        document=row["document"],
        removed=removed_ids,
        marks=marks,
    )


def merged_record_ids(metadata: Mapping[str, Any]) -> list[str]:
    """Return the ids of the records that were merged into a record, from its metadata. Malformed ids are left out."""
    ids = metadata.get("merged_from")
    if isinstance(ids, list | tuple):
        return [record_id for record_id in ids if isinstance(record_id, str)]
    return []


def join_distinct(*lists: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct texts of several lists, in order of first appearance."""
    return tuple(dict.fromkeys(text for texts in lists for text in texts))


def merge_marks(all_marks: Sequence[Marks]) -> Marks:
    """Return the marks of a merged record, with the tags and notes of all merged records.

    The merged record is pinned or in quarantine if any record is, and buried or waiting for review if all records are.
    """
    return Marks(
        tags=join_distinct(*(marks.tags for marks in all_marks)),
        pinned=any(marks.pinned for marks in all_marks),
        note="\n".join(join_distinct(marks.note for marks in all_marks if marks.note)),
        buried=all(marks.buried for marks in all_marks),
        held_for=all_marks[0].held_for if all(marks.held_for for marks in all_marks) else "",
        quarantine="\n".join(join_distinct(marks.quarantine for marks in all_marks if marks.quarantine)),
    )
