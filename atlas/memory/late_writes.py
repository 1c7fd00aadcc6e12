"""Strategies and summaries that storing an attempt had no time for: a background thread writes them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from atlas.infra.background import Background

logger = logging.getLogger(__name__)

LATE_STRATEGY = "it is written in the background; what cannot be is found by planning to write strategies"
LATE_SUMMARY = "it is found by its task, until it is summed up in the background"


class LateWrites:
    """A queue of what is left to write, in order. When the process ends, the rest is left as it is."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, Callable[[], Any]]] = deque()
        self._background = Background("atlas-late-writes", self._write_all)

    def add(self, what: str, write: Callable[[], Any]) -> None:
        """Have something written, soon.

        Args:
            what: Its name in the log if it cannot be written, such as `a strategy`.
            write: Writes it.
        """
        self._waiting.append((what, write))
        self._background.begin()

    def wait(self, timeout_seconds: float | None = None) -> None:
        """Wait until all are written."""
        self._background.wait(timeout_seconds)

    def drop(self) -> None:
        """Forget the writes that are not under way."""
        self._waiting.clear()

    def _write_all(self) -> None:
        while self._waiting:
            try:
                what, write = self._waiting.popleft()
            except IndexError:  # dropped meanwhile
                return
            try:
                write()
            except Exception as error:  # noqa: BLE001 - somebody else's extractor or abstractor, and others wait
                logger.warning("%s was not written in the background: %s", what, error)
