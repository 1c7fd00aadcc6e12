"""Incremental updates of an index, or of vectors in memory, from the ledger."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from atlas.storage.engine import LedgerEngine
from atlas.storage.following_index import FollowingIndex, IndexCheckpoint, IndexUnreachable, IndexUnusable
from atlas.storage.records import Position, Tip, VectorChange
from atlas.storage.vectors.in_memory import InMemoryVectors

logger = logging.getLogger(__name__)

BATCH = 2_000
"""Batch size of records read from the ledger."""


class Follower:
    """Reader of a collection's changes in the ledger, which updates an index, or vectors in memory."""

    def __init__(self, ledger: LedgerEngine, collection: str) -> None:
        self._ledger = ledger
        self._collection = collection
        self._possible_checkpoint = IndexCheckpoint()
        """The last checkpoint whose revision was found in the history. It stays valid after later writes."""

    def catch_up(self, index: FollowingIndex, timeout_seconds: float) -> int:
        """Update the index from the ledger, unless another process does so, and return the number of records added."""
        with index.locked(timeout_seconds) as is_locked:
            if not is_locked:
                return 0
            try:
                return self._follow(index)
            except IndexUnreachable as error:  # a later call updates it
                logger.warning("the index of %s cannot be brought up to date now: %s", self._collection, error)
                return 0
            except IndexUnusable as error:
                logger.info("building the index of %s again: %s", self._collection, error)
                index.clear()
            try:
                return self._follow(index)
            except IndexUnusable as error:  # such as a full disk: queries work without the index
                logger.warning("the index of %s cannot be built: %s", self._collection, error)
                return 0

    def checkpoint_problem(self, checkpoint: IndexCheckpoint, now: Position) -> str:
        """Return why a checkpoint is invalid, such as `has no index`, or an empty string if the checkpoint is valid.

        Vectors are not counted here, because opening the index counts them.
        """
        if checkpoint.ledger_id != now.ledger_id:
            return "has no index"
        if not checkpoint.change_name:
            return "has an index of an earlier version, which may lack records"
        if not self.has_passed(_tip_of(checkpoint), now):
            return "has an index that does not match the ledger's history"
        return "" if self._is_possible(checkpoint) else "has an index at a position that the ledger never had"

    def position(self) -> Position:
        """Return the current position of the ledger."""
        return self._ledger.position(self._collection)

    def refresh(self, memory: InMemoryVectors, now: Position, *, base: int = 0, limit: int | None = None) -> None:
        """Read the ledger's changes into memory, or the next `limit` of them.

        Args:
            base: The revision after which the vectors in memory begin.
        """
        is_same_base = memory.base.ledger_id == now.ledger_id and memory.base.revision == base
        is_in_history = memory.last_revision == base or self.has_passed(memory.tip, now)
        if not is_same_base or not is_in_history:
            memory.clear(Position(now.ledger_id, base))
        while memory.last_revision < now.revision and (
            entries := self._ledger.vector_changes(self._collection, memory.last_revision, BATCH)
        ):
            memory.apply(entries)
            if limit is not None and len(entries) >= limit:
                break
        memory.tip = now.tip

    def has_passed(self, tip: Tip, now: Position) -> bool:
        """Return whether the ledger contains a change, and therefore all changes before it."""
        if tip == now.tip:
            return True
        return self._ledger.has_change(tip)

    def _is_possible(self, checkpoint: IndexCheckpoint) -> bool:
        """Return whether a checkpoint's revision and change belong together in the ledger's history.

        A checkpoint that is ahead of the index's content would hide the records in between.
        """
        if checkpoint != self._possible_checkpoint:
            if not self._ledger.is_in_history(
                self._collection, Position(checkpoint.ledger_id, checkpoint.revision, tip=_tip_of(checkpoint))
            ):
                return False
            self._possible_checkpoint = checkpoint
        return True

    def _validate(self, checkpoint: IndexCheckpoint) -> IndexCheckpoint:
        """Return the checkpoint, or an empty checkpoint if it is invalid."""
        return IndexCheckpoint() if self.checkpoint_problem(checkpoint, self.position()) else checkpoint

    def _follow(self, index: FollowingIndex) -> int:
        """Write missing vectors to the index, set its checkpoint, and return the number of written records."""
        checkpoint = self._validate(index.writer_checkpoint())
        n_written = 0
        n_vectors = None
        if checkpoint == IndexCheckpoint():
            index.clear()
        position = Position(checkpoint.ledger_id, checkpoint.revision, tip=_tip_of(checkpoint))
        while True:
            with self._ledger.reading():  # changes and totals in one snapshot of the ledger
                position, entries = self._next_changes(position)
                if not entries:
                    n_vectors = self._ledger.vectors.count(self._collection) if n_written and index.is_counted else None
                    break
            if not n_written:
                index.begin(checkpoint, self.position().revision - checkpoint.revision)
            _apply_changes(index, entries)
            n_written += len(entries)
            if index.is_resumable:
                _set_checkpoint(index, position)
        if n_written:
            _set_checkpoint(index, position, n_vectors)
        return n_written

    def _next_changes(self, position: Position) -> tuple[Position, list[VectorChange]]:
        """Return the position after the next changes, and the changes. The initial position has no ledger id."""
        now = self.position()
        is_in_history = position.ledger_id == now.ledger_id and self.has_passed(position.tip, now)
        if position.ledger_id and not is_in_history:
            raise IndexUnusable("the ledger was restored from a copy while the index followed it")
        entries = self._ledger.vector_changes(self._collection, position.revision, BATCH)
        return Position(now.ledger_id, entries[-1].revision if entries else position.revision, tip=now.tip), entries


def _tip_of(checkpoint: IndexCheckpoint) -> Tip:
    return Tip(checkpoint.change, checkpoint.change_name)


def _set_checkpoint(index: FollowingIndex, position: Position, n_keys: int | None = None) -> None:
    index.set_checkpoint(
        position.ledger_id, position.revision, change=position.tip.number, change_name=position.tip.name, n_keys=n_keys
    )


def _apply_changes(index: FollowingIndex, entries: Sequence[VectorChange]) -> None:
    deleted_keys = [key for entry in entries for key in _keys_of(entry.seq, entry.n_windows, len(entry.vectors))]
    live = [entry for entry in entries if len(entry.vectors)]
    if deleted_keys:
        index.remove(deleted_keys)
    if live:
        keys = [key for entry in live for key in _keys_of(entry.seq, len(entry.vectors))]
        index.upsert(keys, np.concatenate([entry.vectors for entry in live]))


def _keys_of(seq: int, n_windows: int, first: int = 0) -> list[str]:
    """Return the index keys of a record's windows, beginning with the window `first`."""
    return [f"{seq}:{window}" for window in range(first, n_windows)]


def seq_of_key(key: str) -> int:
    """Return the record number in a key of an index."""
    return int(key.partition(":")[0])
