"""Calling somebody else's methods, sync or async: what blocks, or calls ATLAS itself, holds nobody up."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

T = TypeVar("T")

ENDING = (KeyboardInterrupt, SystemExit, asyncio.CancelledError)
"""What would stop everybody else who waits, or the event loop itself."""


async def call(method: Callable[..., Awaitable[T]], *given: Any) -> T:
    """Return what somebody else's method gives: a coroutine is awaited here, what may block gets a thread.

    Raises:
        RuntimeError: It raised what would end more than itself, such as `SystemExit`.
    """
    try:
        result: Any = method(*given) if inspect.iscoroutinefunction(method) else await _in_a_thread(method, *given)
        return cast("T", await result if inspect.isawaitable(result) else result)
    except ENDING as error:
        if _is_ours(error):
            raise
        raise _failure(error) from error


def _is_ours(error: BaseException) -> bool:
    """Whether it is whoever waits that is to stop, rather than what was called that raised it."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def _failure(error: BaseException) -> RuntimeError:
    return RuntimeError(f"it raised {error!r}")


async def _in_a_thread(method: Callable[..., Any], *given: Any) -> Any:
    """Return what a method gives in a thread of its own.

    The threads of an event loop are few. Where a method in each of them waited for something that needs one more, all
    would wait for ever.
    """

    def answer() -> Any:
        try:
            return method(*given)
        except (*ENDING, StopIteration, GeneratorExit) as error:  # which a future does not hand on as they are
            raise _failure(error) from error

    thread = ThreadPoolExecutor(1, thread_name_prefix="atlas-call")
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, contextvars.copy_context().run, answer)
    finally:
        thread.shutdown(wait=False)
