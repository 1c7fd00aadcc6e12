"""Sessions of browsers, and their access rights."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from atlas.access.links import SharedLink
from atlas.access.people import Identity
from atlas.access.stores import Stores
from atlas.core.errors import InvalidInput, NotAllowed
from atlas.infra.actor import Actor
from atlas.storage.location.audit import ENTERED, LINK_OPENED, TOKEN_ENTERED

COOKIE = "atlas_session"
MAX_SESSIONS = 10_000
MAX_OF_ONE = 100
"""Maximum number of sessions per key, link or person. A new one ends the oldest."""

SESSION_SECONDS = 12 * 3_600.0
"""Lifetime of a session."""

MAX_HOURS = 8_784


def session_seconds(text: str) -> float:
    """Parse ATLAS_SESSION_HOURS. The default is twelve hours.

    Raises:
        InvalidInput: The text is not a number of hours, or is more than a year.
    """
    if not text:
        return SESSION_SECONDS
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours <= MAX_HOURS:
        raise InvalidInput(
            f"expected a number up to {MAX_HOURS:,}, such as 12, for ATLAS_SESSION_HOURS, got {text!r:.100}"
        )
    return hours * 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    guest: str
    """Its key, link or person."""

    actors: Callable[[], Mapping[str, Actor]]
    """Returns its current actors by store name."""

    until: float
    """Time of expiry, from `Sessions.monotonic`."""

    vouched_id: str
    """Id of the user authenticated by a proxy at the start, or empty without a proxy."""


@dataclass(slots=True)
class Sessions:
    """The active sessions, kept in memory."""

    stores: Stores
    seconds: float = SESSION_SECONDS
    cookie: str = COOKIE
    """Name of the session cookie. It is unique per server, because browsers share cookies between ports."""

    monotonic: Callable[[], float] = time.monotonic
    """Returns monotonic time in seconds."""

    _visits: dict[str, _Visit] = field(default_factory=dict)
    """Sessions by token, oldest first."""

    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, secret: str, *, token: str = "", vouched_id: str = "") -> str:
        """Start a session for a key or the server's token, and return the session token.

        Args:
            token: The browser's current session token, which is ended.
            vouched_id: Id of the user authenticated by a proxy. The session is only valid for that user.

        Raises:
            NotAllowed: The key is unknown, revoked, has expired, or is bound to a scope.
        """
        if self.stores.is_token(secret):
            self.stores.first.audit.add_event(TOKEN_ENTERED, who=self.stores.owner_in(self.stores.first).name)
            return self._begin("owner", self.stores.owner, token, vouched_id)
        store, key = self.stores.recognise(secret)
        if key.scope:
            raise NotAllowed(
                "a key with a scope is for agents, but the pages show the whole store; use a key without a scope"
            )
        store.audit.add_event(ENTERED, who=key.name)
        return self._begin(f"key {key.id}", partial(store.key, key.id), token, vouched_id)

    def follow(self, secret: str, *, token: str = "", vouched_id: str = "") -> str:
        """Start a session for a link, and return its token. An existing session for the link is reused.

        Args:
            token: See `begin`.
            vouched_id: See `begin`.

        Raises:
            NotAllowed: The link has ended.
        """
        store, link = self.stores.follow(secret)
        if self._is_guest(link, token, vouched_id):
            return token
        store.audit.add_event(LINK_OPENED, who=link.name)
        return self._begin(_guest_of(link), partial(store.link, link.id), token, vouched_id)

    def find_ended_user(self, secret: str, *, token: str = "", vouched_id: str = "") -> str:
        """Return the name of the user whose session would end by opening a link, or an empty string.

        Args:
            token: See `begin`.
            vouched_id: See `begin`.

        Raises:
            NotAllowed: The link has ended.
        """
        link = self.stores.follow(secret)[1]
        if self._is_guest(link, token, vouched_id) or not self.has_session(token, vouched_id):
            return ""
        return next((actor.name for actor in self.actors_of(token).values()), "")

    def begin_session(self, identity: Identity, *, token: str = "", vouched_id: str = "") -> str:
        """Start a session for a user authenticated by a provider, and return its token.

        Args:
            token: See `begin`.
            vouched_id: See `begin`.

        Raises:
            NotAllowed: There is no store that the user may see.
        """
        person_id = self.stores.sign_in(identity)
        return self._begin(f"person {person_id}", partial(self.stores.person, person_id), token, vouched_id)

    def end(self, token: str) -> None:
        """End a session."""
        with self._lock:
            self._visits.pop(token, None)

    def actors_of(self, token: str) -> Mapping[str, Actor]:
        """Return the actors of a session by store name, or an empty mapping for an unknown token.

        Raises:
            StoreUnavailable: No store is accessible, and the access files of one cannot be read.
        """
        visit = self._visits.get(token)
        return visit.actors() if visit is not None and visit.until > self.monotonic() else {}

    def has_session(self, token: str, vouched_id: str = "") -> bool:
        """Return whether a token has a session of the same proxy user."""
        visit = self._visits.get(token)
        return visit is not None and visit.vouched_id == vouched_id and bool(self.actors_of(token))

    def _is_guest(self, link: SharedLink, token: str, vouched_id: str) -> bool:
        """Return whether a session is for a link that has not ended."""
        visit = self._visits.get(token)
        return visit is not None and visit.guest == _guest_of(link) and self.has_session(token, vouched_id)

    def _begin(self, guest: str, actors: Callable[[], Mapping[str, Actor]], before: str, vouched_id: str) -> str:
        token, now = secrets.token_urlsafe(32), self.monotonic()
        started = _Visit(guest=guest, actors=actors, until=now + self.seconds, vouched_id=vouched_id)
        with self._lock:
            self._visits.pop(before, None)
            self._drop([token for token, visit in self._visits.items() if visit.until <= now])
            self._drop([token for token, visit in self._visits.items() if visit.guest == guest][: 1 - MAX_OF_ONE])
            self._drop([*self._visits][: 1 - MAX_SESSIONS])
            self._visits[token] = started
        return token

    def _drop(self, tokens: Sequence[str]) -> None:
        for token in tokens:
            del self._visits[token]


def _guest_of(link: SharedLink) -> str:
    return f"link {link.id}"
