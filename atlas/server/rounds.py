"""Periodic background work of a server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)


@contextmanager
def run_repeatedly(work: Callable[[], object], *, pause_seconds: float, name: str) -> Iterator[None]:
    """Call `work` repeatedly in a thread during the block.

    An exception is logged, unless the previous call raised the same one.

    Args:
        pause_seconds: Time before each call.
        name: Name of the thread.
    """
    is_stopped = threading.Event()

    def repeat_work() -> None:
        last_error = ""
        while not is_stopped.wait(pause_seconds):
            try:
                work()
                last_error = ""
            except Exception as error:  # the thread must survive any error of a round
                if repr(error) != last_error:
                    logger.exception("%s failed, and will be retried", name)
                last_error = repr(error)

    thread = threading.Thread(target=repeat_work, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_stopped.set()
        thread.join(2.0)
