"""Timeouts of requests to a service, and the pause after a failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from typing import TypeVar

from atlas.storage.following_index import IndexUnreachable
from atlas.storage.vectors.remote.service import NoAnswer

T = TypeVar("T")

MIN_REST_SECONDS, MAX_REST_SECONDS = 1.0, 60.0
"""Shortest and longest pause after a failure. The pause doubles with each failure, until the service answers."""


class Patience:
    """Timeouts and pauses for one service. Thread-safe."""

    def __init__(self, address: str) -> None:
        self.fault = ""
        """The reason why the last request failed, empty if it succeeded, or there was none."""

        self._address = address
        self._rest_seconds = 0.0
        self._rests_until = 0.0

    def is_resting(self) -> bool:
        """Return whether the pause after a failure is not over."""
        return time.monotonic() < self._rests_until

    def ask(self, call: Callable[[], T], *, seconds: float) -> T:
        """Return the result of a call of the service.

        The timeout is for the whole call. Other timeouts do not stop a service that sends a byte now and then.

        Raises:
            NoAnswer: The call took longer.
            IndexUnreachable: The call failed, or an earlier call failed a moment ago.
        """
        if self.is_resting():
            raise IndexUnreachable(self.fault)
        try:
            answer = _call_with_timeout(seconds, call)
        except Late:
            raise NoAnswer(self._record_failure(f"{self._address} did not answer within {seconds:g} s")) from None
        except IndexUnreachable as error:
            raise type(error)(self._record_failure(f"{self._address} cannot be used: {error}")) from error
        self.fault, self._rest_seconds, self._rests_until = "", 0.0, 0.0
        return answer

    def _record_failure(self, fault: str) -> str:
        self.fault = fault
        self._rest_seconds = min(MAX_REST_SECONDS, max(MIN_REST_SECONDS, 2 * self._rest_seconds))
        self._rests_until = time.monotonic() + self._rest_seconds
        return fault


def _call_with_timeout(seconds: float, call: Callable[[], T]) -> T:
    """Return the result of a call. A slow call continues in a daemon thread."""
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
