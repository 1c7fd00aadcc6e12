"""Creation of keys by an administrator."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from atlas.access.keys import ApiKeys, Key
from atlas.access.people import People
from atlas.infra.actor import Role, actor_name, check_role
from atlas.storage.store import Store


def issue_key(
    storage: Store,
    name: str,
    role: Role,
    *,
    lifetime: timedelta | None = None,
    is_reviewed: bool = False,
    scope: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Key, str]:
    """Create a key in the name of the current actor. Return the key and its secret, which is not stored.

    Args:
        lifetime: Time until the key expires, or None for no expiry.
        scope: See `ApiKeys.add`.

    Raises:
        NotAllowed: The actor is not an admin.
        InvalidInput: See `ApiKeys.add`.
    """
    check_role(Role.ADMIN, "make keys")
    reserved_names = People(storage.path, {}).names()
    if scope:  # or it would see the operations of the previous owner of its name
        reserved_names |= {*storage.ledger.history.actors()}
    return ApiKeys(storage.path, owner=storage.settings.actor).add(
        name,
        role,
        expires_at=datetime.now(UTC) + lifetime if lifetime else None,
        is_reviewed=is_reviewed,
        scope=scope,
        created_by=actor_name(storage.settings.actor),
        reserved_names=reserved_names,
    )
