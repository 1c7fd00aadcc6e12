"""The input of maps and near-duplicates: a vector, a title and a text for each record of a collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from atlas.core.types import Vectors
from atlas.embedding.chunking import mean_directions
from atlas.storage.records import IS_QUARANTINED, Seqs
from atlas.storage.store import Store

TEXT_CHARACTERS = 600
"""Number of characters of a record's text from which its domain's name is derived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedRecords:
    """A snapshot of a collection's records with their vectors."""

    ids: tuple[str, ...]
    vectors: Vectors
    """Shape (n, dim): the mean direction of each record's windows."""

    titles: tuple[str, ...]
    texts: tuple[str, ...]
    """Beginning of each embedded text, from which the names of domains are derived."""

    revision: int
    """Revision of the store at which the records were read, or an earlier one."""

    model: str
    """The embedding model of the vectors."""

    ledger_id: str = ""
    """Id of the ledger with the records. A restore changes the id."""


def read_embedded(store: Store, collection: str, ids: Sequence[str] | None = None) -> EmbeddedRecords:
    """Return a snapshot of a collection's live records, or of those with the given ids, in the order of addition.

    Raises:
        NotFound: The store is not bound to an embedding model yet.
    """
    store.collection(collection)  # raises if there is no model, and so no dimension of the vectors
    with store.reading():  # one state of the store
        empty = _empty_snapshot(store, collection)
        seqs = np.sort(store.ledger.matching_seqs(collection))
        embedded = _append_records(empty, store, collection, seqs)
    if ids is None:
        return embedded
    id_set = set(ids)
    return select_rows(embedded, [row for row, record_id in enumerate(embedded.ids) if record_id in id_set])


def reread(store: Store, collection: str, earlier: EmbeddedRecords) -> EmbeddedRecords:
    """Return a snapshot of the current live records. Only the changes since an earlier snapshot are read."""
    with store.reading():  # one state of the store
        empty = _empty_snapshot(store, collection)
        if (empty.ledger_id, empty.model) != (earlier.ledger_id, earlier.model) or empty.revision < earlier.revision:
            return read_embedded(store, collection)
        changes = store.ledger.vector_changes(collection, earlier.revision)
        seqs = np.sort(np.array([entry.seq for entry in changes if len(entry.vectors)], np.int64))
        current = replace(earlier, revision=empty.revision)
        changed_ids = {entry.id for entry in changes}
        if not changed_ids.isdisjoint(earlier.ids):
            current = select_rows(
                current, [row for row, record_id in enumerate(earlier.ids) if record_id not in changed_ids]
            )
        return _append_records(current, store, collection, seqs)


def n_changed(store: Store, collection: str, since: int) -> int:
    """Return the number of live records that were added or changed after a revision, without reading vectors."""
    return store.ledger.n_changed(collection, since)


def _empty_snapshot(store: Store, collection: str) -> EmbeddedRecords:
    """Return a snapshot of a collection at the current revision, without records."""
    model = store.model
    return EmbeddedRecords(
        ids=(),
        vectors=np.zeros((0, model.dimension if model else 1), np.float32),
        titles=(),
        texts=(),
        revision=store.ledger.revision(),
        model=model.name if model else "",
        ledger_id=store.ledger.position(collection).ledger_id,
    )


def select_rows(embedded: EmbeddedRecords, rows: Sequence[int]) -> EmbeddedRecords:
    """Return a snapshot with only the given rows, in the given order."""
    return replace(
        embedded,
        ids=tuple(embedded.ids[row] for row in rows),
        vectors=embedded.vectors[rows],
        titles=tuple(embedded.titles[row] for row in rows),
        texts=tuple(embedded.texts[row] for row in rows),
    )


def _append_records(embedded: EmbeddedRecords, store: Store, collection: str, seqs: Seqs) -> EmbeddedRecords:
    """Return a snapshot with the records of the given sequence numbers appended.

    Records without a vector, and those in quarantine, are left out.
    """
    seqs = np.setdiff1d(seqs, store.ledger.matching_seqs(collection, IS_QUARANTINED), assume_unique=True)
    owners, windows = store.ledger.vectors.read_by_seq(seqs)
    positions = np.unique(owners)
    if not len(positions):
        return embedded
    rows = store.ledger.columns.beginnings(collection, positions, TEXT_CHARACTERS)
    added = mean_directions(windows, np.searchsorted(owners, positions))
    return replace(
        embedded,
        ids=(*embedded.ids, *(record_id for record_id, _, _ in rows)),
        vectors=np.concatenate([embedded.vectors, added]) if len(embedded.ids) else added,
        titles=(*embedded.titles, *(title or text for _, title, text in rows)),
        texts=(*embedded.texts, *(text or title for _, title, text in rows)),
    )
