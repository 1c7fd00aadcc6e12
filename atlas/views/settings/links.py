"""Demonstration links. Creating one also makes the frozen copy of the store that it opens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from atlas.access.links import Links, SharedLink, remove_ended_copies
from atlas.core.types import new_id
from atlas.infra.actor import actor_name
from atlas.memory.system import MemorySystem
from atlas.storage.frozen import current_copy
from atlas.storage.maintenance.freeze import remove_frozen_copy
from atlas.views.settings.roles import check_admin
from atlas.views.shared.wording import sortable_utc_time

ENDS = {"1 day": 1, "7 days": 7, "30 days": 30, "90 days": 90}
"""Validity of a link in days, by label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow:
    """A link in a table. Its name is untrusted text."""

    id: str
    name: str
    made: str
    state: str
    is_live: bool


def link_rows(memory: MemorySystem) -> list[LinkRow]:
    """Return every link that was ever made, open ones first. `NotAllowed` if the actor is not an admin."""
    links = links_of(memory)
    remove_ended_copies(memory.storage.path)
    now = datetime.now(UTC)
    rows = [_link_row(memory, link, now) for link in links.all()]
    return sorted(rows, key=lambda row: not row.is_live)


def make_link(memory: MemorySystem, name: str, days: int) -> tuple[SharedLink, str]:
    """Make a frozen copy of the store, and return a link to it with its path, which cannot be shown again.

    Raises:
        NotAllowed: The actor is not an admin.
        InvalidInput: The name is empty or too long.
        StoreUnavailable: The disk has no room for the copy.
    """
    links, link_id = links_of(memory), new_id()
    remove_ended_copies(memory.storage.path)
    ends_at = datetime.now(UTC) + timedelta(days=days)
    memory.freeze(link_id)
    try:
        maker = actor_name(memory.storage.settings.actor)
        link, secret = links.add(name, ends_at, made_by=maker, link_id=link_id)
    except BaseException:
        remove_frozen_copy(memory.storage.path, link_id)
        raise
    return link, f"/link/{secret}"


def end_link(memory: MemorySystem, link_id: str) -> SharedLink:
    """End a link, and remove its frozen copy. Raises `NotAllowed` unless the actor is an admin."""
    ended = links_of(memory).end(link_id)
    remove_frozen_copy(memory.storage.path, link_id)
    return ended


def links_of(memory: MemorySystem) -> Links:
    """Return the links of a store. Raises `NotAllowed` unless the actor is an admin."""
    check_admin("see and change links")
    return Links(memory.storage.path, owner=memory.storage.settings.actor)


def _link_row(memory: MemorySystem, link: SharedLink, now: datetime) -> LinkRow:
    problem = link.problem(now)
    if not problem and current_copy(memory.storage.path, link.id) is None:
        problem = "its copy was removed by a purge, or is on another server"
    return LinkRow(
        id=link.id,
        name=link.name,
        made=f"{sortable_utc_time(link.made_at)} by {link.made_by}",
        state=problem or f"open until {sortable_utc_time(link.ends_at)}",
        is_live=not problem,
    )
