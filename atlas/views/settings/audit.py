"""The audit log of a store, as rows of a table and as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from atlas.memory.base.tables import escape_formula
from atlas.memory.system import MemorySystem
from atlas.storage.location.audit import AuditEvent
from atlas.views.settings.roles import check_admin


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """An event in a table. Who and about are untrusted texts."""

    at: str
    what: str
    who: str
    about: str


def audit_rows(memory: MemorySystem) -> list[AuditRow]:
    """Return every event, the newest first. `NotAllowed` if the actor is not an admin."""
    return [_row(event) for event in events_of(memory)]


def events_of(memory: MemorySystem) -> list[AuditEvent]:
    """Return every event, the newest first. `NotAllowed` if the actor is not an admin."""
    check_admin("see the audit log")
    return memory.storage.audit.events()


def kinds_of(rows: Sequence[AuditRow]) -> list[str]:
    """Return the kinds of events, each once."""
    return sorted({_kind(row) for row in rows})


def of_kind(rows: Sequence[AuditRow], kind: str | None) -> list[AuditRow]:
    """Return the rows of a kind, or all."""
    return [row for row in rows if not kind or _kind(row) == kind]


def as_csv(rows: Sequence[AuditRow]) -> str:
    """Return a table for other programs. A cell that a spreadsheet would read as a formula gets an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text)
    names = [field.name for field in fields(AuditRow)]
    writer.writerow(names)
    writer.writerows([escape_formula(asdict(row)[name]) for name in names] for row in rows)
    return text.getvalue()


def _row(event: AuditEvent) -> AuditRow:
    times = f" ({event.n:,} times)" if event.n > 1 else ""
    return AuditRow(
        at=f"{event.at:%Y-%m-%d %H:%M:%S} UTC", what=f"{event.what}{times}", who=event.who, about=event.about
    )


def _kind(row: AuditRow) -> str:
    return row.what.partition(":")[0].partition(" (")[0]
