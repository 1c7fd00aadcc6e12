"""From a row of the store to what is exported of it, and back to what the store takes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from atlas.core.exchange import Exported
from atlas.storage.damage import stored_instant
from atlas.storage.records import RestoredHistory


def stored_at(row: Mapping[str, Any]) -> datetime | None:
    """Return when a row was first stored, or None where its store does not say."""
    return stored_instant(row, "stored_at") if row.get("stored_at") else None


def to_restored(exported: Exported) -> RestoredHistory:
    """Return what a store keeps of it beside the record itself."""
    return RestoredHistory(
        marks=exported.marks,
        usage=exported.usage,
        stored_at=exported.stored_at.isoformat() if exported.stored_at else "",
        uses=exported.uses,
    )
