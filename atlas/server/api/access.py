"""Routes for administrators: keys, people, links, backups and the audit log.

The pages and commands follow the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from atlas.access.issuing import issue_key
from atlas.access.links import SharedLink
from atlas.access.people import Person
from atlas.infra.actor import Role, check_role, refuse_in_scope
from atlas.server.api.parts import LazyMemory, ThreadRoute
from atlas.server.api.shapes import Id, RequestBody, Text
from atlas.storage.location.audit import AuditEvent
from atlas.views.settings.audit import events_of
from atlas.views.settings.copies import make_own_backup, recorded_backups
from atlas.views.settings.keys import KeyState, key_state, open_api_keys, revoke_key
from atlas.views.settings.links import end_link, links_of, make_link
from atlas.views.settings.people import (
    follow_groups,
    grants_of,
    people_of,
    readmit_person,
    remove_person,
    set_role,
)

router = APIRouter(prefix="/access", route_class=ThreadRoute)

RoleName = Literal["viewer", "writer", "curator", "admin"]


class KeyInput(RequestBody):
    """A new key."""

    name: Text
    """Name of the key, which the history shows as the actor."""

    role: RoleName = "writer"
    days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """Days until the key expires. By default it does not expire."""

    is_reviewed: bool = False
    """True if records that the key writes are pending until a curator accepts them."""

    scope: dict[Text, Text] | None = None
    """Scope that the key is limited to, such as `{"project": "shop"}`."""


class NewKey(BaseModel):
    """A new key with its secret."""

    key: KeyState
    secret: str
    """The secret to send as `Authorization: Bearer …`. No other request returns it."""


class RoleInput(RequestBody):
    """A role of a person."""

    role: RoleName | Literal["groups"]
    """The role, or `groups` to restore the role of the person's groups."""


class PersonResponse(BaseModel):
    """A person who has signed in."""

    id: str
    name: str
    role: RoleName
    is_role_given: bool
    """True if an administrator gave the role, and groups no longer decide it."""

    groups: tuple[str, ...]
    added_at: datetime
    seen_at: datetime
    removed_at: datetime | None


class RemovalRequest(RequestBody):
    """Options for ending a person's access."""

    revoke_grants: bool = False
    """True to also revoke the keys and end the links that the person made."""


class RemovalResponse(BaseModel):
    """A person whose access was ended, with the keys and links that the person had made."""

    person: PersonResponse
    keys: Mapping[str, str]
    """Names of the active keys that the person made, keyed by id."""

    links: Mapping[str, str]
    """Names of the active links that the person made, keyed by id."""

    are_grants_revoked: bool
    """False if these keys and links still work."""


class LinkInput(RequestBody):
    """A new link to a copy of the store."""

    name: Text
    """Label of the link, such as the name of a team."""

    days: Annotated[int, Field(ge=1, le=366)] = 7
    """Days until the link expires."""


class NewLink(BaseModel):
    """A new link with its path."""

    link: SharedLink
    path: str
    """Path of the link below the server's address. No other request returns it."""


class BackupInput(RequestBody):
    """A new backup."""

    keep: Annotated[int, Field(ge=1, le=1_000)] | None = None
    """Number of backups to keep. The new one is then restored as a test before older ones of this kind are removed."""


class BackupFile(BaseModel):
    """A backup on the server's disk."""

    path: str
    made_at: str
    """As ISO 8601."""


class BackupResponse(BaseModel):
    """A new backup on the server's disk."""

    path: str
    n_records: int
    n_bytes: int
    removed: list[str]
    """Paths of the older backups that were removed."""


class AuditResponse(BaseModel):
    """A page of the audit log, newest first."""

    events: list[AuditEvent]
    n_events: int
    """Total number of events that match the filter."""


@router.get("/keys")
def keys(memory: LazyMemory) -> list[KeyState]:
    """Return all keys, newest first, including revoked and expired ones. Secrets are not included."""
    return [*map(key_state, open_api_keys(memory).keys())]


@router.post("/keys", status_code=201)
def add_key(key: KeyInput, memory: LazyMemory) -> NewKey:
    """Create a key. No later request returns its secret."""
    issued, secret = issue_key(
        memory.storage,
        key.name,
        Role[key.role.upper()],
        lifetime=timedelta(days=key.days) if key.days else None,
        is_reviewed=key.is_reviewed,
        scope=key.scope or {},
    )
    return NewKey(key=key_state(issued), secret=secret)


@router.post("/keys/{name_or_id}/revoke")
def revoke(name_or_id: Id, memory: LazyMemory) -> KeyState:
    """Revoke a key. Its next request is refused."""
    return key_state(revoke_key(memory, name_or_id))


@router.get("/people")
def people(memory: LazyMemory) -> list[PersonResponse]:
    """Return the people who have signed in, latest sign-in first."""
    return [_person(person) for person in people_of(memory).all()]


@router.post("/people/{person_id}/role")
def give_role(person_id: Id, wanted: RoleInput, memory: LazyMemory) -> PersonResponse:
    """Give a person a role that overrides the roles of their groups."""
    if wanted.role == "groups":
        return _person(follow_groups(memory, person_id))
    return _person(set_role(memory, person_id, wanted.role))


@router.post("/people/{person_id}/remove")
def remove(person_id: Id, memory: LazyMemory, removal: RemovalRequest | None = None) -> RemovalResponse:
    """End a person's access. Their next request is refused."""
    grants = grants_of(memory, person_id)
    revoke_grants = removal is not None and removal.revoke_grants
    person = _person(remove_person(memory, person_id, revoke_grants=revoke_grants))
    return RemovalResponse(person=person, keys=grants.keys, links=grants.links, are_grants_revoked=revoke_grants)


@router.post("/people/{person_id}/readmit")
def readmit(person_id: Id, memory: LazyMemory) -> PersonResponse:
    """Restore the access of a removed person."""
    return _person(readmit_person(memory, person_id))


@router.get("/links")
def links(memory: LazyMemory) -> list[SharedLink]:
    """Return all links, newest first, including ended ones. Paths are not included."""
    return links_of(memory).all()


@router.post("/links", status_code=201)
def add_link(link: LinkInput, memory: LazyMemory) -> NewLink:
    """Copy the store for guests, and create a link to the copy. No later request returns the link's path."""
    shared_link, path = make_link(memory, link.name, link.days)
    return NewLink(link=shared_link, path=path)


@router.post("/links/{link_id}/end")
def end(link_id: Id, memory: LazyMemory) -> SharedLink:
    """End a link for guests, and delete the copy of the store that it showed."""
    return end_link(memory, link_id)


@router.get("/backups")
def backups(memory: LazyMemory) -> list[BackupFile]:
    """Return the recorded backups, newest first. Their files may have been moved or removed since."""
    check_role(Role.ADMIN, "list backups")
    refuse_in_scope("list backups")
    return [BackupFile(path=path, made_at=made_at) for path, made_at in recorded_backups(memory).items()]


@router.post("/backups", status_code=201)
def add_backup(memory: LazyMemory, request: BackupInput | None = None) -> BackupResponse:
    """Back up the whole store to a file beside it, which `atlas restore` can restore."""
    own_backup = make_own_backup(memory, request.keep if request else None)
    return BackupResponse(
        path=str(own_backup.path),
        n_records=own_backup.backup.n_records,
        n_bytes=own_backup.backup.n_bytes,
        removed=[*map(str, own_backup.removed)],
    )


@router.get("/audit")
def audit(
    memory: LazyMemory,
    kind: Annotated[str, Query(max_length=200, description="Only one kind of event, such as `refused`.")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> AuditResponse:
    """Return events about access and the store as a whole, newest first."""
    events = [event for event in events_of(memory) if kind in ("", event.kind)]
    return AuditResponse(events=events[offset : offset + limit], n_events=len(events))


def _person(person: Person) -> PersonResponse:
    return PersonResponse(
        id=person.id,
        name=person.name,
        role=str(person.role),  # type: ignore[arg-type]
        is_role_given=person.is_role_given,
        groups=person.groups,
        added_at=person.added_at,
        seen_at=person.seen_at,
        removed_at=person.removed_at,
    )
