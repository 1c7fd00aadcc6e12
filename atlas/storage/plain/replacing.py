"""Replacement of records in a store that can only delete and add, with rollback on failure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from atlas.core.errors import StoreError
from atlas.protocols.infra import VectorStore

Row = Mapping[str, Any]
"""A record: `id`, `embedding` in the format of the store's `add`, `metadata`, `document`."""


async def replace_records(store: VectorStore, old_rows: Sequence[Row], new_rows: Sequence[Row]) -> None:
    """Replace records by deleting and adding them. On failure, deleted records are added back.

    Raises:
        StoreError: The rollback failed too; the message contains the records.
    """
    try:
        await store.delete([row["id"] for row in old_rows])
        await add_rows(store, new_rows)
    except BaseException as error:  # a cancellation must not lose the records either
        await _restore_rows(store, old_rows, error)
        raise


async def add_rows(store: VectorStore, rows: Sequence[Row]) -> None:
    """Add records to a store."""
    fields = [[row[name] for row in rows] for name in ("id", "embedding", "metadata", "document")]
    await store.add(*fields)


async def _restore_rows(store: VectorStore, old_rows: Sequence[Row], error: BaseException) -> None:
    """Add back the records that the store no longer has, or raise `StoreError`.

    Args:
        error: Why the records could not be replaced.
    """
    missing_rows = old_rows
    try:
        existing_ids = {row["id"] for row in await store.get([row["id"] for row in old_rows])}
        missing_rows = [row for row in old_rows if row["id"] not in existing_ids]
        if missing_rows:
            await add_rows(store, missing_rows)
    except Exception as failure:
        lost_rows = [{name: row[name] for name in ("id", "document", "metadata")} for row in missing_rows]
        raise StoreError(
            f"the vector store deleted records to replace them, but failed to add the new ones ({error!r}) and to "
            f"restore the old ones ({failure!r}); add these again, each with the embedding of its document: "
            f"{json.dumps(lost_rows, ensure_ascii=False, default=str)}"
        ) from failure
