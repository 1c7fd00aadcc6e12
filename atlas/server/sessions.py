"""Browsers that are signed in, and their rights."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from atlas.access.links import Link
from atlas.access.people import Identity
from atlas.access.stores import Stores
from atlas.core.errors import InvalidInput, NotAllowed
from atlas.infra.actor import Actor
from atlas.storage.place.audit import ENTERED, LINK_OPENED, TOKEN_ENTERED

COOKIE = "atlas_session"
MAX_SESSIONS = 10_000
MAX_OF_ONE = 100
"""Browsers that one key, link or person may have at once. One more ends the oldest of them."""

SESSION_SECONDS = 12 * 3_600.0
"""Time after which somebody has to enter again."""

MAX_HOURS = 8_784


def session_seconds(text: str) -> float:
    """Return the length of a session by ATLAS_SESSION_HOURS: twelve hours if it is empty.

    Raises:
        InvalidInput: It is not a number of hours, or is more than a year.
    """
    if not text:
        return SESSION_SECONDS
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours <= MAX_HOURS:
        raise InvalidInput(f"ATLAS_SESSION_HOURS should be a number up to {MAX_HOURS:,}, like 12, but is {text!r:.100}")
    return hours * 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    guest: str
    """The key, link or person that it is for."""

    actors: Callable[[], Mapping[str, Actor]]
    """Returns their actors in each store that they may see now."""

    until: float
    """Time of `Sessions.monotonic` from which on they have to enter again."""

    vouched_id: str
    """Id of the person for whom a proxy vouched when it began. Empty if there is no proxy."""


@dataclass(slots=True)
class Sessions:
    """Browsers that were let in, as long as this process runs and their people are not refused."""

    stores: Stores
    seconds: float = SESSION_SECONDS
    cookie: str = COOKIE
    """Name of the cookie with a browser's token. Browsers send one server of a machine the cookies of the others."""

    monotonic: Callable[[], float] = time.monotonic
    """Returns the process's own time in seconds, which goes on where the machine's clock is put back."""

    _visits: dict[str, _Visit] = field(default_factory=dict)
    """By token, the oldest first."""

    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, secret: str, *, token: str = "", vouched_id: str = "") -> str:
        """Return a token for a browser that shows a key, or the server's own token.

        Args:
            token: The browser's token until now, which ends.
            vouched_id: Id of the person for whom a proxy vouches. The token holds for that person alone.

        Raises:
            NotAllowed: The key is unknown, revoked, has expired, or is bound to a scope.
        """
        if self.stores.is_token(secret):
            self.stores.first.audit.note(TOKEN_ENTERED, who=self.stores.owner_in(self.stores.first).name)
            return self._begin("owner", self.stores.owner, token, vouched_id)
        store, key = self.stores.recognise(secret)
        if key.scope:
            raise NotAllowed("a key with a scope is for agents; the pages show the whole store and need another key")
        store.audit.note(ENTERED, who=key.name)
        return self._begin(f"key {key.id}", partial(store.key, key.id), token, vouched_id)

    def follow(self, secret: str, *, token: str = "", vouched_id: str = "") -> str:
        """Return a token for a browser that opens a link, the same as before if it has opened it already.

        Args:
            token: See `begin`.
            vouched_id: See `begin`.

        Raises:
            NotAllowed: The link has ended.
        """
        store, link = self.stores.follow(secret)
        if self._is_guest(link, token, vouched_id):
            return token
        store.audit.note(LINK_OPENED, who=link.name)
        return self._begin(_guest_of(link), partial(store.link, link.id), token, vouched_id)

    def ended_by(self, secret: str, *, token: str = "", vouched_id: str = "") -> str:
        """Return the name of the person whom opening a link would sign out, or an empty string.

        Args:
            token: See `begin`.
            vouched_id: See `begin`.

        Raises:
            NotAllowed: The link has ended.
        """
        link = self.stores.follow(secret)[1]
        if self._is_guest(link, token, vouched_id) or not self.is_let_in(token, vouched_id):
            return ""
        return next((actor.name for actor in self.actors_of(token).values()), "")

    def begin_for(self, identity: Identity, *, token: str = "", vouched_id: str = "") -> str:
        """Return a token for the browser of somebody for whom a provider vouches.

        Args:
            token: See `begin`.
            vouched_id: See `begin`.

        Raises:
            NotAllowed: There is no store that they may see.
        """
        person_id = self.stores.sign_in(identity)
        return self._begin(f"person {person_id}", partial(self.stores.person, person_id), token, vouched_id)

    def end(self, token: str) -> None:
        """Forget a browser."""
        with self._lock:
            self._visits.pop(token, None)

    def actors_of(self, token: str) -> Mapping[str, Actor]:
        """Return the actors of a browser by the names of the stores that they may see. Empty before they enter.

        Raises:
            StoreUnavailable: They may see no store that can be read, and the access files of one cannot be read.
        """
        visit = self._visits.get(token)
        return visit.actors() if visit is not None and visit.until > self.monotonic() else {}

    def is_let_in(self, token: str, vouched_id: str = "") -> bool:
        """Return whether a browser has entered, with the same word of a proxy as when it did."""
        visit = self._visits.get(token)
        return visit is not None and visit.vouched_id == vouched_id and bool(self.actors_of(token))

    def _is_guest(self, link: Link, token: str, vouched_id: str) -> bool:
        """Return whether a browser has opened a link, and may still look."""
        visit = self._visits.get(token)
        return visit is not None and visit.guest == _guest_of(link) and self.is_let_in(token, vouched_id)

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


def _guest_of(link: Link) -> str:
    return f"link {link.id}"
