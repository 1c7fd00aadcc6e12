"""Keys of a store: who may enter if it is served, made and revoked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from atlas.access.keys import Key, KeyRing
from atlas.access.people import People
from atlas.infra.actor import Role, actor_name
from atlas.memory.system import MemorySystem
from atlas.views.settings.roles import check_admin
from atlas.views.shared.wording import moment

ROLES = {str(role): role for role in Role}
"""Roles by their names, the lowest first."""

ABOUT_ROLES = {
    "viewer": "reads everything and changes nothing",
    "writer": "stores, edits, marks and undoes its own changes",
    "curator": "also deletes, merges, prunes, accepts after review, and undoes the changes of others",
    "admin": "also purges, makes and restores backups, chooses models, and hands out keys and roles",
}

ENDS = {"30 days": 30, "90 days": 90, "1 year": 365, "never": 0}
"""Validity of a key in days, by label. 0 for unlimited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """A key in a table."""

    id: str
    name: str
    role: str
    made: str
    state: str
    is_live: bool


def key_rows(memory: MemorySystem) -> list[KeyRow]:
    """Return all keys that were ever created, active keys first, then by time, newest first."""
    now = datetime.now(UTC)
    every = _ring(memory).keys()
    rows = [_row(key, now) for key in every]
    return sorted(rows, key=lambda row: not row.is_live)


def make_key(memory: MemorySystem, name: str, role: str, days: int, *, is_reviewed: bool = False) -> str:
    """Make a key, and return it. It cannot be shown again.

    Raises:
        NotAllowed: The actor is not an admin.
        InvalidInput: The name is taken, or has other characters than names have, or `is_reviewed` and no writer.
    """
    expires_at = datetime.now(UTC) + timedelta(days=days) if days else None
    by = actor_name(memory.storage.settings.actor)
    ring, people = _ring(memory), People(memory.storage.path, {})
    return ring.add(
        name, ROLES[role], expires_at=expires_at, is_reviewed=is_reviewed, created_by=by, taken=people.names()
    )[1]


def revoke_key(memory: MemorySystem, key_id: str) -> Key:
    """Refuse a key from now on.

    Raises:
        NotAllowed: The actor is not an admin.
        NotFound: It is not in use.
    """
    return _ring(memory).revoke(key_id)


def _row(key: Key, now: datetime) -> KeyRow:
    problem = key.problem(now)
    end = f"in use until {key.expires_at:%Y-%m-%d}" if key.expires_at else "in use"
    return KeyRow(
        id=key.id,
        name=key.name,
        role=f"{key.role}, reviewed" if key.is_reviewed else str(key.role),
        made=f"{moment(key.created_at)} by {key.created_by}",
        state=problem or end,
        is_live=not problem,
    )


def _ring(memory: MemorySystem) -> KeyRing:
    check_admin("see and change keys")
    return KeyRing(memory.storage.path, owner=memory.storage.settings.actor)
