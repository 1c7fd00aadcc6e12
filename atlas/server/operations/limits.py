"""Rate limits per sender, and a limit on concurrent requests."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress

from anyio import create_task_group, sleep, to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atlas.core.errors import AtlasError, InvalidInput
from atlas.server.problems import TooManyRequests, problem_of

MAX_SENDERS = 10_000
"""Maximum number of tracked keys and addresses. The least recent ones are dropped."""

MAX_THREADS = 4
"""Threads that answer requests of a server without a language model.

On few cores, more threads wait for each other: with 10 clients on two cores, 4 answered 55 and 58 requests a second,
and 8 answered 44 and 46. Each also has its own connection to the store: 40 took 280 MB more. With a language model, a
thread may wait for an answer of the model, so others have to be free.
"""

MAX_THREADS_WITH_MODEL = 40
FOLLOW_SECONDS = 5.0
"""Interval of updates of the number of threads, after a language model is chosen or removed on the pages."""

MAX_CONCURRENT = 200
"""Maximum number of concurrent requests."""


class RequestRate:
    """A rate limit: one token bucket for each sender of requests."""

    def __init__(self, per_minute: int = 0, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Start with full buckets.

        Args:
            per_minute: Size of a bucket, and its refill rate per minute. 0 for no limit.
        """
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, sender: str) -> float:
        """Take a token from a sender's bucket. Return 0, or the seconds until a token is available if there is none."""
        if not self._per_minute:
            return 0.0
        now = self._monotonic()
        with self._lock:
            n_tokens, refilled_at = self._buckets.pop(sender, (float(self._per_minute), now))
            n_tokens = min(self._per_minute, n_tokens + (now - refilled_at) * self._per_minute / 60)
            wait = 0.0 if n_tokens >= 1 else (1 - n_tokens) * 60 / self._per_minute
            self._buckets[sender] = (n_tokens if wait else n_tokens - 1, now)
            if len(self._buckets) > MAX_SENDERS:
                self._buckets.popitem(last=False)
            return wait


def requests_per_minute(text: str) -> int:
    """Parse ATLAS_REQUESTS_PER_MINUTE. 0, the default, means no limit.

    Raises:
        InvalidInput: The text is not a non-negative integer.
    """
    if text and not (text.isascii() and text.isdecimal()):
        raise InvalidInput(
            f"expected a whole number such as 600, or 0, for ATLAS_REQUESTS_PER_MINUTE, got {text!r:.100}"
        )
    return int(text or 0)


@asynccontextmanager
async def limit_threads(has_model: Callable[[], bool], *, pause_seconds: float = FOLLOW_SECONDS) -> AsyncIterator[None]:
    """Limit the number of threads that answer requests during the block, which has to run in the server's event loop.

    Args:
        has_model: Returns whether a language model is configured, which may change at any time.
        pause_seconds: Interval at which `has_model` is called and the limit is updated.
    """
    limiter = to_thread.current_default_thread_limiter()

    async def update_limit() -> None:
        while True:
            await sleep(pause_seconds)
            with suppress(AtlasError):  # settings that are invalid now
                limiter.total_tokens = _n_threads(has_model)

    limiter.total_tokens = _n_threads(has_model)
    async with create_task_group() as tasks:
        tasks.start_soon(update_limit)
        yield
        tasks.cancel_scope.cancel()


def _n_threads(has_model: Callable[[], bool]) -> int:
    return MAX_THREADS_WITH_MODEL if has_model() else MAX_THREADS


class ConcurrencyLimitMiddleware:
    """Middleware that rejects requests while too many others are in progress."""

    def __init__(self, app: ASGIApp, max_concurrent: int = MAX_CONCURRENT, unlimited: Collection[str] = ()) -> None:
        """Wrap an application.

        Args:
            unlimited: Paths without a limit, such as health checks.
        """
        self._app = app
        self._unlimited = frozenset(unlimited)
        self._max_concurrent = max_concurrent
        self._n_concurrent = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"] in self._unlimited:
            await self._app(scope, receive, send)
            return
        if self._n_concurrent >= self._max_concurrent:
            message = f"this server is at its maximum of {self._n_concurrent:,} concurrent requests; retry in 1 second"
            error = TooManyRequests(message, 1.0)
            await problem_of(error).response(error.headers)(scope, receive, send)
            return
        is_counted = True
        self._n_concurrent += 1

        async def send_and_release(message: Message) -> None:
            nonlocal is_counted
            if is_counted:  # a response that has started, such as a stream of changes, no longer counts
                is_counted = False
                self._n_concurrent -= 1
            await send(message)

        try:
            await self._app(scope, receive, send_and_release)
        finally:
            if is_counted:
                self._n_concurrent -= 1
