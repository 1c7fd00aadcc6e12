"""Keys of a store, which admit scripts while it is served: listing, making and revoking them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from atlas.access.issuing import issue_key
from atlas.access.keys import ApiKeys, Key
from atlas.infra.actor import Role
from atlas.memory.system import MemorySystem
from atlas.views.settings.roles import check_admin
from atlas.views.shared.wording import day_text, sortable_utc_time

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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyState:
    """A key for scripts, without its secret and its hash."""

    id: str
    name: str
    role: str
    scope: Mapping[str, str]
    is_reviewed: bool
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    problem: str
    """The reason why it is refused now, or an empty string."""


def key_rows(memory: MemorySystem) -> list[KeyRow]:
    """Return all keys that were ever created, active keys first, then by time, newest first."""
    now = datetime.now(UTC)
    keys = open_api_keys(memory).keys()
    return sorted((_key_row(key, now) for key in keys), key=lambda row: not row.is_live)


def key_state(key: Key) -> KeyState:
    """Return a key with its present state."""
    return KeyState(
        id=key.id,
        name=key.name,
        role=str(key.role),
        scope=dict(key.scope),
        is_reviewed=key.is_reviewed,
        created_at=key.created_at,
        created_by=key.created_by,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        problem=key.problem(datetime.now(UTC)),
    )


def make_key(memory: MemorySystem, name: str, role: str, days: int, *, is_reviewed: bool = False) -> str:
    """Make a key, and return its secret, which cannot be shown again. Raises as `issue_key` does."""
    lifetime = timedelta(days=days) if days else None
    return issue_key(memory.storage, name, ROLES[role], lifetime=lifetime, is_reviewed=is_reviewed)[1]


def revoke_key(memory: MemorySystem, key_id: str) -> Key:
    """Refuse the active key with an id or a name from now on.

    Raises:
        NotAllowed: The actor is not an admin.
        NotFound: It is not in use.
    """
    return open_api_keys(memory).revoke(key_id)


def open_api_keys(memory: MemorySystem) -> ApiKeys:
    """Return the keys of a store. Raises `NotAllowed` unless the actor is an admin."""
    check_admin("see and change keys")
    return ApiKeys(memory.storage.path, owner=memory.storage.settings.actor)


def _key_row(key: Key, now: datetime) -> KeyRow:
    problem = key.problem(now)
    end = f"in use until {day_text(key.expires_at)}" if key.expires_at else "in use"
    return KeyRow(
        id=key.id,
        name=key.name,
        role=f"{key.role}, reviewed" if key.is_reviewed else str(key.role),
        made=f"{sortable_utc_time(key.created_at)} by {key.created_by}",
        state=problem or end,
        is_live=not problem,
    )
