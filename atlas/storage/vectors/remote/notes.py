"""The ledger's notes on a remote index: namespace, checkpoints and the writer's lease.

A service has no locks, and cannot detect missing data. So the index's checkpoint is stored in the ledger, like the
writer's lease. Other writers wait until the lease is released, or expires because its holder was killed.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from atlas.core.errors import PlanOutdated, StoreError
from atlas.core.types import new_id
from atlas.storage.engine import LedgerEngine
from atlas.storage.following_index import IndexCheckpoint, IndexUnreachable

logger = logging.getLogger(__name__)

INDEX, LEASE = "index:", "index-lease:"
"""Prefixes of note keys: `index:{collection}:{address}` and `index-lease:{collection}:{address}`."""

LEASE_SECONDS = 120.0
"""Time after which a lease that was not renewed may be taken over.

Two thirds of this time are longer than any call of the service with its retries. The lease of a dead process on this
machine may be taken over immediately, unless the process was writing: a sent request may still take effect, and would
overwrite later writes.
"""

CLOCK_SECONDS = 60.0
"""Maximum clock skew between machines that share a ledger."""

WRITING = "writing"
"""The last word of a lease whose holder may have sent a request that has no answer yet."""

MAX_PENDING = 16
"""Maximum number of pending checkpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCheckpoint:
    """A checkpoint whose writes may not be visible in the service yet."""

    position: int
    """The service's position of the checkpoint's last write."""

    checkpoint: IndexCheckpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexNote:
    """The state of a remote index, as stored in the ledger."""

    namespace: str = ""
    """The index's name in the service, or empty if there is none. A cleared namespace gets a new name."""

    is_made: bool = False
    """True once the service has confirmed the namespace. Until then the namespace is empty, and is not cleared."""

    checkpoints: tuple[PendingCheckpoint, ...] = ()
    """Checkpoints, oldest first. Checkpoints before a visible checkpoint are not used."""

    visible_position: int = 0
    """The position up to which writes were visible in an answer."""

    dropped_namespaces: tuple[str, ...] = ()
    """Namespaces that are still to be deleted in the service."""

    kept_namespaces: tuple[str, ...] = ()
    """Namespaces that stay in the service: of the original of a copied ledger, and of indexes left with `abandon`."""

    is_finished: bool = True
    """True if the newest checkpoint is the last write, so that the keys can be counted."""

    def visible_checkpoint(self, visible_position: int) -> PendingCheckpoint | None:
        """Return the newest checkpoint whose writes are visible up to a position, or None."""
        return next((pending for pending in reversed(self.checkpoints) if pending.position <= visible_position), None)

    def with_checkpoint(self, new_checkpoint: PendingCheckpoint, visible_position: int) -> IndexNote:
        """Return this note with another checkpoint, and without those older than the visible one at a position."""
        visible = self.visible_checkpoint(visible_position)
        checkpoints = [
            pending
            for pending in self.checkpoints
            if visible is None or pending.checkpoint.revision >= visible.checkpoint.revision
        ]
        return replace(self, checkpoints=(*checkpoints[: MAX_PENDING - 1], new_checkpoint))

    def drop_namespace(self) -> IndexNote:
        """Return this note with its namespace marked for deletion. A namespace that was not created stays."""
        if not self.is_made:
            return self
        return IndexNote(
            dropped_namespaces=(*self.dropped_namespaces, self.namespace), kept_namespaces=self.kept_namespaces
        )

    def keep_namespaces(self) -> IndexNote:
        """Return this note with all namespaces marked as kept in the service, and without a current one."""
        return IndexNote(
            kept_namespaces=tuple(filter(None, (*self.kept_namespaces, *self.dropped_namespaces, self.namespace)))
        )


class IndexNotes:
    """Access to the note and the lease of one collection's index in one service."""

    def __init__(self, ledger: LedgerEngine, collection: str, address: str) -> None:
        """Use the note and the lease of an index.

        Args:
            address: The service's address.
        """
        self._ledger = ledger
        self._name = f"{INDEX}{collection}:{address}"
        self._lease_name = f"{LEASE}{collection}:{address}"
        self._lease = ""
        self._last_note_text = ""
        """The text of the note as this writer last read or stored it."""

        self._has_unanswered_request = False
        """True if a request was sent whose result is unknown."""

    @property
    def can_write(self) -> bool:
        """True unless the store is read-only."""
        return not self._ledger.read_only

    def read(self) -> IndexNote:
        """Return the note. Namespaces in a note of another copy of the ledger are kept, but not used."""
        return self._decode(self._read_text(self._name))

    def acquire_lease(self) -> bool:
        """Try to acquire the lease, and return whether it was acquired."""
        lease_text = self._read_text(self._lease_name)
        if lease_text and not self._may_be_taken_over(lease_text):
            return False
        lease = self._new_lease()
        try:
            self._ledger.notes.write({self._lease_name: lease}, expected={self._lease_name: lease_text or None})
        except (PlanOutdated, StoreError):  # another process was faster, or has locked the ledger
            return False
        self._lease = lease
        self._last_note_text = self._read_text(self._name)
        self._has_unanswered_request = False
        return True

    def renew_lease(self) -> None:
        """Renew the lease if more than a third of its time has passed.

        Raises:
            IndexUnreachable: Another process has taken over the lease, because this one stalled for too long.
        """
        remaining = _expires_at(self._lease) - self._ledger.clock.now()
        if remaining < timedelta(seconds=LEASE_SECONDS * 2 / 3):
            self._write({})

    def write(self, note: IndexNote) -> None:
        """Update the note and renew the lease.

        Raises:
            IndexUnreachable: Another process has taken over the lease. The note was not written.
        """
        self._write({self._name: self._encode(note)})

    def begin_write(self) -> None:
        """Record that a request is about to be sent. Without `end_write`, others wait until the lease expires.

        Raises:
            IndexUnreachable: Another process has taken over the lease.
        """
        note, self._has_unanswered_request = self.read(), True
        try:
            self._write({self._name: self._encode(replace(note, is_finished=False))} if note.is_finished else {})
        except (IndexUnreachable, StoreError):  # no request will be sent
            self._has_unanswered_request = False
            raise

    def end_write(self) -> None:
        """Record that the request has completed."""
        self._has_unanswered_request = False

    def release_lease(self) -> bool:
        """Release the lease, and return True. Return False if it must expire: a sent request may still take effect."""
        lease, has_unanswered_request = self._lease, self._has_unanswered_request
        self._lease, self._last_note_text, self._has_unanswered_request = "", "", False
        try:
            self._replace_lease(lease, lease if has_unanswered_request else None)
        except StoreError as error:  # it expires by itself
            logger.warning("the end of a lease on an index could not be recorded: %s", error)
        return not has_unanswered_request

    def _replace_lease(self, lease: str, text: str | None) -> None:
        """Replace this writer's lease, or delete it if the text is None, unless another process took it over."""
        try:
            self._ledger.notes.write({self._lease_name: text}, expected={self._lease_name: lease})
        except PlanOutdated:
            self.drop_checkpoints()

    def drop_checkpoints(self) -> None:
        """Drop all checkpoints, because a write may have been sent after the lease was lost."""
        self._change_without_lease(lambda note: replace(note, checkpoints=()))

    def abandon_namespaces(self) -> IndexNote:
        """Mark all namespaces as kept in the service, even if another process is writing, and return the note."""
        return self._change_without_lease(IndexNote.keep_namespaces)

    def drop_namespace_in(self, text: str) -> str:
        """Return the text of a note with its namespace marked for deletion."""
        return self._encode(self._decode(text).drop_namespace())

    def _change_without_lease(self, change: Callable[[IndexNote], IndexNote]) -> IndexNote:
        """Apply a function to the note, and return its result. Retry after a concurrent change by another process."""
        while True:
            text = self._read_text(self._name)
            new_note = change(self._decode(text))
            with suppress(PlanOutdated):  # another process has just changed the note
                self._ledger.notes.write({self._name: self._encode(new_note)}, expected={self._name: text or None})
                return new_note

    def _write(self, texts: Mapping[str, str]) -> None:
        """Write notes by name and renew the lease, or raise `IndexUnreachable` if another process took it over."""
        lease = self._new_lease(self._lease.partition(" ")[0])
        expected: dict[str, str | None] = {self._lease_name: self._lease}
        if texts:
            expected[self._name] = self._last_note_text or None
        try:
            self._ledger.notes.write({self._lease_name: lease, **texts}, expected=expected)
        except PlanOutdated as error:
            self.drop_checkpoints()
            raise IndexUnreachable("another process took over the lock, because this process stalled") from error
        self._lease, self._last_note_text = lease, texts.get(self._name, self._last_note_text)

    def _new_lease(self, holder: str = "") -> str:
        """Return the text of a new lease: its holder, by default this process, and the time at which it expires."""
        expires_at = self._ledger.clock.now() + timedelta(seconds=LEASE_SECONDS)
        holder = holder or "/".join([_boot_id(), str(os.getpid()), new_id(), self._ledger.identity()])
        lease = f"{holder} {expires_at.isoformat()}"
        return f"{lease} {WRITING}" if self._has_unanswered_request else lease

    def _may_be_taken_over(self, lease: str) -> bool:
        """Return whether a lease may be taken over.

        It may if its time is over, if it ends implausibly late because of a wrong clock, if it was copied with the
        ledger from another store, or if its holder was a process of this machine that has ended.
        """
        boot_id, pid, _, ledger_identity = lease.partition(" ")[0].split("/")
        if ledger_identity != self._ledger.identity():
            return True
        remaining = _expires_at(lease) - self._ledger.clock.now()
        if not timedelta() < remaining < timedelta(seconds=LEASE_SECONDS + CLOCK_SECONDS):
            return True
        if lease.endswith(WRITING) or not boot_id or boot_id != _boot_id():
            return False
        return not Path(f"/proc/{pid}").exists()

    def _read_text(self, name: str) -> str:
        return self._ledger.notes.read(name).get("", "")

    def _encode(self, note: IndexNote) -> str:
        return json.dumps({"ledger": self._ledger.identity(), **_encode_note(note)})

    def _decode(self, text: str) -> IndexNote:
        """Return the note in a text, or an empty one if the text is empty or damaged."""
        try:
            encoded = json.loads(text) if text else {}
            if not encoded:
                return IndexNote()
            note = _decode_note(encoded)
            is_of_this_ledger = encoded["ledger"] == self._ledger.identity()
            return note if is_of_this_ledger else note.keep_namespaces()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return IndexNote()


def list_index_addresses(ledger: LedgerEngine, collection: str) -> list[str]:
    """Return the addresses of the services in which a collection has, or had, an index."""
    return list(ledger.notes.read(f"{INDEX}{collection}:"))


def restore_notes(ledger: LedgerEngine, notes: Mapping[str, str]) -> None:
    """Copy the notes of former indexes into a restored ledger, so that the indexes can be deleted in the service.

    Args:
        notes: The earlier notes whose names begin with `INDEX`.
    """
    indexes = {name: IndexNotes(ledger, *name.split(":", 1)) for name in notes}
    ledger.notes.write({INDEX + name: index.drop_namespace_in(notes[name]) for name, index in indexes.items()})


def _encode_note(note: IndexNote) -> dict[str, Any]:
    """Return a note as a JSON object, in the stored form."""
    return {
        "namespace": note.namespace,
        "is_made": note.is_made,
        "seals": [{"position": pending.position, "seal": asdict(pending.checkpoint)} for pending in note.checkpoints],
        "shown": note.visible_position,
        "dropped": note.dropped_namespaces,
        "stay": note.kept_namespaces,
        "is_finished": note.is_finished,
    }


def _decode_note(encoded: Mapping[str, Any]) -> IndexNote:
    """Return the note in a JSON object, or raise an error if a part is missing or has another type."""
    checkpoints = tuple(
        PendingCheckpoint(position=int(pending["position"]), checkpoint=IndexCheckpoint(**pending["seal"]))
        for pending in encoded["seals"]
    )
    if not all(pending.checkpoint.is_valid for pending in checkpoints):
        checkpoints = ()
    return IndexNote(
        namespace=str(encoded["namespace"]),
        is_made=bool(encoded["is_made"]),
        checkpoints=checkpoints,
        visible_position=int(encoded["shown"]),
        dropped_namespaces=tuple(map(str, encoded["dropped"])),
        kept_namespaces=tuple(map(str, encoded["stay"])),
        is_finished=bool(encoded["is_finished"]),
    )


def _expires_at(lease: str) -> datetime:
    return datetime.fromisoformat(lease.split(" ")[1])


def _boot_id() -> str:
    """Return an id of this machine's current boot, or an empty string if processes cannot be looked up."""
    try:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot_id}.{Path('/proc/self/ns/pid').stat().st_ino}"  # containers number their processes on their own
    except OSError:
        return ""
