"""Acts that only an administrator of a store may do on its pages."""

from __future__ import annotations

from atlas.core.errors import NotAllowed
from atlas.infra.actor import Role, check_role, has_role, is_admin_of_all_stores

ADMIN_ONLY = "Only an admin may do this."
ADMIN_OF_ALL_ONLY = "Only an admin of every store of this server may do this, as it holds for all of them."


def may_administer() -> bool:
    """Return whether the visitor is an admin of the store, or sits at its machine."""
    return has_role(Role.ADMIN)


def may_import() -> bool:
    """Return whether the visitor may add records."""
    return has_role(Role.WRITER)


def may_repair() -> bool:
    """Return whether the visitor may repair the store."""
    return has_role(Role.CURATOR)


def check_admin(act: str) -> None:
    """Raise `NotAllowed` unless the actor is an admin.

    Args:
        act: The act that needs the role, for the message, such as `make keys`.
    """
    check_role(Role.ADMIN, act)


def check_admin_of_all(act: str) -> None:
    """Raise `NotAllowed` unless the visitor is an admin of every store of the server, for acts on all of them.

    Args:
        act: See `check_admin`.
    """
    check_admin(act)
    if not is_admin_of_all_stores():
        raise NotAllowed(f"you may not {act} here. {ADMIN_OF_ALL_ONLY}")
