"""People who sign in, and their roles. The role is read again for every action.

A person is identified by the provider and their `sub` there, because names and addresses may be reassigned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from atlas.access.keys import ApiKeys
from atlas.access.names import is_look_alike, plain_name, unique_name
from atlas.access.roles import role_of
from atlas.core.errors import NotAllowed, NotFound
from atlas.infra.actor import Actor, Role
from atlas.infra.clock import SystemClock
from atlas.protocols.access import PEOPLE
from atlas.protocols.infra import Clock
from atlas.storage.location.audit import READMITTED, REMOVED, ROLE_GIVEN, SIGNED_IN, AuditLog
from atlas.storage.location.values import AccessValues


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A person whom a provider has authenticated."""

    issuer: str
    subject: str
    name: str
    """Display name, without control characters."""

    groups: tuple[str, ...] = ()
    """Groups, as named by the provider."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", plain_name(self.name))

    @property
    def id(self) -> str:
        """Id of the person, the same at every sign-in."""
        return hashlib.sha256(f"{self.issuer}\n{self.subject}".encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person who has signed in."""

    id: str
    name: str
    """Name of the person, which the history shows as the actor."""

    role: Role
    is_role_given: bool
    """True if an administrator gave the role, so that groups no longer decide it."""

    groups: tuple[str, ...]
    added_at: datetime
    seen_at: datetime
    """Time of the last sign-in."""

    removed_at: datetime | None = None
    has_role: bool = True
    """False if no group gave them a role at their last sign-in. The person's name stays reserved."""

    former_names: tuple[str, ...] = ()
    """Former names of the person in the history."""

    @property
    def names(self) -> tuple[str, ...]:
        """The person's present and former names. No other person may take them."""
        return (self.name, *self.former_names)

    @property
    def actor(self) -> Actor:
        """The actor of this person."""
        return Actor(self.name, self.role)


class People:
    """The people of one store. Several processes may use them concurrently, and see each other's changes."""

    def __init__(
        self,
        directory: Path,
        roles: Mapping[str, Role],
        clock: Clock | None = None,
        *,
        owner: str = "",
        actors: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """Open the people of the store in a directory.

        Args:
            roles: Roles, keyed by the name of a group. A person without one of these groups is refused.
            owner: Name of the user who runs the server. No other person may have this name in the history.
            actors: Returns the names in the history, which a new person may not take.
        """
        self._values = AccessValues(directory, PEOPLE, _encode, _decode)
        self._roles = roles
        self._clock = clock or SystemClock()
        self._audit = AuditLog(directory, self._clock, owner)
        self._keys = ApiKeys(directory, clock)
        self._owner = owner
        self._actors = actors

    def sign_in(self, identity: Identity) -> Person:
        """Sign a person in. Store a new person, or update the role of a known one from their current groups.

        Raises:
            NotAllowed: An administrator has removed them, or no group and no administrator gives them a role.
        """
        person = self._record_sign_in(identity)
        if not person.has_role:
            raise NotAllowed(f"{identity.name} is in no group that may see this memory; ask an administrator")
        self._audit.add_event(SIGNED_IN, who=person.name, about=str(person.role))
        return person

    def _record_sign_in(self, identity: Identity) -> Person:
        """Store the name, groups and role of a person who signs in, and return the stored person."""
        now = self._clock.now()
        with self._values.edit() as people:
            existing = people.get(identity.id)
            if existing is not None and existing.removed_at is not None:
                raise NotAllowed(f"{existing.name} was removed from this memory; ask an administrator")
            name = self._unique_name(identity, people)
            role = role_of(identity.groups, self._roles)
            if existing is None and role is None:
                raise NotAllowed(f"{name} is in no group that may see this memory; ask an administrator")
            if existing is None:
                existing = Person(
                    id=identity.id, name=name, role=role or Role.VIEWER, is_role_given=False, groups=(),
                    added_at=now, seen_at=now,
                )  # fmt: skip
            has_role = existing.is_role_given or role is not None
            people[existing.id] = person = replace(
                existing,
                name=name,
                former_names=tuple(dict.fromkeys(former_name for former_name in existing.names if former_name != name)),
                role=existing.role if existing.is_role_given else role or Role.VIEWER,
                has_role=has_role,
                groups=identity.groups,
                seen_at=now,
            )
        return person

    def _unique_name(self, identity: Identity, people: Mapping[str, Person]) -> str:
        """Return a person's unique name for the history, with a number appended if the name is taken."""
        person = people.get(identity.id)
        own_names = person.names if person is not None else ()
        other_names = [*_names(people.values(), excluded_id=identity.id), *self._keys.names(), self._owner]
        is_renamed = not any(is_look_alike(identity.name, own_name) for own_name in own_names)  # at the provider
        if is_renamed:
            other_names += [name for name in self._actors() if name not in own_names]
        return unique_name(identity.name, other_names)

    def all(self) -> list[Person]:
        """Return the people who have a role or were removed, latest sign-in first."""
        people = [person for person in self._values.read().values() if person.has_role]
        return sorted(people, key=lambda person: person.seen_at, reverse=True)

    def names(self) -> set[str]:
        """Return the present and former names of all people."""
        return set(_names(self._values.read().values()))

    def find(self, person_id: str) -> Person | None:
        """Return the person with an id, or None if they have no role or were removed."""
        person = self._values.read().get(person_id)
        return person if person is not None and person.removed_at is None and person.has_role else None

    def set_role(self, person_id: str, role: Role) -> Person:
        """Give a person a role that overrides the roles of their groups."""
        return self._change(person_id, f"{ROLE_GIVEN}: {role}", role=role, is_role_given=True, has_role=True)

    def follow_groups(self, person_id: str) -> Person:
        """Let the groups of a person decide their role again at the next sign-in. Until then they are a viewer."""
        return self._change(person_id, f"{ROLE_GIVEN}: by group", role=Role.VIEWER, is_role_given=False)

    def remove(self, person_id: str) -> Person:
        """End a person's access. Their next request is refused."""
        return self._change(person_id, REMOVED, removed_at=self._clock.now())

    def readmit(self, person_id: str) -> Person:
        """Restore the access of a removed person."""
        return self._change(person_id, READMITTED, removed_at=None)

    def _change(self, person_id: str, action: str, **changes: Any) -> Person:
        """Change fields of a person, add the action to the audit log, and return the changed person."""
        with self._values.edit() as people:
            if person_id not in people:
                raise NotFound("there is no person with this id; reload the list of people")
            person = people[person_id] = replace(people[person_id], **changes)
        self._audit.add_event(action, about=person.name)
        return person


def _names(people: Iterable[Person], excluded_id: str = "") -> list[str]:
    """Return the names of all people, except of the person with `excluded_id`."""
    return [name for person in people if person.id != excluded_id for name in person.names]


def _encode(person: Person) -> dict[str, Any]:
    return {
        "name": person.name,
        "id": person.id,
        "role": str(person.role),
        "is_role_given": person.is_role_given,
        "groups": list(person.groups),
        "added_at": person.added_at.isoformat(),
        "seen_at": person.seen_at.isoformat(),
        "removed_at": person.removed_at and person.removed_at.isoformat(),
        "has_role": person.has_role,
        "former_names": list(person.former_names),
    }


def _decode(encoded: dict[str, Any]) -> Person:
    removed_at = encoded["removed_at"]
    return Person(
        id=encoded["id"],
        name=encoded["name"],
        role=Role[encoded["role"].upper()],
        is_role_given=encoded["is_role_given"],
        groups=tuple(encoded["groups"]),
        added_at=datetime.fromisoformat(encoded["added_at"]),
        seen_at=datetime.fromisoformat(encoded["seen_at"]),
        removed_at=datetime.fromisoformat(removed_at) if removed_at else None,
        has_role=encoded.get("has_role", True),
        former_names=tuple(encoded.get("former_names", ())),
    )
