"""Limits of requests: for each sender, and for all together."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atlas.core.errors import InvalidInput
from atlas.server.problems import TooManyRequests, problem_of

MAX_SENDERS = 10_000
"""Keys or addresses that are remembered. Beyond it the least recent ones are forgotten."""

MAX_WAITING = 200
"""Requests that wait for their response at once. One more is refused."""


class RequestRate:
    """Requests of each sender in a minute, as a bucket of tokens that refills steadily."""

    def __init__(self, per_minute: int = 0, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Start with full buckets.

        Args:
            per_minute: Size of a bucket, which is filled once a minute. 0 for no limit.
        """
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, sender: str) -> float:
        """Take a token for a request, and return 0. If there is none, return the seconds until there is."""
        if not self._per_minute:
            return 0.0
        now = self._monotonic()
        with self._lock:
            n_left, at = self._buckets.pop(sender, (float(self._per_minute), now))
            n_left = min(self._per_minute, n_left + (now - at) * self._per_minute / 60)
            wait = 0.0 if n_left >= 1 else (1 - n_left) * 60 / self._per_minute
            self._buckets[sender] = (n_left if wait else n_left - 1, now)
            if len(self._buckets) > MAX_SENDERS:
                self._buckets.popitem(last=False)
            return wait


def requests_per_minute(text: str) -> int:
    """Return the limit that ATLAS_REQUESTS_PER_MINUTE names: 0, none, if it is empty.

    Raises:
        InvalidInput: It is no whole number from 0.
    """
    if text and not (text.isascii() and text.isdecimal()):
        raise InvalidInput(f"ATLAS_REQUESTS_PER_MINUTE should be a whole number like 600, or 0, but is {text!r:.100}")
    return int(text or 0)


class WaitingLimitMiddleware:
    """Refuses a request at once while too many others wait for their response, so that none waits for long."""

    def __init__(self, app: ASGIApp, max_waiting: int = MAX_WAITING, unlimited: Collection[str] = ()) -> None:
        """Wrap an application.

        Args:
            unlimited: Paths that are always answered, such as those of health checks.
        """
        self._app = app
        self._unlimited = frozenset(unlimited)
        self._max_waiting = max_waiting
        self._n_waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"] in self._unlimited:
            await self._app(scope, receive, send)
            return
        if self._n_waiting >= self._max_waiting:
            busy = TooManyRequests(f"this server works on {self._n_waiting:,} requests already, its maximum", 1.0)
            await problem_of(busy).response(busy.headers)(scope, receive, send)
            return
        is_waiting = True
        self._n_waiting += 1

        async def send_on(message: Message) -> None:
            nonlocal is_waiting
            if is_waiting:  # a response that has begun, such as a stream of changes, waits no more
                is_waiting = False
                self._n_waiting -= 1
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        finally:
            if is_waiting:
                self._n_waiting -= 1
