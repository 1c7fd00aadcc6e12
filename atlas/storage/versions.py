"""What a record said before it was edited, from the history's before-images."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from atlas.storage.history import RECORD
from atlas.storage.ledger import SqliteLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A record as it was before a change."""

    content: dict[str, Any]
    """What its memory said of it."""

    replaced_at: datetime
    actor: str
    operation_id: str


def read_versions(ledger: SqliteLedger, collection: str, record_id: str) -> list[Version]:
    """Each state of a record that another one took the place of, the last first; deleting is no new version."""
    with ledger.database.read() as connection:
        rows = connection.execute(
            "SELECT c.before, o.created_at, o.actor, o.id FROM changes c JOIN operations o ON o.id = c.operation "
            "WHERE c.collection = ? AND c.record_id = ? AND c.aspect = ? ORDER BY c.seq DESC",
            (collection, record_id, RECORD),
        ).fetchall()
    images = [json.loads(before)["content"] if before else None for before, *_ in rows]
    after = [_content(ledger, collection, record_id), *images]
    versions = []
    for (_, at, actor, operation_id), before, later in zip(rows, images, after, strict=False):
        if before is not None and later is not None and before != later:
            made = Version(
                content=json.loads(before),
                replaced_at=datetime.fromisoformat(at),
                actor=actor,
                operation_id=operation_id,
            )
            versions.append(made)
    return versions


def _content(ledger: SqliteLedger, collection: str, record_id: str) -> str | None:
    """What a record says now; None where it is not there."""
    found = ledger.get(collection, [record_id])
    return found[record_id].content if record_id in found else None
