"""The time of storing and the history of a record, for export and restore."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from atlas.core.exchange import ExportedRecord
from atlas.storage.damage import stored_instant
from atlas.storage.records import RestoredHistory


def stored_at(row: Mapping[str, Any]) -> datetime | None:
    """Return the time when a row was first stored, or None if the store does not record it."""
    return stored_instant(row, "stored_at") if row.get("stored_at") else None


def restored_history(exported: ExportedRecord) -> RestoredHistory:
    """Return the history of an exported record in the form that a store restores: marks, usage, uses and time."""
    return RestoredHistory(
        marks=exported.marks,
        usage=exported.usage,
        stored_at=exported.stored_at.isoformat() if exported.stored_at else "",
        uses=exported.uses,
    )
