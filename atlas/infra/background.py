"""Work in a background thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from atlas.infra import fork_safety

logger = logging.getLogger(__name__)


class Background:
    """One piece of work, which is never done twice at once. Safe for threads. A forked child begins without work."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        """Name a piece of work.

        Args:
            work: Handles its own errors.
        """
        self._name = name
        self._work = work
        self._thread: threading.Thread | None = None
        self._beginning = threading.Lock()
        fork_safety.watch(self)

    @property
    def is_under_way(self) -> bool:
        """True between its beginning and its end."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self) -> None:
        """Begin the work, unless it is under way. It is left for another time if no thread can be started."""
        with self._beginning:
            if self.is_under_way:
                return
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # too many threads, or Python is about to end
                logger.warning("%s could not be begun: %s", self._name, error)
                return
            self._thread = thread

    def wait(self, timeout_seconds: float | None = None) -> None:
        """Wait until it is not under way."""
        with self._beginning:
            thread = self._thread
        if thread is not None:
            thread.join(timeout_seconds)

    def before_fork(self) -> None:
        """Keep as it is: the parent continues the work."""

    def after_fork(self, *, in_child: bool) -> None:
        """Forget the thread in a child, which does not have it."""
        if in_child:
            self._thread, self._beginning = None, threading.Lock()
