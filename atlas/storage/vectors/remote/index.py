"""An index in a service. The ledger stores its position, and only the holder of the ledger's lease writes to it.

The content of a service may be ahead of a reader's snapshot of the ledger, or behind it. So its hits are only
candidates, which are compared again in the ledger. An answer is used only if it includes all writes before the
checkpoint. If the service fails, a search does not use the index.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from atlas.core.errors import StoreError
from atlas.core.types import Vector, Vectors, new_id
from atlas.infra import fork_safety
from atlas.storage.following_index import IndexBehind, IndexCheckpoint, IndexUnreachable, IndexUnusable
from atlas.storage.vectors.remote import notes as index_notes
from atlas.storage.vectors.remote.circuit_breaker import CircuitBreaker
from atlas.storage.vectors.remote.notes import IndexNote, IndexNotes, PendingCheckpoint
from atlas.storage.vectors.remote.service import ALWAYS_VISIBLE, Answer, NoAnswer, VectorService

T = TypeVar("T")

WRITING_SECONDS = 30.0
"""Timeout of one write with its retries."""

POLL_POSITION_SECONDS = 1.0
"""Time between two polls of the visible position."""

CLEARING_SECONDS = 10.0
"""Timeout for another writer to finish before the index is cleared."""

POLL_LEASE_SECONDS = 0.2
"""Polling interval while waiting for another writer."""

MISSING_NAMESPACE = "atlas-none"
"""A name that no namespace has. Its keys are counted to check whether the service answers."""

_KEY = re.compile(r"[0-9]{1,18}:[0-9]{1,9}")


class RemoteIndex:
    """The vectors of one collection in a remote service."""

    is_counted = is_remote = is_resumable = True

    def __init__(
        self,
        service: VectorService,
        circuit_breaker: CircuitBreaker,
        notes: IndexNotes,
        name: str,
        dimension: int,
        *,
        seconds: float,
    ) -> None:
        """Use a service for a collection of this name.

        Args:
            seconds: Timeout of a query.
        """
        self._service = service
        self._circuit_breaker = circuit_breaker
        self._notes = notes
        self._name = name
        self._dimension = dimension
        self._query_seconds = seconds
        self._thread_lock = threading.RLock()
        self._n_locks = 0
        self._has_answered = False
        """True if the service has answered since this process acquired the lease."""

        self._written_positions: dict[str, int] = {}
        """The service's position of this process's last write, keyed by namespace."""

        self._answer_positions: dict[str, int] = {}
        """The position up to which writes were visible in the service's last answer, keyed by namespace."""

        self._resumes_at: float | None = None
        """Time after which an unanswered request cannot take effect any more, or None."""

        self._polled_at = float("-inf")
        self._damaged_namespaces: set[str] = set()
        """Namespaces that are missing, have other settings, or have lost writes before their checkpoints."""

        self._checked_namespaces: set[str] = set()
        """Namespaces whose number of keys was correct at this process's last check."""

        fork_safety.register(self)

    @property
    def max_hits(self) -> int:
        """Maximum number of hits of a query."""
        return self._service.max_hits

    @property
    def fault(self) -> str:
        """The reason why the last request to the service failed, or empty if it succeeded."""
        return self._circuit_breaker.fault

    @property
    def is_retry_due(self) -> bool:
        """True if a request failed or a write got no answer, and the pause afterwards is over."""
        return self._may_resume or (bool(self.fault) and not self._circuit_breaker.is_paused())

    @property
    def _may_resume(self) -> bool:
        """True if a request had no answer, and cannot take effect any more."""
        return self._resumes_at is not None and time.monotonic() >= self._resumes_at

    @property
    def is_open(self) -> bool:
        """True while there are connections to the service."""
        return self._service.is_open

    @contextmanager
    def locked(self, timeout_seconds: float = -1, *, to_write: bool = True) -> Iterator[bool]:
        """Lock the index for writing. Yields False after a timeout.

        Also yields False during the pause after a failure, and in a read-only store.
        Readers need no lock.
        """
        if not to_write:
            yield True
            return
        if (
            not self._notes.can_write
            or self._circuit_breaker.is_paused()
            or not self._thread_lock.acquire(timeout=timeout_seconds)
        ):
            yield False
            return
        try:
            if not self._n_locks:
                if not self._acquire_lease(timeout_seconds):
                    yield False
                    return
                self._has_answered = False
            self._n_locks += 1
            try:
                yield True
            finally:
                self._n_locks -= 1
                if not self._n_locks and not self._notes.release_lease():
                    self._resumes_at = time.monotonic() + index_notes.LEASE_SECONDS
        finally:
            self._thread_lock.release()

    def checkpoint(self) -> IndexCheckpoint:
        """Return the newest checkpoint whose writes are visible in the service. Empty if a write is unfinished."""
        note = self._read_note()
        pending = note.visible_checkpoint(self._visible_position(note))
        return pending.checkpoint if pending else IndexCheckpoint()

    def writer_checkpoint(self) -> IndexCheckpoint:
        """Return the checkpoint after which a writer continues, even if the latest writes are not visible yet."""
        note = self._read_note()
        return note.checkpoints[-1].checkpoint if note.checkpoints else IndexCheckpoint()

    def begin(self, checkpoint: IndexCheckpoint, n_changes: int = 0) -> None:
        """Begin to write the changes after a checkpoint.

        Args:
            n_changes: Not used, because each change takes the same time.

        Raises:
            IndexUnusable: The index has changed since the checkpoint was set.
        """
        with self._lock_for_writing() as note:
            if self.writer_checkpoint() != checkpoint:
                raise IndexUnusable("another process has written the index since its checkpoint was read")
            if checkpoint.n_keys and note.is_finished and note.namespace not in self._checked_namespaces:
                self._check_count(note, checkpoint.n_keys)
                self._checked_namespaces.add(note.namespace)

    def set_checkpoint(
        self, ledger_id: str, revision: int, *, change: int = 0, change_name: str = "", n_keys: int | None = None
    ) -> None:
        """Store the position in the ledger. Queries use it as soon as all writes are visible.

        Args:
            n_keys: Expected number of keys, or None before the index has followed all changes.

        Raises:
            IndexUnusable: The service makes writes visible immediately, and has another number of keys.
        """
        with self._lock_for_writing() as note:
            if n_keys is not None:
                self._check_count(note, n_keys)
                self._checked_namespaces.add(note.namespace)
            checkpoint = IndexCheckpoint(
                ledger_id=ledger_id, revision=revision, n_keys=n_keys or 0, change=change, change_name=change_name
            )
            last_position = note.checkpoints[-1].position if note.checkpoints else 0
            position = max(last_position, self._written_positions.get(note.namespace, 0))
            new_note = note.with_checkpoint(
                PendingCheckpoint(position=position, checkpoint=checkpoint), self._last_visible_position(note)
            )
            is_last = n_keys is not None
            visible_position = 0 if self._service.sees_at_once else self._visible_position(new_note, asks_now=is_last)
            self._notes.write(replace(new_note, visible_position=visible_position, is_finished=is_last))

    def upsert(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Insert or replace vectors by key."""
        if not keys:
            return
        with self._lock_for_writing() as note:
            for part in _iterate_batches(len(keys), self._service.max_written(self._dimension)):
                write = partial(self._service.upsert, note.namespace, keys[part], vectors[part])
                position = self._send_write(write)
                last_position = self._written_positions.get(note.namespace, 0)
                self._written_positions[note.namespace] = max(last_position, position)

    def remove(self, keys: Sequence[str]) -> None:
        """Remove vectors by key, ignoring unknown keys.

        The vectors may stay visible for a while, which is harmless, because the ledger has no vectors for them.
        """
        if not keys:
            return
        with self._lock_for_writing() as note:
            for part in _iterate_batches(len(keys), self._service.max_removed):
                self._send_write(partial(self._service.remove, note.namespace, keys[part]))

    def query(self, vector: Vector, k: int, *, checkpoint: IndexCheckpoint | None = None) -> list[tuple[str, float]]:
        """Return at most k keys with their similarities, highest first. Approximate.

        Args:
            checkpoint: Answer only if all writes before this checkpoint are visible, or None for the present content.

        Raises:
            IndexUnreachable: The writes are not visible yet, or the service did not answer, or returned too few hits.
        """
        note = self._read_note()
        if checkpoint is not None and checkpoint not in [pending.checkpoint for pending in note.checkpoints]:
            raise IndexUnreachable("the index has been cleared or rebuilt since its checkpoint was read")
        if k <= 0 or not note.is_made:
            return []
        n_hits = min(k, self.max_hits)
        try:
            answer = self._ask(lambda: self._service.query(note.namespace, vector, n_hits), self._query_seconds)
        except IndexUnreachable:
            raise
        except IndexUnusable as error:
            raise IndexUnreachable(f"the index must be rebuilt: {error}") from error
        self._answer_positions[note.namespace] = answer.sees_up_to
        if checkpoint is not None:
            self._check_answer(answer, note, checkpoint, n_hits)
        return answer.hits

    def count(self) -> int:
        """Return the number of keys, which a service may update with a delay."""
        note = self._read_note()
        return self._ask(lambda: self._service.count(note.namespace or MISSING_NAMESPACE), 2 * self._query_seconds)

    def clear(self) -> bool:
        """Delete all vectors. Return False if the service still has them, or another process may be writing."""
        note = self._notes.read()
        if not note.is_made and not note.dropped_namespaces:
            return True
        with self.locked(CLEARING_SECONDS) as is_locked:
            if not is_locked:
                return False
            try:
                self._notes.write(self._notes.read().drop_namespace())
                return self._delete_dropped_namespaces(self._notes.read())
            except (StoreError, IndexUnreachable):  # the note cannot be written, or another process took over
                return False

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def before_fork(self) -> None:
        """Do nothing, because the parent process continues to use the index."""

    def after_fork(self, *, in_child: bool) -> None:
        """Drop the lock in a child process, because only the parent is writing."""
        if in_child:
            self._thread_lock, self._n_locks = threading.RLock(), 0

    def _acquire_lease(self, timeout_seconds: float) -> bool:
        """Wait for the lease, and return False after the timeout. A locked ledger is treated like another writer."""
        if self._may_resume:
            self._resumes_at = None
        deadline = time.monotonic() + timeout_seconds if timeout_seconds >= 0 else float("inf")
        while not self._notes.acquire_lease():
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_LEASE_SECONDS)
        return True

    @contextmanager
    def _lock_for_writing(self) -> Iterator[IndexNote]:
        """Lock the index, create its namespace if needed, and yield its note."""
        with self.locked() as is_locked:
            if not is_locked:
                raise IndexUnreachable(
                    self.fault or "another process is writing the index, or the store is read-only; try again later"
                )
            try:
                self._notes.renew_lease()
                self._check_service()
                note = self._notes.read()
                if not note.is_made:
                    note = self._create_namespace(note)
                yield note
            except StoreError as error:
                raise IndexUnreachable(f"the position of the index cannot be saved: {error}") from error

    def _check_service(self) -> None:
        """Check with a short timeout that the service answers, once after each lease. Writes have a long timeout."""
        if not self._has_answered:
            self._ask(lambda: self._service.count(MISSING_NAMESPACE), self._query_seconds)
            self._has_answered = True

    def _send_write(self, write: Callable[[], T]) -> T:
        """Send a write, and return its result.

        Without an answer, later writes wait until this one cannot take effect any more. Otherwise an old vector might
        overwrite a newer one of the same key, which no count would reveal.
        """
        self._notes.begin_write()
        try:
            answer = self._ask(write, WRITING_SECONDS)
        except NoAnswer:
            raise
        except IndexUnusable:
            self._notes.end_write()
            raise
        self._notes.end_write()
        return answer

    def _check_count(self, note: IndexNote, n_keys: int) -> None:
        """Raise `IndexUnusable` if the service has another number of keys. Delayed counts are not checked."""
        if not self._service.sees_at_once:
            return
        n_stored = self._ask(lambda: self._service.count(note.namespace), WRITING_SECONDS)
        if n_stored != n_keys:
            raise IndexUnusable(f"the index contains {n_stored} vectors, but the ledger {n_keys}")

    def _create_namespace(self, note: IndexNote) -> IndexNote:
        """Create a namespace, and return the new note. The name is noted first, in case the creation is interrupted."""
        new_note = replace(note, namespace=note.namespace or f"{_namespace_prefix(self._name)}-{new_id()[:12]}")
        self._notes.write(new_note)
        self._delete_dropped_namespaces(new_note)
        self._ask(lambda: self._service.make(new_note.namespace, self._dimension), WRITING_SECONDS)
        final_note = replace(self._notes.read(), is_made=True)
        self._notes.write(final_note)
        return final_note

    def _delete_dropped_namespaces(self, note: IndexNote) -> bool:
        """Delete the note's dropped namespaces in the service, and return whether all were deleted."""
        remaining = list(note.dropped_namespaces)
        try:
            while remaining:
                self._ask(lambda: self._service.drop(remaining[0]), self._query_seconds)
                remaining.pop(0)
        except IndexUnusable:
            return False
        finally:
            if len(remaining) < len(note.dropped_namespaces):
                self._notes.write(replace(note, dropped_namespaces=tuple(remaining)))
        return True

    def _read_note(self) -> IndexNote:
        """Return the note, without checkpoints if the namespace is damaged."""
        note = self._notes.read()
        return replace(note, checkpoints=()) if note.namespace in self._damaged_namespaces else note

    def _last_visible_position(self, note: IndexNote) -> int:
        """Return the position up to which writes were visible in the last answer, without asking the service."""
        if self._service.sees_at_once:
            return ALWAYS_VISIBLE
        return self._answer_positions.get(note.namespace, note.visible_position)

    def _visible_position(self, note: IndexNote, *, asks_now: bool = False) -> int:
        """Return the position up to which writes are visible. If there are later writes, ask the service.

        Args:
            asks_now: Whether to ask even if the service was asked a moment ago.
        """
        last_visible_position = self._last_visible_position(note)
        may_ask = asks_now or time.monotonic() - self._polled_at > POLL_POSITION_SECONDS
        if (
            not note.checkpoints
            or note.checkpoints[-1].position <= last_visible_position
            or not may_ask
            or self._circuit_breaker.is_paused()
        ):
            return last_visible_position
        self._polled_at = time.monotonic()
        any_vector = np.eye(1, self._dimension, dtype=np.float32)[0]
        try:
            answer = self._ask(lambda: self._service.query(note.namespace, any_vector, 1), self._query_seconds)
        except IndexUnusable:
            return last_visible_position
        self._answer_positions[note.namespace] = answer.sees_up_to
        return answer.sees_up_to

    def _check_answer(self, answer: Answer, note: IndexNote, checkpoint: IndexCheckpoint, n_hits: int) -> None:
        """Check that an answer includes all writes before a checkpoint.

        Args:
            n_hits: The requested number of hits.

        Raises:
            IndexBehind: The answer lacks recent writes.
            IndexUnreachable: The index lost its content, or the answer has too few hits or keys of another index.
        """
        position = max(pending.position for pending in note.checkpoints if pending.checkpoint == checkpoint)
        if not answer.hits and not self.count():
            self._damaged_namespaces.add(note.namespace)
            raise IndexUnreachable("the index lost its contents; it is not searched until it is rebuilt")
        if answer.sees_up_to < position:
            raise IndexBehind("the answer lacks recent writes")
        if not all(_KEY.fullmatch(key) for key, _ in answer.hits):
            raise IndexUnreachable("the answer has keys of another index")
        # A checkpoint of an unfinished index has no number of keys. Then all requested hits are expected.
        n_expected = min(n_hits, checkpoint.n_keys) if checkpoint.n_keys else n_hits
        if len(answer.hits) < n_expected:
            raise IndexUnreachable(f"the index answered with {len(answer.hits)} hits instead of {n_expected}")

    def _ask(self, call: Callable[[], T], seconds: float) -> T:
        """Return the result of a request. A namespace that is missing or has other settings counts as damaged."""
        try:
            return self._circuit_breaker.call(call, seconds=seconds)
        except IndexUnreachable:
            raise
        except IndexUnusable:
            self._damaged_namespaces.add(self._notes.read().namespace)
            raise


def _iterate_batches(n_items: int, size: int) -> Iterator[slice]:
    for start in range(0, n_items, size):
        yield slice(start, start + size)


def _namespace_prefix(name: str) -> str:
    """Return a prefix for namespaces that is valid in every service."""
    return f"atlas-{re.sub(r'[^a-z0-9]+', '-', name.lower())[:40].strip('-') or 'records'}".strip("-")
