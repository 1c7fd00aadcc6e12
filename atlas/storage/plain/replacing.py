"""Replacing records in a store that can only delete and add. A failure halfway is undone or reported."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from atlas.core.errors import StoreError
from atlas.protocols.infra import VectorStore

Row = Mapping[str, Any]
"""A record: `id`, `embedding` as the store's `add` takes it, `metadata`, `document`."""


async def replace_records(store: VectorStore, before: Sequence[Row], after: Sequence[Row]) -> None:
    """Delete records and add them as they are to be. Those that are gone when this fails are put back.

    Raises:
        StoreError: They could not be put back either; the message holds them.
    """
    try:
        await store.delete([row["id"] for row in before])
        await add_rows(store, after)
    except BaseException as error:  # whoever cancels this must not lose them either
        await _put_back(store, before, error)
        raise


async def add_rows(store: VectorStore, rows: Sequence[Row]) -> None:
    """Add records to a store."""
    fields = [[row[name] for row in rows] for name in ("id", "embedding", "metadata", "document")]
    await store.add(*fields)


async def _put_back(store: VectorStore, before: Sequence[Row], error: BaseException) -> None:
    """Add the records that are no longer there."""
    missing = before
    try:
        present = {row["id"] for row in await store.get([row["id"] for row in before])}
        missing = [row for row in before if row["id"] not in present]
        if missing:
            await add_rows(store, missing)
    except Exception as failure:
        lost = [{name: row[name] for name in ("id", "document", "metadata")} for row in missing]
        raise StoreError(
            f"the vector store deleted records to replace them, did not add them ({error!r}), and did not take back "
            f"what it had ({failure!r}); add these again, each with the embedding of its document: "
            f"{json.dumps(lost, ensure_ascii=False, default=str)}"
        ) from failure
