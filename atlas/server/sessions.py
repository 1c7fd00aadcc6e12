"""Browsers whose people have entered, and whom each of them lets see what."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from atlas.access.people import Identity
from atlas.access.stores import Stores
from atlas.core.errors import InvalidInput
from atlas.infra.actor import Actor
from atlas.infra.audit import ENTERED, LINK_OPENED

COOKIE = "atlas_session"
MOST_SESSIONS = 10_000
SESSION_SECONDS = 12 * 3_600.0
"""Time after which somebody has to enter again."""

MOST_HOURS = 8_784


def session_seconds(said: str) -> float:
    """Return how long a session lasts, as ATLAS_SESSION_HOURS says it: nothing for twelve hours.

    Raises:
        InvalidInput: It is no number of hours, or of more than a year.
    """
    if not said:
        return SESSION_SECONDS
    try:
        hours = float(said)
    except ValueError:
        hours = 0.0
    if not 0 < hours <= MOST_HOURS:
        raise InvalidInput(
            f"ATLAS_SESSION_HOURS should be a number up to {MOST_HOURS:,}, like 12, but is {said!r:.100}"
        )
    return hours * 3_600


@dataclass(frozen=True, slots=True)
class _Visit:
    choices: Callable[[], Mapping[str, Actor]]
    """Returns whoever they are in each store that they may see now."""

    until: float
    """Time of the process's own clock from which on they have to enter again."""

    person_id: str = ""


@dataclass(slots=True)
class Sessions:
    """Browsers that were let in, as long as this process runs and their people are not refused."""

    stores: Stores
    seconds: float = SESSION_SECONDS
    _visits: dict[str, _Visit] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, secret: str) -> str:
        """Return a token for a browser that shows a key, or raise `NotAllowed` for one that is refused."""
        store, key = self.stores.recognise(secret)
        store.audit.note(ENTERED, who=key.name)
        return self._begin(partial(store.key, key.id))

    def follow(self, secret: str) -> str:
        """Return a token for a browser that opens a link, or raise `NotAllowed` for one that has ended."""
        store, link = self.stores.follow(secret)
        store.audit.note(LINK_OPENED, who=link.name)
        return self._begin(partial(store.link, link.id))

    def begin_for(self, identity: Identity) -> str:
        """Return a token for the browser of somebody for whom a provider vouches.

        Raises:
            NotAllowed: There is no store that they may see.
        """
        person_id = self.stores.sign_in(identity)
        return self._begin(partial(self.stores.person, person_id), person_id)

    def end(self, token: str) -> None:
        """Forget a browser."""
        with self._lock:
            self._visits.pop(token, None)

    def choices(self, token: str) -> Mapping[str, Actor]:
        """Return for whom a browser acts in each store that they may see. Empty where they have to enter first."""
        visit = self._visits.get(token)
        return visit.choices() if visit is not None and visit.until > time.monotonic() else {}

    def is_of(self, token: str, person_id: str) -> bool:
        """Return whether a browser is somebody's."""
        visit = self._visits.get(token)
        return visit is not None and visit.person_id == person_id

    def _begin(self, choices: Callable[[], Mapping[str, Actor]], person_id: str = "") -> str:
        token = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._visits) >= MOST_SESSIONS:
                del self._visits[next(iter(self._visits))]
            self._visits[token] = _Visit(choices, time.monotonic() + self.seconds, person_id)
        return token
