"""Demonstration links, which show a frozen copy of a store until they end."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput, NotAllowed, NotFound
from atlas.core.types import new_id
from atlas.infra.actor import Actor
from atlas.infra.clock import SystemClock
from atlas.protocols.access import LINKS
from atlas.protocols.infra import Clock
from atlas.storage.location.audit import LINK_ENDED, LINK_MADE, AuditLog
from atlas.storage.location.values import AccessValues
from atlas.storage.maintenance.freeze import remove_frozen_copy, remove_unused_copies

_NAME_CHARACTERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLink:
    """A link without its secret."""

    id: str
    """Id of the link, and name of its frozen copy."""

    name: str
    made_at: datetime
    made_by: str
    ends_at: datetime
    revoked_at: datetime | None = None

    @property
    def actor(self) -> Actor:
        """The actor of this link."""
        return Actor(f"link {self.name}")

    def problem(self, now: datetime) -> str:
        """Return why the link does not work at a time, such as `was ended on …`, or an empty string if it works."""
        if self.revoked_at is not None:
            return f"was ended on {self.revoked_at:%Y-%m-%d %H:%M} UTC"
        return f"ended on {self.ends_at:%Y-%m-%d %H:%M} UTC" if self.ends_at <= now else ""


class Links:
    """The links of one store. Several processes may use them concurrently."""

    def __init__(self, directory: Path, clock: Clock | None = None, *, owner: str = "") -> None:
        """Open the links of the store in a directory. The file is created with the first link.

        Args:
            owner: Name of the process's user, for audit log lines without a signed-in person.
        """
        self.directory = directory
        self._values = AccessValues(directory, LINKS, _encode, _decode)
        self._clock = clock or SystemClock()
        self._audit = AuditLog(directory, self._clock, owner)

    def add(self, name: str, ends_at: datetime, *, made_by: str, link_id: str = "") -> tuple[SharedLink, str]:
        """Create a link. Return the link and its secret, which is not stored.

        Args:
            link_id: Id of the link, which also names its frozen copy. By default a new one.

        Raises:
            InvalidInput: The name is empty or too long, or the end is in the past.
        """
        now, clean_name = self._clock.now(), " ".join(name.split())
        if not 0 < len(clean_name) <= _NAME_CHARACTERS:
            raise InvalidInput(f"expected a name of 1 to {_NAME_CHARACTERS} characters for a link, got {name!r:.80}")
        if ends_at <= now:
            raise InvalidInput(
                f"a link should end in the future, but {ends_at:%Y-%m-%d %H:%M} UTC has passed; choose a later time"
            )
        link = SharedLink(id=link_id or new_id(), name=clean_name, made_at=now, made_by=made_by, ends_at=ends_at)
        secret = secrets.token_urlsafe(32)
        with self._values.edit() as links:
            links[_hash(secret)] = link
        self._audit.add_event(LINK_MADE, who=made_by, about=f"{clean_name}, until {ends_at:%Y-%m-%d %H:%M} UTC")
        return link, secret

    def all(self) -> list[SharedLink]:
        """Return all links, newest first, including ended ones."""
        return sorted(self._values.read().values(), key=lambda link: link.made_at, reverse=True)

    def has_secret(self, secret: str) -> bool:
        """Return whether a link has this secret, even if the link has ended."""
        return _hash(secret) in self._values.read()

    def authenticate(self, secret: str) -> SharedLink:
        """Return the link with this secret.

        Raises:
            NotAllowed: No link has this secret, or the link has ended.
        """
        stored_link = self._values.read().get(_hash(secret))
        if stored_link is None:
            raise NotAllowed("this link is unknown; ask its sender for a new one")
        if problem := stored_link.problem(self._clock.now()):
            raise NotAllowed(f"this link {problem}; ask its sender for a new one")
        return stored_link

    def find(self, link_id: str) -> SharedLink | None:
        """Return the active link with an id, or None."""
        now = self._clock.now()
        return next(
            (link for link in self._values.read().values() if link.id == link_id and not link.problem(now)), None
        )

    def end(self, link_id: str) -> SharedLink:
        """End a link.

        Raises:
            NotFound: No active link has this id.
        """
        now = self._clock.now()
        with self._values.edit() as links:
            active_hashes = [
                secret_hash for secret_hash, link in links.items() if link.id == link_id and not link.problem(now)
            ]
            if not active_hashes:
                raise NotFound("there is no active link with this id; reload the list of links")
            secret_hash = active_hashes[0]
            ended_link = replace(links[secret_hash], revoked_at=now)
            links[secret_hash] = ended_link
        self._audit.add_event(LINK_ENDED, about=ended_link.name)
        return ended_link

    def ended_links(self) -> list[SharedLink]:
        """Return the ended links."""
        now = self._clock.now()
        return [link for link in self.all() if link.problem(now)]


def remove_ended_copies(store: Path, clock: Clock | None = None) -> None:
    """Remove the frozen copies of ended links, and partial copies that an interrupted process left."""
    links = Links(store, clock)
    ended_ids = {link.id for link in links.ended_links()}
    for link_id in ended_ids:
        remove_frozen_copy(store, link_id)
    remove_unused_copies(store, {link.id for link in links.all()} - ended_ids)


def _encode(link: SharedLink) -> dict[str, Any]:
    return {
        "id": link.id,
        "name": link.name,
        "made_at": link.made_at.isoformat(),
        "made_by": link.made_by,
        "ends_at": link.ends_at.isoformat(),
        "revoked_at": link.revoked_at and link.revoked_at.isoformat(),
    }


def _decode(encoded: dict[str, Any]) -> SharedLink:
    revoked_at = encoded["revoked_at"]
    return SharedLink(
        id=encoded["id"],
        name=encoded["name"],
        made_at=datetime.fromisoformat(encoded["made_at"]),
        made_by=encoded["made_by"],
        ends_at=datetime.fromisoformat(encoded["ends_at"]),
        revoked_at=datetime.fromisoformat(revoked_at) if revoked_at else None,
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
