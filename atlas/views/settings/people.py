"""People of a store: who has signed in, what they may do, and who is let in no more."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.access.people import People, Person
from atlas.memory.system import MemorySystem
from atlas.views.settings.keys import ROLES
from atlas.views.settings.roles import check_admin
from atlas.views.shared.wording import moment


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
    """Return everybody who ever signed in, those who are let in first, whoever came last first."""
    return sorted(map(_row, _people(memory).every()), key=lambda row: row.is_removed)


def set_role(memory: MemorySystem, person_id: str, role: str) -> Person:
    """Give somebody a role, whatever their groups say. `NotAllowed` for whoever is no admin."""
    return _people(memory).set_role(person_id, ROLES[role])


def follow_groups(memory: MemorySystem, person_id: str) -> Person:
    """Let somebody's groups decide their role again. `NotAllowed` for whoever is no admin."""
    return _people(memory).follow_groups(person_id)


def remove_person(memory: MemorySystem, person_id: str) -> Person:
    """Let somebody in no more, from their next click on. `NotAllowed` for whoever is no admin."""
    return _people(memory).remove(person_id)


def readmit_person(memory: MemorySystem, person_id: str) -> Person:
    """Let somebody in again. `NotAllowed` for whoever is no admin."""
    return _people(memory).readmit(person_id)


def _row(person: Person) -> PersonRow:
    removed = f"removed on {moment(person.removed_at)}" if person.removed_at else ""
    return PersonRow(
        id=person.id,
        name=person.name,
        role=f"{person.role}, given here" if person.is_role_given else f"{person.role}, by group",
        groups=", ".join(person.groups),
        seen=moment(person.seen_at),
        state=removed or "let in",
        is_removed=person.removed_at is not None,
    )


def _people(memory: MemorySystem) -> People:
    check_admin("see and change people")
    return People(memory.storage.path, {}, owner=memory.storage.settings.actor)
