"""What the analysis works on: a vector, a title and a text for each record of a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from atlas.core.types import Vectors
from atlas.core.windows import mean_directions
from atlas.infra import aio
from atlas.storage.store import Store

TEXT_CHARACTERS = 600
"""How much of a record's text its domain's name is made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The records of a collection, as they lie in the embedding model's space."""

    ids: tuple[str, ...]
    vectors: Vectors
    """Shape (n, dim): the mean direction of each record's windows."""

    titles: tuple[str, ...]
    texts: tuple[str, ...]
    """The beginning of what was embedded: what domains are named from."""

    revision: int
    """The store's revision that they were read at, or an earlier one."""

    model: str
    """The embedding model of the vectors."""

    ledger_id: str = ""
    """The ledger that they were read from; another one after a restore."""


def read_embedded(store: Store, collection: str, ids: Sequence[str] | None = None) -> Embedded:
    """The live records of a collection, as they were added; only those of these ids, where they are given.

    Raises:
        NotFound: The store is not bound to an embedding model yet.
    """
    vector_store = store.vector_store(collection)
    begun = _nothing(store, collection)  # first: what is written meanwhile makes the result newer than it says
    windows = aio.run(vector_store.vectors())
    wanted = None if ids is None else set(ids)
    rows = [
        row for row in aio.run(vector_store.scan()) if row["id"] in windows and (wanted is None or row["id"] in wanted)
    ]
    return _with(begun, rows, [windows[row["id"]] for row in rows])


def reread(store: Store, collection: str, earlier: Embedded) -> Embedded:
    """The live records of a collection now, of which only those are read that changed since an earlier reading."""
    begun = _nothing(store, collection)
    if (begun.ledger_id, begun.model) != (earlier.ledger_id, earlier.model) or begun.revision < earlier.revision:
        return read_embedded(store, collection)
    changes = store.ledger.follow(collection, earlier.revision)
    if not changes:
        return replace(earlier, revision=begun.revision)
    gone = {entry.id for entry in changes}
    windows = {entry.id: entry.vectors for entry in changes if len(entry.vectors)}
    rows = [row for row in aio.run(store.vector_store(collection).get(list(windows))) if row["id"] in windows]
    kept = _among(earlier, [row for row, record_id in enumerate(earlier.ids) if record_id not in gone])
    return _with(replace(kept, revision=begun.revision), rows, [windows[row["id"]] for row in rows])


def n_changed(store: Store, collection: str, since: int) -> int:
    """How many live records were added or changed after a revision; no vector is read for it."""
    with store.ledger.database.read() as connection:
        row = connection.execute(
            "SELECT count(*) FROM records WHERE collection = ? AND revision > ? AND deleted = 0", (collection, since)
        ).fetchone()
        return int(row[0])


def _nothing(store: Store, collection: str) -> Embedded:
    model = store.model
    return Embedded(
        ids=(),
        vectors=np.zeros((0, model.dimension if model else 1), np.float32),
        titles=(),
        texts=(),
        revision=store.ledger.revision(),
        model=model.name if model else "",
        ledger_id=store.ledger.position(collection).ledger_id,
    )


def _among(embedded: Embedded, rows: Sequence[int]) -> Embedded:
    return replace(
        embedded,
        ids=tuple(embedded.ids[row] for row in rows),
        vectors=embedded.vectors[rows],
        titles=tuple(embedded.titles[row] for row in rows),
        texts=tuple(embedded.texts[row] for row in rows),
    )


def _with(embedded: Embedded, rows: Sequence[Mapping[str, Any]], windows: Sequence[Vectors]) -> Embedded:
    """The same with more records after those that it has."""
    titles = [str(row["metadata"].get("title", "")) for row in rows]
    texts = [row["document"][:TEXT_CHARACTERS] for row in rows]
    added = mean_directions(windows, embedded.vectors.shape[1])
    return replace(
        embedded,
        ids=(*embedded.ids, *(row["id"] for row in rows)),
        vectors=np.concatenate([embedded.vectors, added]) if len(embedded.ids) else added,
        titles=(*embedded.titles, *(title or text for title, text in zip(titles, texts, strict=True))),
        texts=(*embedded.texts, *(text or title for title, text in zip(titles, texts, strict=True))),
    )
