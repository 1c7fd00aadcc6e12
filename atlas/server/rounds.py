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
    is_over = threading.Event()

    def rounds() -> None:
        reported = ""
        while not is_over.wait(pause_seconds):
            try:
                work()
                reported = ""
            except Exception as error:  # the thread must survive any error of a round
                if repr(error) != reported:
                    logger.exception("%s failed, and will be retried", name)
                reported = repr(error)

    thread = threading.Thread(target=rounds, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(2.0)
