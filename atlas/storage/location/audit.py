"""Audit log of a store: sign-ins, refusals and changes of roles.

The log is an append-only file of JSON lines next to the ledger. Exports and backups leave it out, and purges do not
change it, because it contains no text of records.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from atlas.core.errors import StoreUnavailable
from atlas.infra.actor import actor_name
from atlas.infra.clock import SystemClock
from atlas.protocols.infra import Clock
from atlas.storage.location.access import access_storage

logger = logging.getLogger(__name__)

SIGNED_IN, ENTERED, TOKEN_ENTERED, REFUSED = "signed in", "entered with a key", "entered with the token", "refused"
KEY_MADE, KEY_REVOKED = "key made", "key revoked"
ROLE_GIVEN, REMOVED, READMITTED = "role given", "removed", "let in again"
LINK_MADE, LINK_ENDED, LINK_OPENED = "link made", "link ended", "link opened"
MODEL_CHOSEN = "language model chosen"
PURGED, RESTORED, BACKED_UP = "purged", "restored a backup", "made a backup"

_REPEAT_SECONDS = 60.0
"""Period in which equal refusals add at most two lines, so that guessing keys cannot fill the disk."""

_MAX_DISTINCT = 50
"""Maximum number of distinct refusals that are counted in this period."""

MANY, TOO_MANY = "several", "more refusals than are told apart"

_TEXT_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """An event about access rights, or about the store as a whole."""

    at: datetime
    what: str
    who: str
    """Name of the actor. Untrusted text."""

    about: str = ""
    """The object of the event. Untrusted text."""

    n: int = 1
    """Number of repetitions since the last line of the same kind."""

    @property
    def kind(self) -> str:
        """The kind of the event, such as `role given`, without the details that follow a colon."""
        return self.what.partition(":")[0]


@dataclass(slots=True, eq=False)
class AuditLog:
    """The events of one store. Several processes may add events concurrently."""

    directory: Path
    """The store's directory, or the local directory of a store in a database."""

    clock: Clock = field(default_factory=SystemClock)
    owner: str = ""
    """Name of the user of the process, for events without an actor."""

    _refusals: dict[tuple[str, str], int] = field(default_factory=dict)
    """Number of repetitions to write, keyed by actor and subject."""

    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_event(self, what: str, *, who: str = "", about: str = "", n: int = 1) -> None:
        """Add an event. If the log cannot be written, log an error instead of raising one.

        Args:
            who: Name of the actor, empty for the current one.
        """
        event = AuditEvent(
            at=self.clock.now(),
            what=what,
            who=_to_line(who or actor_name(self.owner)),
            about=_to_line(about),
            n=n,
        )
        try:
            access_storage(self.directory).add_audit_line(json.dumps(_encode(event), ensure_ascii=False))
        except (OSError, StoreUnavailable) as error:
            logger.error("the audit log cannot be written (%s): %s", error, _encode(event))

    def add_refusal(self, who: str, about: str) -> None:
        """Add a refusal. Repetitions are counted, and their number is written after a minute."""
        with self._lock:
            if not self._refusals:
                timer = threading.Timer(_REPEAT_SECONDS, self.flush)
                timer.daemon = True
                timer.start()
            if (who, about) not in self._refusals and len(self._refusals) >= _MAX_DISTINCT:
                who, about = MANY, TOO_MANY
            n_before = self._refusals.get((who, about))
            self._refusals[who, about] = 0 if n_before is None else n_before + 1
        if n_before is None:
            self.add_event(REFUSED, who=who, about=about)

    def flush(self) -> None:
        """Write the pending numbers of repeated refusals. Called when a server stops."""
        with self._lock:
            pending, self._refusals = self._refusals, {}
        for (actor, about), n_repetitions in pending.items():
            if n_repetitions:
                self.add_event(REFUSED, who=actor, about=about, n=n_repetitions)

    def events(self) -> list[AuditEvent]:
        """Return all events, newest first. A line truncated by a crash is skipped.

        Raises:
            StoreUnavailable: The log cannot be read.
        """
        lines = access_storage(self.directory).lines()
        return [event for line in reversed(lines) if (event := _decode(line)) is not None]


def _to_line(text: str) -> str:
    """Return a text on one line, shortened, and without invalid characters."""
    return " ".join(text.split())[:_TEXT_CHARACTERS].encode(errors="replace").decode()


def _encode(event: AuditEvent) -> Mapping[str, object]:
    encoded = {"at": event.at.isoformat(), "what": event.what, "who": event.who, "about": event.about}
    return encoded if event.n == 1 else encoded | {"n": event.n}


def _decode(line: str) -> AuditEvent | None:
    """Return the event in a line of the log, or None if the line is malformed."""
    try:
        fields = json.loads(line)
        return AuditEvent(
            at=datetime.fromisoformat(fields["at"]),
            what=str(fields["what"]),
            who=str(fields["who"]),
            about=str(fields["about"]),
            n=int(fields.get("n", 1)),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
