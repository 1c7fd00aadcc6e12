"""Values that a ledger engine takes and gives: records, points in its history, and changes that are about to be made.

They say nothing of how an engine keeps them, so the code above it is the same for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.core.operations import Marks, Usage, Use
from atlas.core.types import Vectors

Seqs = npt.NDArray[np.int64]
"""Numbers of records, of shape (n,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row of a collection, as it is written and read."""

    id: str
    metadata: Mapping[str, Any]
    """Values to filter and sort by: texts, numbers, truths, lists of them."""

    document: str
    """The text that was embedded."""

    vectors: Vectors | None
    """Shape (n_windows, dim). None where it was read without them."""

    search_text: str = ""
    """Text that keyword search finds besides the document."""

    content: str = ""
    """The whole record as its component encodes it."""

    content_hash: str = ""
    """Equal for records that say the same. Empty where nobody asked."""

    stored_at: str = ""
    """The time of its first storing, as ISO 8601. Where empty, a write keeps the time that it has, or sets the present
    one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A change of one record, as a follower of the ledger reads it."""

    seq: int
    """The record's number, the same through edits, deletion and undo."""

    id: str
    revision: int
    n_windows: int
    """The most vectors it ever had."""

    vectors: Vectors
    """Shape (n_windows, dim), empty for a deleted record."""


@dataclass(frozen=True, slots=True)
class Described:
    """A record by what can be filtered and sorted by, without its text."""

    id: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Marks and usage that a record had in the store that it comes from."""

    marks: Marks
    usage: Usage
    stored_at: str = ""
    """The time of its storing there, as ISO 8601. Empty for now."""

    uses: Sequence[Use] = ()
    """Oldest first. They are counted in the usage already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One record as it is after a merge, and those that it takes the place of."""

    kept_id: str
    embedding: npt.ArrayLike
    metadata: Mapping[str, Any]
    """Lists, under `merged_from`, the ids whose usage counts for the kept record while they are deleted."""

    document: str
    removed: Sequence[str]
    marks: Marks
    """Of the kept record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A record as it was before a change."""

    number: int
    """Of the change. One operation may have made several."""

    content: dict[str, Any]
    """The record as its memory encoded it."""

    replaced_at: datetime
    actor: str
    operation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDraft:
    """An operation that is about to write."""

    id: str
    kind: str
    actor: str
    reason: str = ""
    undoes: str | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in a store's history. After a restore the ledger has another id, so what was planned before is void."""

    ledger_id: str = ""
    change: int = 0
    """The newest change that had been made."""


NO_MOMENT = Moment()
"""The moment of a store that keeps no history."""


@dataclass(frozen=True, slots=True)
class Tip:
    """The newest change of a ledger at some time, named so that no other history has it."""

    number: int = 0
    name: str = ""
    """Its operation and its record."""


NO_TIP = Tip()
"""The tip of a ledger that nothing was written to, or of a follower that has seen nothing."""


@dataclass(frozen=True, slots=True)
class Position:
    """A point in a ledger's life. After a restore the ledger has another id, and its revisions begin again."""

    ledger_id: str
    revision: int
    model: tuple[str, int] | None = None
    """Name and dimension of the embedding model that the ledger is bound to then. None where that is not said."""

    tip: Tip = NO_TIP
