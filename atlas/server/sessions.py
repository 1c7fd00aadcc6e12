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
MAX_PER_USER = 100
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
class _Session:
    holder: str
    """The key, link or person that the session is for, such as `key 3f2a`."""

    actors: Callable[[], Mapping[str, Actor]]
    """Returns the current actors of the session, keyed by store name."""

    expires_at: float
    """Time of expiry, from `Sessions.monotonic`."""

    proxy_user_id: str
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

    _sessions: dict[str, _Session] = field(default_factory=dict)
    """Sessions by token, oldest first."""

    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin_with_secret(self, secret: str, *, token: str = "", proxy_user_id: str = "") -> str:
        """Start a session for a key or the server's token, and return the session token.

        Args:
            token: The browser's current session token, which is ended.
            proxy_user_id: Id of the user authenticated by a proxy. The session is only valid for that user.

        Raises:
            NotAllowed: The key is unknown, revoked, has expired, or is bound to a scope.
        """
        if self.stores.is_token(secret):
            self.stores.first.audit.add_event(TOKEN_ENTERED, who=self.stores.owner_actor(self.stores.first).name)
            return self._start_session("owner", self.stores.owner_actors, token, proxy_user_id)
        store, key = self.stores.authenticate_key(secret)
        if key.scope:
            raise NotAllowed(
                "a key with a scope is for agents, but the pages show the whole store; use a key without a scope"
            )
        store.audit.add_event(ENTERED, who=key.name)
        return self._start_session(f"key {key.id}", partial(store.key_actors, key.id), token, proxy_user_id)

    def begin_for_link(self, secret: str, *, token: str = "", proxy_user_id: str = "") -> str:
        """Start a session for a link, and return its token. An existing session for the link is reused.

        Args:
            token: See `begin_with_secret`.
            proxy_user_id: See `begin_with_secret`.

        Raises:
            NotAllowed: The link has ended.
        """
        store, link = self.stores.authenticate_link(secret)
        if self._is_session_of_link(link, token, proxy_user_id):
            return token
        store.audit.add_event(LINK_OPENED, who=link.name)
        return self._start_session(_link_holder(link), partial(store.link_actors, link.id), token, proxy_user_id)

    def find_replaced_user(self, secret: str, *, token: str = "", proxy_user_id: str = "") -> str:
        """Return the name of the user who would be logged out by opening a link. Empty if no session would end.

        Args:
            token: See `begin_with_secret`.
            proxy_user_id: See `begin_with_secret`.

        Raises:
            NotAllowed: The link has ended.
        """
        link = self.stores.authenticate_link(secret)[1]
        if self._is_session_of_link(link, token, proxy_user_id) or not self.has_session(token, proxy_user_id):
            return ""
        return next((actor.name for actor in self.actors_of(token).values()), "")

    def begin_for_person(self, identity: Identity, *, token: str = "", proxy_user_id: str = "") -> str:
        """Start a session for a user authenticated by a provider, and return its token.

        Args:
            token: See `begin_with_secret`.
            proxy_user_id: See `begin_with_secret`.

        Raises:
            NotAllowed: There is no store that the user may see.
        """
        person_id = self.stores.sign_in(identity)
        return self._start_session(
            f"person {person_id}", partial(self.stores.person_actors, person_id), token, proxy_user_id
        )

    def end(self, token: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(token, None)

    def actors_of(self, token: str) -> Mapping[str, Actor]:
        """Return the actors of a session, keyed by store name. Empty for an unknown token.

        Raises:
            StoreUnavailable: No store is accessible, and the access files of one cannot be read.
        """
        session = self._sessions.get(token)
        return session.actors() if session is not None and session.expires_at > self.monotonic() else {}

    def has_session(self, token: str, proxy_user_id: str = "") -> bool:
        """Return whether a token belongs to a valid session that was started by the same user of the proxy."""
        session = self._sessions.get(token)
        return session is not None and session.proxy_user_id == proxy_user_id and bool(self.actors_of(token))

    def _is_session_of_link(self, link: SharedLink, token: str, proxy_user_id: str) -> bool:
        """Return whether a token belongs to a valid session that was started by a link."""
        session = self._sessions.get(token)
        return session is not None and session.holder == _link_holder(link) and self.has_session(token, proxy_user_id)

    def _start_session(
        self, holder: str, actors: Callable[[], Mapping[str, Actor]], old_token: str, proxy_user_id: str
    ) -> str:
        """Start a session and return its token.

        End the browser's old session, expired sessions, and the oldest ones above the limits.
        """
        token, now = secrets.token_urlsafe(32), self.monotonic()
        new_session = _Session(holder=holder, actors=actors, expires_at=now + self.seconds, proxy_user_id=proxy_user_id)
        with self._lock:
            self._sessions.pop(old_token, None)
            self._drop([token for token, session in self._sessions.items() if session.expires_at <= now])
            self._drop(
                [token for token, session in self._sessions.items() if session.holder == holder][: 1 - MAX_PER_USER]
            )
            self._drop([*self._sessions][: 1 - MAX_SESSIONS])
            self._sessions[token] = new_session
        return token

    def _drop(self, tokens: Sequence[str]) -> None:
        for token in tokens:
            del self._sessions[token]


def _link_holder(link: SharedLink) -> str:
    return f"link {link.id}"
