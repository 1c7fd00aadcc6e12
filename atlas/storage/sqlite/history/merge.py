"""Merging records: one stays and says what it was made of, the others go, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.core.operations import NO_MARKS
from atlas.storage.marks.codec import check_marks
from atlas.storage.records import Merge, Moment, Record
from atlas.storage.sqlite.records import LedgerWriter
from atlas.storage.sqlite.tables.marks import read_marks
from atlas.storage.sqlite.tables.operations import check_records_unchanged


def merge(
    writer: LedgerWriter,
    collection: str,
    merges: Sequence[Merge],
    records: Sequence[Record],
    *,
    model: str,
    unchanged_since: Moment,
    dropped: Sequence[str] = (),
) -> None:
    """Write every merge, or none.

    Args:
        records: Those that stay, as they are after it.
        unchanged_since: A `moment`. It is refused if one of the records, or its marks, has changed since.
        dropped: Records that go besides, and that no other takes the place of.

    Raises:
        NotFound: One of them is not there.
        PlanOutdated: One of them has changed.
    """
    check_marks({item.kept_id: item.marks for item in merges})
    ids = [*(record_id for item in merges for record_id in (item.kept_id, *item.removed)), *dropped]
    check_records_unchanged(writer.connection, collection, ids, unchanged_since, with_marks=True)
    writer.check_vectors(records, model)
    writer.check_there(collection, ids)
    for item, record in zip(merges, records, strict=True):
        writer.put("changed", collection, record)
        for record_id in item.removed:
            writer.remove("removed", collection, record_id)
    for record_id in dropped:
        writer.remove("removed", collection, record_id)
    held = read_marks(writer.connection, collection, [item.kept_id for item in merges])
    changed = {item.kept_id: item.marks for item in merges if item.marks != held.get(item.kept_id, NO_MARKS)}
    writer.put_marks(collection, changed)
