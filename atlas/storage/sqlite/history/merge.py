"""Merging records: one stays and says what it was made of, the others go, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.storage.marks.book import check_marks, check_there
from atlas.storage.parts import CollectionParts
from atlas.storage.records import Merge, Moment, OperationDraft
from atlas.storage.sqlite.history import operations as history
from atlas.storage.sqlite.records import LedgerWriter
from atlas.storage.sqlite.rows import as_records


def merge(
    collection: CollectionParts,
    merges: Sequence[Merge],
    operation: OperationDraft,
    *,
    unchanged_since: Moment,
    dropped: Sequence[str] = (),
) -> None:
    """Write every merge, or none.

    Args:
        unchanged_since: A `moment`; refuse if one of the records, or its marks, has changed since.
        dropped: Records that go besides, and that no other takes the place of.

    Raises:
        NotFound: One of them is not there.
        PlanOutdated: One of them has changed.
    """
    check_marks({item.kept_id: item.marks for item in merges})
    ids = [*(record_id for item in merges for record_id in (item.kept_id, *item.removed)), *dropped]
    ledger, name = collection.ledger, collection.name
    records = as_records(
        [item.kept_id for item in merges],
        [item.embedding for item in merges],
        [dict(item.metadata) for item in merges],
        [item.document for item in merges],
        dimension=collection.dimension,
    )
    collection.marks.settle()
    with ledger.database.write() as connection:
        history.check_records_unchanged(connection, name, ids, unchanged_since, with_marks=True)
        writer = LedgerWriter(connection, operation, ledger.clock.now())
        writer.check_vectors(records, collection.model)
        check_there(writer, name, ids)
        for item, record in zip(merges, records, strict=True):
            writer.put("changed", name, record)
            for record_id in item.removed:
                writer.remove("removed", name, record_id)
        for record_id in dropped:
            writer.remove("removed", name, record_id)
        held = collection.marks.read_within(connection, name, [item.kept_id for item in merges])
        changed = {item.kept_id: item.marks for item in merges if item.marks != held[item.kept_id]}
        collection.marks.write_within(connection, writer, name, changed)
        writer.close()
    collection.marks.settle()
