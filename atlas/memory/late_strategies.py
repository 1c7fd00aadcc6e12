"""Strategies that storing an attempt had no time for: a background thread writes them."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from atlas.core.errors import AtlasError
from atlas.infra.background import Background

logger = logging.getLogger(__name__)

LATE = "it is written in the background; what cannot be is found by planning to write strategies"


class LateStrategies:
    """A queue of strategies to write, one after another. What is left when the process ends can be planned again."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], Any]] = deque()
        self._background = Background("atlas-late-strategies", self._write_all)

    def add(self, write: Callable[[], Any]) -> None:
        """Write one more strategy, soon."""
        self._waiting.append(write)
        self._background.begin()

    def wait(self, timeout_seconds: float | None = None) -> None:
        """Wait until all are written."""
        self._background.wait(timeout_seconds)

    def drop(self) -> None:
        """Forget those that are not under way."""
        self._waiting.clear()

    def _write_all(self) -> None:
        while self._waiting:
            try:
                self._waiting.popleft()()
            except AtlasError as error:
                logger.warning("a strategy was not written in the background: %s", error)
            except IndexError:  # dropped meanwhile
                return
