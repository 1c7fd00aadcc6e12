"""A selection of memories: how many of them are still there, and how well they went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlas.memory.kinds.sections import success_rate_text
from atlas.memory.system import MemorySystem
from atlas.views.kinds.kind import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSummary:
    """A selection, as the store is now."""

    ids: tuple[str, ...]
    """The ids that are still there, in the order of their selection."""

    tags: tuple[str, ...]
    """The tags that any of them has: untrusted text."""

    is_all_pinned: bool
    is_all_retired: bool
    sentence: str
    """`14 selected from lasso on the map`."""

    figures: str
    """A sentence on the outcomes of the records, and on the number of deleted records."""


def chosen_used(memory: MemorySystem, ids: Sequence[str], origin: str, kind: Kind) -> SelectionSummary:
    """Return a selection with the success rate of the tries of its records.

    Args:
        ids: The selected records. Some may be deleted.
        origin: The place of the selection, as trusted text.
    """
    records = kind.records(memory)
    titles = records.titles(ids)
    present = tuple(record_id for record_id in ids if record_id in titles)
    usage = records.usage(present).values()
    n_uses, n_successes = sum(used.n_uses for used in usage), sum(used.n_successes for used in usage)
    outcomes = success_rate_text(n_successes, n_uses) if n_uses else ""
    return chosen_of(memory, kind, ids, present, outcomes, origin)


def chosen_of(
    memory: MemorySystem, kind: Kind, ids: Sequence[str], present: tuple[str, ...], outcomes: str, origin: str
) -> SelectionSummary:
    """Return a selection with these existing records, and their outcomes in words or an empty string."""
    marks = kind.records(memory).marks(present).values()
    n_gone = len(ids) - len(present)
    gone = f"{len(present):,} still there, {n_gone:,} gone since" if n_gone else ""
    return SelectionSummary(
        ids=present,
        tags=tuple(dict.fromkeys(tag for mark in marks for tag in mark.tags)),
        is_all_pinned=bool(present) and all(mark.pinned for mark in marks),
        is_all_retired=bool(present) and kind.retired_ids(memory, present) == {*present},
        sentence=f"{len(ids):,} selected from {origin}" if origin else f"{len(ids):,} selected",
        figures=" · ".join(filter(None, [gone, outcomes])),
    )
