"""Deferred writes of strategies and summaries, by a background thread."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from atlas.infra.actor import bind_actor
from atlas.infra.background import BackgroundTask

logger = logging.getLogger(__name__)


class DeferredWrites:
    """A queue of writes for a background thread. Pending writes are lost when the process ends."""

    def __init__(self) -> None:
        self._pending: deque[tuple[str, Callable[[], Any]]] = deque()
        self._background = BackgroundTask("atlas-late-writes", self._write_all)

    def add(self, description: str, write: Callable[[], Any]) -> None:
        """Add a pending write.

        Args:
            description: Name of the write for the log message if it fails, such as `a strategy`.
            write: Function that performs the write.
        """
        self._pending.append((description, bind_actor(write)))
        self._background.begin()

    def wait(self, timeout_seconds: float | None = None) -> None:
        """Wait until no write is pending."""
        self._background.wait(timeout_seconds)

    def drop(self) -> None:
        """Drop the writes that have not started."""
        self._pending.clear()

    def _write_all(self) -> None:
        while self._pending:
            try:
                description, write = self._pending.popleft()
            except IndexError:  # the writes were dropped
                return
            try:
                write()
            except Exception as error:  # noqa: BLE001 - a third-party extractor or abstractor, and others wait
                logger.warning("%s was not written in the background: %s", description, error)
