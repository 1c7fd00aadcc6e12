"""Updates of an index from the ledger: by writers, when the store closes, and in the background of queries."""

from __future__ import annotations

import logging
import time

from atlas.core.errors import AtlasError
from atlas.infra.background import BackgroundTask
from atlas.storage.following_index import FollowingIndex, IndexCheckpoint, IndexUnusable
from atlas.storage.vectors.following import Follower
from atlas.storage.vectors.vector_count import VectorCount

logger = logging.getLogger(__name__)

LOOK_SECONDS = 60.0
"""Time after which a query checks again whether an index is too far behind to be used."""

OUTAGE_MESSAGE = "The service with the index does not answer, so searches compare every vector: slower, and complete."


class IndexUpdater:
    """Updates one collection's index from the ledger: on writes, on close, and in the background of queries."""

    def __init__(
        self,
        collection: str,
        index: FollowingIndex | None,
        follower: Follower,
        count: VectorCount,
        exact_max_rows: int,
    ) -> None:
        self._collection = collection
        self._index = index
        self._follower = follower
        self._count = count
        self._exact_max_rows = exact_max_rows
        self._background = BackgroundTask("atlas-index", self._catch_up_or_log)
        """Background update of a remote index, also after a failure."""

        self._next_check = float("-inf")

    def catch_up(self, timeout_seconds: float = -1) -> int:
        """Update the index from the ledger, unless another process does, and return the number of records added."""
        return self._follower.catch_up(self._index, timeout_seconds) if self._index is not None else 0

    def catch_up_if_behind(self, lag_rows: int) -> None:
        """Update the index if it lags more than `lag_rows` revisions behind the ledger.

        An index in a service is updated in the background.
        """
        if self._index is None or not self.is_behind(lag_rows):
            return
        if self._index.is_remote:
            self._background.begin()
        else:
            self.catch_up(timeout_seconds=0)

    def finish(self) -> int:
        """Update the index from the ledger before the store closes, and return the number of records added.

        The method does not wait for another writer of an index in a service, because that machine may be gone.
        """
        if not self.is_behind(0):
            return 0
        self._background.wait()
        return self.catch_up(timeout_seconds=0 if self._index is not None and self._index.is_remote else -1)

    def wait(self, timeout_seconds: float | None = None) -> None:
        """Wait for the background update, at most `timeout_seconds`."""
        self._background.wait(timeout_seconds)

    def retry(self) -> None:
        """Start a background update of an index that failed, or was never built."""
        if self._index is not None and (self._index.is_retry_due or self._is_far_behind(self._index)):
            self._background.begin()

    def is_behind(self, lag_rows: int) -> bool:
        """Return whether queries need the index and it is more than `lag_rows` revisions behind."""
        if self._index is None:
            return False
        position = self._follower.position()
        if not self._count.exceeds(self._exact_max_rows, position):
            return False
        checkpoint = self._index.writer_checkpoint()
        is_invalid = bool(self._follower.checkpoint_problem(checkpoint, position))
        indexed_revision = 0 if is_invalid else checkpoint.revision
        return position.revision - indexed_revision > lag_rows

    def n_behind(self) -> int:
        """Return the number of changes that are missing in the index. 0 if queries do not need the index."""
        if self._index is None:
            return 0
        position = self._follower.position()
        if not self._count.exceeds(self._exact_max_rows, position):
            return 0
        return max(0, position.revision - self.checkpoint().revision)

    def checkpoint(self) -> IndexCheckpoint:
        """Return the index's checkpoint, or an empty checkpoint if it disagrees with the ledger."""
        return IndexCheckpoint() if self.checkpoint_problem() else self._read_checkpoint()

    def checkpoint_problem(self) -> str:
        """Return why the index is not used, such as `has no index`, or an empty string."""
        return self._follower.checkpoint_problem(self._read_checkpoint(), self._follower.position())

    def _read_checkpoint(self) -> IndexCheckpoint:
        return self._index.checkpoint() if self._index is not None else IndexCheckpoint()

    def _is_far_behind(self, index: FollowingIndex) -> bool:
        """Return whether the index is too far behind for queries, checked at most once a minute."""
        if not index.is_resumable or index.fault or time.monotonic() < self._next_check:
            return False
        self._next_check = time.monotonic() + LOOK_SECONDS
        return self.is_behind(self._exact_max_rows)

    def _catch_up_or_log(self) -> None:
        """Update the index, and log an error instead of raising it, because this runs in the background."""
        try:
            if self._index is not None:
                self._index.count()  # raises while the index is out of use, before anything is caught up
            self.catch_up(timeout_seconds=0)
        except IndexUnusable as error:
            logger.debug("the index of %s is still out of use: %s", self._collection, error)
        except AtlasError as error:  # the store was closed, or is damaged, which the next query reports
            logger.debug("the index of %s cannot be updated: %s", self._collection, error)
