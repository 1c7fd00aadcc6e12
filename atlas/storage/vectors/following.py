"""Incremental updates of an index, or of vectors in memory, from the ledger."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from atlas.storage.engine import LedgerEngine
from atlas.storage.following_index import FollowingIndex, IndexCheckpoint, IndexUnreachable, IndexUnusable
from atlas.storage.records import ChangeId, Position, VectorChange
from atlas.storage.vectors.in_memory import InMemoryVectors

logger = logging.getLogger(__name__)

BATCH = 2_000
"""Batch size of records read from the ledger."""


class Follower:
    """Reader of a collection's changes in the ledger, which updates an index, or vectors in memory."""

    def __init__(self, ledger: LedgerEngine, collection: str) -> None:
        self._ledger = ledger
        self._collection = collection
        self._reached_checkpoint = IndexCheckpoint()
        """The last checkpoint that `_was_reached` has found in the history. It stays valid after later writes."""

    def catch_up(self, index: FollowingIndex, timeout_seconds: float) -> int:
        """Update the index from the ledger, unless another process does so, and return the number of records added."""
        with index.locked(timeout_seconds) as is_locked:
            if not is_locked:
                return 0
            try:
                return self._update(index)
            except IndexUnreachable as error:  # a later call updates it
                logger.warning("the index of %s cannot be brought up to date now: %s", self._collection, error)
                return 0
            except IndexUnusable as error:
                logger.info("building the index of %s again: %s", self._collection, error)
                index.clear()
            try:
                return self._update(index)
            except IndexUnusable as error:  # such as a full disk: queries work without the index
                logger.warning("the index of %s cannot be built: %s", self._collection, error)
                return 0

    def checkpoint_problem(self, checkpoint: IndexCheckpoint, position: Position) -> str:
        """Return why a checkpoint is invalid, such as `has no index`, or an empty string if the checkpoint is valid.

        Vectors are not counted here, because opening the index counts them.
        """
        if checkpoint.ledger_id != position.ledger_id:
            return "has no index"
        if not checkpoint.change_name:
            return "has an index of an earlier version, which may lack records"
        if not self._contains_change(_position_of(checkpoint).newest_change, position):
            return "has an index that does not match the ledger's history"
        return "" if self._was_reached(checkpoint) else "has an index at a position that the ledger never had"

    def position(self) -> Position:
        """Return the current position of the ledger."""
        return self._ledger.position(self._collection)

    def refresh(
        self, memory: InMemoryVectors, position: Position, *, start_revision: int = 0, limit: int | None = None
    ) -> None:
        """Read the ledger's changes up to a position into memory.

        Args:
            start_revision: The revision after which the vectors in memory begin.
            limit: Number of changes after which to stop, or None to read all.
        """
        is_same_start = memory.start.ledger_id == position.ledger_id and memory.start.revision == start_revision
        is_in_history = memory.last_revision == start_revision or self._contains_change(memory.newest_change, position)
        if not is_same_start or not is_in_history:
            memory.clear(Position(position.ledger_id, start_revision))
        while memory.last_revision < position.revision and (
            changes := self._ledger.vector_changes(self._collection, memory.last_revision, BATCH)
        ):
            memory.apply(changes)
            if limit is not None and len(changes) >= limit:
                break
        memory.newest_change = position.newest_change

    def _contains_change(self, change: ChangeId, position: Position) -> bool:
        """Return whether the ledger, which is at a position, contains a change. If so, it contains all earlier ones."""
        return change == position.newest_change or self._ledger.has_change(change)

    def _was_reached(self, checkpoint: IndexCheckpoint) -> bool:
        """Return whether the ledger was once in the state of a checkpoint: its revision with its newest change.

        A checkpoint that is ahead of the index's content would hide the records in between.
        """
        if checkpoint != self._reached_checkpoint:
            if not self._ledger.is_in_history(self._collection, _position_of(checkpoint)):
                return False
            self._reached_checkpoint = checkpoint
        return True

    def _valid_checkpoint(self, index: FollowingIndex) -> IndexCheckpoint:
        """Return the checkpoint of an index's last writer, or an empty one if it is invalid."""
        checkpoint = index.writer_checkpoint()
        return IndexCheckpoint() if self.checkpoint_problem(checkpoint, self.position()) else checkpoint

    def _update(self, index: FollowingIndex) -> int:
        """Write missing vectors to the index, set its checkpoint, and return the number of written records."""
        checkpoint = self._valid_checkpoint(index)
        n_written = 0
        n_vectors = None
        if checkpoint == IndexCheckpoint():
            index.clear()
        position = _position_of(checkpoint)
        while True:
            with self._ledger.reading():  # changes and totals in one snapshot of the ledger
                position, changes = self._next_changes(position)
                if not changes:
                    n_vectors = self._ledger.vectors.count(self._collection) if n_written and index.is_counted else None
                    break
            if not n_written:
                index.begin(checkpoint, self.position().revision - checkpoint.revision)
            _write_changes(index, changes)
            n_written += len(changes)
            if index.is_resumable:
                _set_checkpoint(index, position)
        if n_written:
            _set_checkpoint(index, position, n_vectors)
        return n_written

    def _next_changes(self, start: Position) -> tuple[Position, list[VectorChange]]:
        """Return the next changes after a position, and the position after them.

        Args:
            start: Without a ledger id, the changes are read from the beginning.
        """
        current = self.position()
        is_in_history = start.ledger_id == current.ledger_id and self._contains_change(start.newest_change, current)
        if start.ledger_id and not is_in_history:
            raise IndexUnusable("the ledger was restored from a copy while the index followed it")
        changes = self._ledger.vector_changes(self._collection, start.revision, BATCH)
        last_revision = changes[-1].revision if changes else start.revision
        return Position(current.ledger_id, last_revision, newest_change=current.newest_change), changes


def _position_of(checkpoint: IndexCheckpoint) -> Position:
    """Return the ledger's position at a checkpoint."""
    newest_change = ChangeId(checkpoint.change, checkpoint.change_name)
    return Position(checkpoint.ledger_id, checkpoint.revision, newest_change=newest_change)


def _set_checkpoint(index: FollowingIndex, position: Position, n_keys: int | None = None) -> None:
    """Finish a write to an index, and set its checkpoint to a position of the ledger."""
    change = position.newest_change
    index.set_checkpoint(
        position.ledger_id, position.revision, change=change.number, change_name=change.name, n_keys=n_keys
    )


def _write_changes(index: FollowingIndex, changes: Sequence[VectorChange]) -> None:
    """Write the current vectors of changed records to an index, and remove the keys of their former windows."""
    former_keys = [key for change in changes for key in _keys_of(change.seq, len(change.vectors), change.n_windows)]
    live = [change for change in changes if len(change.vectors)]
    if former_keys:
        index.remove(former_keys)
    if live:
        keys = [key for change in live for key in _keys_of(change.seq, 0, len(change.vectors))]
        index.upsert(keys, np.concatenate([change.vectors for change in live]))


def _keys_of(seq: int, first_window: int, end_window: int) -> list[str]:
    """Return the index keys of a record's windows from `first_window` up to, but excluding, `end_window`."""
    return [f"{seq}:{window}" for window in range(first_window, end_window)]


def seq_of_key(key: str) -> int:
    """Return the record number in a key of an index."""
    return int(key.partition(":")[0])
