"""Quarantine of records. No search finds these records until a curator releases them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from atlas.core.errors import InvalidInput, NotFound
from atlas.memory.base.records import parse_ids
from atlas.memory.kinds.table import searchable_kinds
from atlas.storage.records import IS_QUARANTINED, QUARANTINE

KIND = "quarantine"
"""Kind of the operations that change a quarantine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedRecord:
    """A record in quarantine."""

    memory: str
    """Name of the memory with the record, such as `strategies`."""

    id: str
    title: str
    """Untrusted text."""

    reason: str


def quarantine(system: Any, ids: Sequence[str], reason: str) -> str:
    """Put records into quarantine as one operation, and return the operation's id.

    Raises:
        InvalidInput: There are no ids, or the reason is empty.
        NotFound: One of the ids does not exist; nothing was changed.
        NotAllowed: The actor is not a curator.
    """
    if not reason.strip():
        raise InvalidInput("expected a reason for the quarantine, got an empty text; it is shown with the records")
    return quarantine_each(system, dict.fromkeys(parse_ids(ids), reason.strip()), reason.strip())


def unquarantine(system: Any, ids: Sequence[str], reason: str = "") -> str:
    """Release records from quarantine as one operation, and return the operation's id.

    Raises:
        InvalidInput: There are no ids.
        NotFound: One of the ids does not exist; nothing was changed.
        NotAllowed: The actor is not a curator.
    """
    return quarantine_each(system, dict.fromkeys(parse_ids(ids), ""), reason or "released")


def quarantine_each(system: Any, reasons: Mapping[str, str], operation_reason: str) -> str:
    """Set the reason of each record's quarantine as one operation, and return the operation's id.

    Args:
        system: A memory system of ATLAS.
        reasons: The reason for each record of any memory, keyed by id. An empty reason releases the record.
        operation_reason: Reason of the operation, for the history.

    Raises:
        InvalidInput: There are no ids.
        NotFound: One of the ids does not exist; nothing was changed.
        NotAllowed: The actor is not a curator.
    """
    if not reasons:
        raise InvalidInput("expected the id of at least one record, got none")
    by_memory = {memory: [*records.titles([*reasons])] for memory, records in _memories(system).items()}
    existing_ids = set(chain.from_iterable(by_memory.values()))
    missing_ids = [record_id for record_id in reasons if record_id not in existing_ids]
    if missing_ids:
        raise NotFound(f"no memory has a record {missing_ids[0]!r}; nothing was changed")
    operation_id: str | None = None
    for memory, ids in by_memory.items():
        if not ids:
            continue
        memory_in_operation = _memories(system)[memory].as_operation(KIND, operation_reason, operation_id=operation_id)
        memory_in_operation.collection.quarantine({record_id: reasons[record_id] for record_id in ids})
        operation_id = memory_in_operation.operation_id
    return str(operation_id)


def quarantined(system: Any) -> tuple[QuarantinedRecord, ...]:
    """Return the records in quarantine, memory by memory, in the order of insertion."""
    quarantined_records: list[QuarantinedRecord] = []
    for memory, records in _memories(system).items():
        reasons = records.column(QUARANTINE, IS_QUARANTINED)
        titles = records.titles([*reasons])
        quarantined_records += [
            QuarantinedRecord(memory=memory, id=record_id, title=title, reason=reasons[record_id])
            for record_id, title in titles.items()
        ]
    return tuple(quarantined_records)


def _memories(system: Any) -> dict[str, Any]:
    return {name: kind.records(system) for name, kind in searchable_kinds().items()}
