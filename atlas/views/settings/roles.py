"""Acts that only an administrator of a store may do on its pages."""

from __future__ import annotations

from atlas.infra.actor import Role, check_role, may

ADMIN_ONLY = "Only an admin may do this."


def may_administer() -> bool:
    """Return whether whoever looks at the page is an admin of the store, or sits at the machine that keeps it."""
    return may(Role.ADMIN)


def check_admin(act: str) -> None:
    """Raise `NotAllowed` for whoever is no admin.

    Args:
        act: What is about to be done, for the message, such as `make keys`.
    """
    check_role(Role.ADMIN, act)
