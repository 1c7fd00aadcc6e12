"""Timeouts of requests to a service, and the pause after a failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from atlas.storage.following_index import IndexUnreachable
from atlas.storage.vectors.remote.service import NoAnswer

T = TypeVar("T")

MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 60.0
"""Shortest and longest pause after a failure. The pause doubles with each failure, until the service answers."""


class CircuitBreaker:
    """Timeouts of the requests to one service, and a pause after each failure. Thread-safe."""

    def __init__(self, address: str) -> None:
        self.fault = ""
        """The reason why the last request failed, or empty if it succeeded or no request was sent."""

        self._address = address
        self._pause_seconds = 0.0
        self._paused_until = 0.0

    def is_paused(self) -> bool:
        """Return whether the pause after a failure is still running."""
        return time.monotonic() < self._paused_until

    def call(self, request: Callable[[], T], *, seconds: float) -> T:
        """Return the result of a request to the service.

        The timeout is for the whole request. Other timeouts do not stop a service that sends a byte now and then.

        Raises:
            NoAnswer: The request took longer.
            IndexUnreachable: The request failed, or an earlier one failed and the pause is not over.
        """
        if self.is_paused():
            raise IndexUnreachable(self.fault)
        try:
            answer = _call_with_timeout(request, seconds)
        except TimeoutError:
            raise NoAnswer(self._record_failure(f"{self._address} did not answer within {seconds:g} s")) from None
        except IndexUnreachable as error:
            raise type(error)(self._record_failure(f"{self._address} cannot be used: {error}")) from error
        self.fault, self._pause_seconds, self._paused_until = "", 0.0, 0.0
        return answer

    def _record_failure(self, fault: str) -> str:
        """Store the reason of a failure, begin a pause, and return the reason."""
        self.fault = fault
        self._pause_seconds = min(MAX_PAUSE_SECONDS, max(MIN_PAUSE_SECONDS, 2 * self._pause_seconds))
        self._paused_until = time.monotonic() + self._pause_seconds
        return fault


def _call_with_timeout(call: Callable[[], T], seconds: float) -> T:
    """Return the result of a call, or raise `TimeoutError`. A slow call continues in a daemon thread."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            answer.set_exception(error)

    try:
        threading.Thread(target=run, name="atlas-index", daemon=True).start()
    except RuntimeError as error:  # too many threads, or Python is about to end
        raise IndexUnreachable(f"no thread could be started to call the index ({error})") from error
    return answer.result(timeout=seconds)
