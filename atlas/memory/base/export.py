"""Helpers for exporting rows of a store, and for restoring them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from atlas.core.exchange import ExportedRecord
from atlas.storage.damage import stored_instant
from atlas.storage.records import RestoredHistory


def stored_at(row: Mapping[str, Any]) -> datetime | None:
    """Return the time when a row was first stored, in ISO 8601, or None if the store does not record it."""
    return stored_instant(row, "stored_at") if row.get("stored_at") else None


def restored_history(exported: ExportedRecord) -> RestoredHistory:
    """Return the data to restore besides an exported record: its marks, use counts, uses and time of storing."""
    return RestoredHistory(
        marks=exported.marks,
        usage=exported.usage,
        stored_at=exported.stored_at.isoformat() if exported.stored_at else "",
        uses=exported.uses,
    )
