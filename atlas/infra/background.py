"""Work in a background thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from atlas.infra import fork_safety

logger = logging.getLogger(__name__)


class Background:
    """A background task that never runs twice at once. Thread-safe. In a forked child it is not running."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        """Define a background task.

        Args:
            work: The function to run, which has to handle its own errors.
        """
        self._name = name
        self._work = work
        self._thread: threading.Thread | None = None
        self._beginning = threading.Lock()
        fork_safety.watch(self)

    @property
    def is_under_way(self) -> bool:
        """True while it is running."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self) -> None:
        """Start the work, unless it is running. If no thread can be started, only a warning is logged."""
        with self._beginning:
            if self.is_under_way:
                return
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # too many threads, or the interpreter is shutting down
                logger.warning("%s could not be started: %s", self._name, error)
                return
            self._thread = thread

    def wait(self, timeout_seconds: float | None = None) -> None:
        """Wait until it is not running."""
        with self._beginning:
            thread = self._thread
        if thread is not None:
            thread.join(timeout_seconds)

    def before_fork(self) -> None:
        """Do nothing, as the parent continues the work."""

    def after_fork(self, *, in_child: bool) -> None:
        """Forget the thread in a child, as threads are not inherited."""
        if in_child:
            self._thread, self._beginning = None, threading.Lock()
