"""People of a store: sign-ins, roles and ended access."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from atlas.access.keys import ApiKeys
from atlas.access.links import Links
from atlas.access.people import People, Person
from atlas.core.errors import NotFound
from atlas.memory.system import MemorySystem
from atlas.views.settings.keys import ROLES, revoke_key
from atlas.views.settings.links import end_link
from atlas.views.settings.roles import check_admin
from atlas.views.shared.wording import counted, sortable_utc_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """The valid keys and links that a person created, by id. Their names are untrusted text."""

    keys: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """`They made 2 keys that are in use: crawler, nightly. They made 1 link that is open: board.` Or empty."""
        grants = [("key", "in use", self.keys), ("link", "open", self.links)]
        return " ".join(
            f"They made {counted(len(names_by_id), noun)} that {'is' if len(names_by_id) == 1 else 'are'} {state}: "
            f"{', '.join(names_by_id.values())}."
            for noun, state, names_by_id in grants
            if names_by_id
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRow:
    """A person in a table. Name and groups are untrusted texts."""

    id: str
    name: str
    role: str
    groups: str
    seen: str
    state: str
    is_removed: bool


def person_rows(memory: MemorySystem) -> list[PersonRow]:
    """Return all people who ever signed in, people with access first, then by their last visit."""
    return sorted(map(_person_row, people_of(memory).all()), key=lambda row: row.is_removed)


def set_role(memory: MemorySystem, person_id: str, role: str) -> Person:
    """Give a person a role that overrides their groups. Raises `NotAllowed` unless the actor is an admin."""
    return people_of(memory).set_role(person_id, ROLES[role])


def follow_groups(memory: MemorySystem, person_id: str) -> Person:
    """Remove the role that overrides a person's groups. Raises `NotAllowed` unless the actor is an admin."""
    return people_of(memory).follow_groups(person_id)


def grants_of(memory: MemorySystem, person_id: str) -> Grants:
    """Return a person's active keys and links. Raises `NotAllowed` unless the actor is an admin."""
    person = next((candidate for candidate in people_of(memory).all() if candidate.id == person_id), None)
    return _grants_of(memory, person.names) if person else Grants()


def remove_person(memory: MemorySystem, person_id: str, *, revoke_grants: bool = False) -> Person:
    """End a person's access, from their next request on.

    Args:
        revoke_grants: Whether to revoke the keys that they made, and end their links.

    Raises:
        NotAllowed: The actor is not an admin.
        NotFound: No person with this id has signed in.
    """
    removed = people_of(memory).remove(person_id)
    if revoke_grants:
        _revoke(memory, _grants_of(memory, removed.names))
    return removed


def readmit_person(memory: MemorySystem, person_id: str) -> Person:
    """Restore a person's access. Raises `NotAllowed` unless the actor is an admin."""
    return people_of(memory).readmit(person_id)


def people_of(memory: MemorySystem) -> People:
    """Return the people of a store. Raises `NotAllowed` unless the actor is an admin."""
    check_admin("see and change people")
    return People(memory.storage.path, {}, owner=memory.storage.settings.actor)


def _grants_of(memory: MemorySystem, names: Collection[str]) -> Grants:
    directory, now = memory.storage.path, datetime.now(UTC)
    keys = [key for key in ApiKeys(directory).active_keys() if key.created_by in names]
    links = [link for link in Links(directory).all() if link.made_by in names and not link.problem(now)]
    return Grants(keys={key.id: key.name for key in keys}, links={link.id: link.name for link in links})


def _revoke(memory: MemorySystem, grants: Grants) -> None:
    for key_id in grants.keys:
        with suppress(NotFound):  # another admin has just revoked it, as below
            revoke_key(memory, key_id)
    for link_id in grants.links:
        with suppress(NotFound):
            end_link(memory, link_id)


def _person_row(person: Person) -> PersonRow:
    removed = f"removed on {sortable_utc_time(person.removed_at)}" if person.removed_at else ""
    return PersonRow(
        id=person.id,
        name=person.name,
        role=f"{person.role}, given here" if person.is_role_given else f"{person.role}, by group",
        groups=", ".join(person.groups),
        seen=sortable_utc_time(person.seen_at),
        state=removed or "let in",
        is_removed=person.removed_at is not None,
    )
