"""Keys of agents and people for a served store: creation, listing, revocation and verification.

The keys are stored in a file outside of the ledger, so exports and backups of memories do not contain them. The file
contains the SHA-256 of each secret. A secret has 256 random bits, so a slow hash is unnecessary.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from atlas.access.names import is_look_alike
from atlas.core.errors import InvalidInput, NotAllowed, NotFound
from atlas.core.filters import SCOPE, scope_metadata
from atlas.core.types import new_id
from atlas.infra.actor import Actor, Role
from atlas.infra.clock import SystemClock
from atlas.protocols.access import KEYS
from atlas.protocols.infra import Clock
from atlas.storage.location.audit import KEY_MADE, KEY_REVOKED, AuditLog
from atlas.storage.location.values import AccessValues

PREFIX = "atlas_"
"""Prefix of every key, for scanners of leaked secrets."""

_NAME = re.compile(r"[\w.@ -]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key without its secret."""

    id: str
    name: str
    """Name of the key, which the history shows as the actor."""

    role: Role
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    """Time at which the key expires, or None."""

    revoked_at: datetime | None
    is_reviewed: bool = False
    """True if the key's records are pending, and visible to this key alone, until a curator accepts them."""

    scope: Mapping[str, str] = field(default_factory=dict)
    """Metadata that all records of the key have: `{"scope.project": "shop"}`. Empty for access to all records."""

    @property
    def actor(self) -> Actor:
        """The actor of this key."""
        is_agent, scope = self.role < Role.CURATOR, tuple(sorted(self.scope.items()))
        return Actor(self.name, self.role, self.is_reviewed, is_agent=is_agent, scope=scope)

    @property
    def scope_text(self) -> str:
        """The key's scope as text, such as `project=shop`, or empty for all records."""
        return ", ".join(f"{name.removeprefix(SCOPE)}={value}" for name, value in sorted(self.scope.items()))

    def problem(self, now: datetime) -> str:
        """Return why the key is refused at a time, such as `was revoked on …`, or an empty string if it is valid."""
        if self.revoked_at is not None:
            return f"was revoked on {self.revoked_at:%Y-%m-%d %H:%M} UTC"
        if self.expires_at is not None and self.expires_at <= now:
            return f"expired on {self.expires_at:%Y-%m-%d %H:%M} UTC"
        return ""


class ApiKeys:
    """The keys of one store. Several processes may use them concurrently, and see each other's changes immediately."""

    def __init__(self, directory: Path, clock: Clock | None = None, *, owner: str = "") -> None:
        """Open the keys of the store in a directory. The file is created with the first key.

        Args:
            owner: Name of the process's user, for audit log lines without a signed-in person.
        """
        self.directory = directory
        self._values = AccessValues(directory, KEYS, _encode, _decode)
        self._clock = clock or SystemClock()
        self.audit = AuditLog(directory, self._clock, owner)

    def add(
        self,
        name: str,
        role: Role,
        *,
        expires_at: datetime | None = None,
        is_reviewed: bool = False,
        scope: Mapping[str, str] = MappingProxyType({}),
        created_by: str,
        reserved_names: Collection[str] = (),
    ) -> tuple[Key, str]:
        """Create a key. Return the key and its secret, which is not stored.

        Args:
            scope: Limit of what the key reads and writes, such as `{"project": "shop"}`, empty for all records.
            reserved_names: Names of people in the history, which a key may not have.

        Raises:
            InvalidInput: The name is malformed, belongs to an active key or a person, or belonged to a key with another
                scope. The expiry is in the past. The scope is malformed, or the role of a key with a scope is admin.
                The role of a key under review is not writer.
        """
        now = self._clock.now()
        _check_name(name)
        if expires_at is not None and expires_at <= now:
            raise InvalidInput(
                f"a key should expire in the future, but {expires_at:%Y-%m-%d %H:%M} is past; choose a later time"
            )
        if is_reviewed and role is not Role.WRITER:
            raise InvalidInput(f"expected the role writer for a key under review, got {role}; choose writer")
        if scope and role is Role.ADMIN:
            raise InvalidInput(
                "a key with a scope cannot have the role admin, which covers the whole store; choose curator"
            )
        scope_values = scope_metadata(scope)
        if any(is_look_alike(name, existing) for existing in (*reserved_names, self.audit.owner)):
            raise InvalidInput(f"the history already has an actor named {name!r}; choose another name for the key")
        key = Key(
            id=new_id(),
            name=name,
            role=role,
            created_at=now,
            created_by=created_by,
            expires_at=expires_at,
            revoked_at=None,
            is_reviewed=is_reviewed,
            scope=scope_values,
        )
        secret = PREFIX + secrets.token_urlsafe(32)
        with self._values.edit() as keys:
            if any(key.name == name and not key.problem(now) for key in keys.values()):
                raise InvalidInput(f"there is a key named {name!r} already; revoke it first, or choose another name")
            if any(is_look_alike(key.name, name) and key.scope != scope_values for key in keys.values()):
                raise InvalidInput(
                    f"a former key {name!r} had another scope, and the name refers to its history; choose another name"
                )
            keys[_hash(secret)] = key
        self.audit.add_event(KEY_MADE, who=created_by, about=_describe(key))
        return key, secret

    def keys(self) -> list[Key]:
        """Return all keys, newest first, including revoked and expired ones."""
        return sorted(self._values.read().values(), key=lambda key: key.created_at, reverse=True)

    def names(self) -> set[str]:
        """Return the names of all keys, including revoked and expired ones, which the history still shows as actors."""
        return {key.name for key in self._values.read().values()}

    def active_keys(self) -> list[Key]:
        """Return the active keys, newest first."""
        now = self._clock.now()
        return [key for key in self.keys() if not key.problem(now)]

    def has_secret(self, secret: str) -> bool:
        """Return whether a key has this secret, even if the key was revoked or has expired."""
        return _hash(secret) in self._values.read()

    def authenticate(self, secret: str) -> Key:
        """Return the key with this secret.

        Raises:
            NotAllowed: No key has this secret, or the key was revoked or has expired.
        """
        stored_key = self._values.read().get(_hash(secret))
        if stored_key is None:
            raise NotAllowed("this key is unknown; ask an administrator for one: atlas keys add NAME")
        if problem := stored_key.problem(self._clock.now()):
            raise NotAllowed(f"the key {stored_key.name!r} {problem}; ask an administrator for another one")
        return stored_key

    def find(self, key_id: str) -> Key | None:
        """Return the active key with an id, or None."""
        return next((key for key in self.active_keys() if key.id == key_id), None)

    def revoke(self, name: str) -> Key:
        """Revoke the active key with a name or an id.

        Raises:
            NotFound: No active key has that name or id.
        """
        now = self._clock.now()
        with self._values.edit() as keys:
            active_hashes = [
                secret_hash for secret_hash, key in keys.items() if name in (key.name, key.id) and not key.problem(now)
            ]
            if not active_hashes:
                raise NotFound(f"there is no active key {name!r}; for the names of all keys: atlas keys list")
            secret_hash = active_hashes[0]
            revoked_key = replace(keys[secret_hash], revoked_at=now)
            keys[secret_hash] = revoked_key
        self.audit.add_event(KEY_REVOKED, about=revoked_key.name)
        return revoked_key


def _encode(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "role": str(key.role),
        "created_at": key.created_at.isoformat(),
        "created_by": key.created_by,
        "expires_at": key.expires_at and key.expires_at.isoformat(),
        "revoked_at": key.revoked_at and key.revoked_at.isoformat(),
        "is_reviewed": key.is_reviewed,
        "scope": dict(key.scope),
    }


def _decode(encoded: dict[str, Any]) -> Key:
    expires_at, revoked_at = encoded["expires_at"], encoded["revoked_at"]
    return Key(
        id=encoded["id"],
        name=encoded["name"],
        role=Role[encoded["role"].upper()],
        created_at=datetime.fromisoformat(encoded["created_at"]),
        created_by=encoded["created_by"],
        expires_at=datetime.fromisoformat(expires_at) if expires_at else None,
        revoked_at=datetime.fromisoformat(revoked_at) if revoked_at else None,
        is_reviewed=encoded.get("is_reviewed") is True,
        scope=encoded.get("scope", {}),
    )


def _describe(key: Key) -> str:
    """Return the description of a key in the audit log."""
    parts = (key.name, str(key.role), "reviewed" if key.is_reviewed else "", key.scope_text)
    return ", ".join(filter(None, parts))


def _check_name(name: str) -> None:
    """Raise `InvalidInput` for a malformed name of a key."""
    if name != name.strip():
        raise InvalidInput(f"expected no spaces at the ends of a key's name, got {name!r:.80}; remove them")
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"expected 1 to 64 letters, digits, spaces or characters of ._@- for a key's name, got {name!r:.80}"
        )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
