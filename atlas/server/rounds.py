"""Work that a server does every now and then, beside its answers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)


@contextmanager
def repeating(work: Callable[[], object], *, pause_seconds: float, name: str) -> Iterator[None]:
    """Do some work again and again, in a thread, as long as the block lasts.

    A round that fails is logged, and those after it that fail for the same reason are not.

    Args:
        pause_seconds: Time between two rounds, and before the first.
        name: Name of the thread.
    """
    is_over = threading.Event()

    def rounds() -> None:
        reported = ""
        while not is_over.wait(pause_seconds):
            try:
                work()
                reported = ""
            except Exception as error:  # the thread has to outlive whatever one round meets
                if repr(error) != reported:
                    logger.exception("%s failed, and is tried again", name)
                reported = repr(error)

    thread = threading.Thread(target=rounds, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(2.0)
