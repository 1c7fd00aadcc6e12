"""Running coroutines of plug-ins, vector stores and language models from sync code.

A coroutine runs on the caller's event loop if there is one, as a client may be bound to its loop. A sync call uses
ATLAS's own loop, one per process, so that connection pools outlive a single call.
"""

from __future__ import annotations

import contextvars
import inspect
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from atlas.core.errors import BlockingCall
from atlas.core.imports.lazy import LazyModule

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = LazyModule("asyncio")

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

CHECK_SECONDS = 1.0
"""Interval at which a waiting call checks whether the loop was closed."""


class _Twin:
    """A running call of an async twin: the event loop that awaits it, and the coroutine that its thread waits for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._future: Future[Any] | None = None

    def start(self, coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> Future[T]:
        """Start the coroutine that the thread waits for, unless the twin was cancelled."""
        with self._lock:
            if self._is_cancelled:
                coroutine.close()
                raise asyncio.CancelledError
            self._future = future = asyncio.run_coroutine_threadsafe(coroutine, loop)
            return future

    def cancel(self) -> None:
        """Cancel the running coroutine, and start no other, because the twin was cancelled."""
        with self._lock:
            self._is_cancelled, future = True, self._future
        if future is not None and not self.loop.is_closed():
            future.cancel()


_twin: ContextVar[_Twin | None] = ContextVar("atlas_twin", default=None)


def call(method: Callable[..., Awaitable[T]], *arguments: Any) -> T:
    """Return the result of a third-party method, which may be sync or async.

    Raises:
        BlockingCall: The method is async, and this was called from inside the background loop.
        RuntimeError: The method raised an exception that would end the process or the loop, such as `SystemExit`.
    """
    try:
        result: Any = method(*arguments)
    except _fatal_exceptions() as error:
        if _is_ctrl_c(error):
            raise
        raise RuntimeError(f"a method that ATLAS called raised {error!r}") from error
    if not inspect.isawaitable(result):
        return cast("T", result)
    try:
        answer: T = run(_contain_errors(result))
        return answer
    finally:
        if inspect.iscoroutine(result) and inspect.getcoroutinestate(result) == inspect.CORO_CREATED:
            result.close()  # never awaited; avoid the warning


def run(coroutine: Coroutine[Any, Any, T], *, is_shielded: bool = False) -> T:
    """Return the result of a coroutine.

    Args:
        is_shielded: Whether the coroutine continues if the calling async method is cancelled, as a write should.

    Raises:
        asyncio.CancelledError: The calling async method was cancelled.
        BlockingCall: Called from inside the background loop, which would wait for itself.
        RuntimeError: The caller's loop was closed before the coroutine finished.
    """
    loop = _loop_for_this_call()
    if loop is None:
        coroutine.close()
        raise BlockingCall("a sync method was called from ATLAS's own event loop; await its async twin (`a…`) instead")
    twin = None if is_shielded else _twin.get()
    future = twin.start(coroutine, loop) if twin else asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return _wait_for_result(future, loop)
    except CancelledError as error:  # the exception of `concurrent.futures` would look like a failure
        raise asyncio.CancelledError from error
    except BaseException:  # for example KeyboardInterrupt in this thread
        if not loop.is_closed():
            future.cancel()
        raise


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync function in a thread and return its result. Its calls of `run` use the caller's loop.

    If this is cancelled, the coroutine that the thread waits for is cancelled too, and so is any later one. The thread
    itself runs to its end, and a later exception is logged.

    Raises:
        RuntimeError: The function raised `StopIteration`, which no coroutine can raise.
    """
    context = contextvars.copy_context()
    twin = _Twin(asyncio.get_running_loop())
    context.run(_twin.set, twin)
    future = _worker_pool().submit(context.run, _call_function, lambda: function(*args, **kwargs))
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        twin.cancel()
        future.add_done_callback(_log_failure)
        raise


def _call_function(function: Callable[[], T]) -> T:
    """Return the result of a function. A `StopIteration` becomes a `RuntimeError`."""
    try:
        return function()
    except StopIteration as error:  # asyncio's futures reject StopIteration, so the awaiting task would hang
        raise RuntimeError(f"a method that ATLAS called raised {error!r}") from error


def _log_failure(future: Future[Any]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None and not isinstance(error, asyncio.CancelledError):
        logger.error("a call failed after it was cancelled: %s", error, exc_info=error)


def _fatal_exceptions() -> tuple[type[BaseException], ...]:
    """Return the exceptions that would end the process or the event loop, or that futures do not propagate."""
    return KeyboardInterrupt, SystemExit, asyncio.CancelledError, StopIteration, GeneratorExit


async def _contain_errors(awaitable: Awaitable[T]) -> T:
    """Return the result of an awaitable. Exceptions that would end the event loop become a `RuntimeError`.

    Raises:
        RuntimeError: The awaitable raised `SystemExit`, `CancelledError` or the like, and this task is not cancelled.
    """
    try:
        return await awaitable
    except _fatal_exceptions() as error:
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            raise
        if _is_ctrl_c(error):
            raise
        raise RuntimeError(f"a method that ATLAS called raised {error!r}") from error


def _is_ctrl_c(error: BaseException) -> bool:
    """Return whether a `KeyboardInterrupt` comes from Ctrl-C.

    Ctrl-C interrupts the main thread. In any other thread, a method has raised it.
    """
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def _is_cancelled() -> bool:
    """Return whether the current task is being cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _wait_for_result(future: Future[T], loop: asyncio.AbstractEventLoop) -> T:
    """Return the result of a future, or raise `RuntimeError` if its event loop can no longer finish it."""
    while True:
        try:
            return future.result(CHECK_SECONDS)
        except TimeoutError:
            if future.done():  # the coroutine's own
                raise
            if loop.is_closed():
                raise RuntimeError("the event loop was closed before its tasks finished") from None
            if not loop.is_running() and _is_shutting_down():
                raise RuntimeError(
                    "the event loop was stopped before its tasks finished, as the process is exiting"
                ) from None


def _is_shutting_down() -> bool:
    """Return whether the interpreter is shutting down, and so accepts no new work for threads."""
    try:
        _worker_pool().submit(int)
    except RuntimeError:
        return True
    return False


def _loop_for_this_call() -> asyncio.AbstractEventLoop | None:
    """Return the event loop to use: the awaiting twin's, or ATLAS's own. None if this thread runs the latter.

    A thread that runs another loop gets ATLAS's own, because its loop may be waiting for this call.
    """
    running_loop = _running_loop()
    twin = _twin.get()
    if running_loop is None and twin is not None and twin.loop.is_running():
        return twin.loop
    bridge_loop = _process_threads.loop()
    return None if running_loop is bridge_loop else bridge_loop


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that this thread runs, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class _Threads:
    """The threads of this process: one with an event loop, and the workers of the async twins.

    The number of workers is unlimited, because nested calls would deadlock at a limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.workers = ThreadPoolExecutor(sys.maxsize, thread_name_prefix="atlas")

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop of the background thread, and start both if needed."""
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="atlas-loop", daemon=True)
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until the process ends. Exceptions of tasks are raised in their callers."""
    while not loop.is_closed():
        with suppress(KeyboardInterrupt, SystemExit):
            loop.run_forever()


_process_threads = _Threads()


def _worker_pool() -> ThreadPoolExecutor:
    """Return the pool of threads in which async twins run their sync methods."""
    return _process_threads.workers


def _after_fork() -> None:
    global _process_threads, _twin
    _process_threads = _Threads()  # a child inherits objects, but no threads
    _twin = ContextVar("atlas_twin", default=None)  # inherited loops report that they run, but do not


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
