"""Roles by group. The provider or proxy reports a person's groups."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping

from atlas.core.errors import InvalidInput
from atlas.infra.actor import Role

EVERYBODY = "*"
"""Group that contains everybody."""


def roles_from_environment(environ: Mapping[str, str] | None = None) -> dict[str, Role]:
    """Return the roles of ATLAS_ROLES, such as `admins=admin "ML Team"=curator research/*=viewer`.

    Raises:
        InvalidInput: The variable is malformed.
    """
    roles = {}
    for rule in _split_rules((os.environ if environ is None else environ).get("ATLAS_ROLES", "")):
        group, separator, role = rule.rpartition("=")
        if not (group and separator) or role.upper() not in Role.__members__:
            role_names = ", ".join(map(str, Role))
            raise InvalidInput(
                f"expected entries such as admins=admin for ATLAS_ROLES, with the roles {role_names}, got {rule!r:.60}"
            )
        roles[group] = Role[role.upper()]
    return roles


def _split_rules(text: str) -> list[str]:
    """Split the rules at spaces outside of quotes."""
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.escape = ""  # a group may be named DOMAIN\team
    try:
        return list(lexer)
    except ValueError as error:
        raise InvalidInput(
            f'ATLAS_ROLES has an unclosed quotation mark: {text!r:.200}; quote the whole name, as in "ML Team"=curator'
        ) from error


def store_roles(store: str, stores: Collection[str], roles: Mapping[str, Role]) -> dict[str, Role]:
    """Return the role of each group in one store, keyed by group.

    Args:
        stores: Names of all stores. In the first one, everybody is at least a viewer.
        roles: Roles by groups. `research/ml` is the group `ml` in the store `research` alone.
    """
    roles_by_group = {EVERYBODY: Role.VIEWER} if store == next(iter(stores)) else {}
    for rule, role in roles.items():
        name, _, group = rule.partition("/")
        if name not in stores:  # a group may have a slash in its name
            roles_by_group[rule] = max(role, roles_by_group.get(rule, role))
        elif name == store:
            roles_by_group[group] = max(role, roles_by_group.get(group, role))
    return roles_by_group


def role_of(groups: Collection[str], roles: Mapping[str, Role]) -> Role | None:
    """Return the highest role of the groups, or None if no group has a role."""
    return max((roles[group] for group in (*groups, EVERYBODY) if group in roles), default=None)
