"""Coroutines of others, run from sync code: a plugged-in strategy's, a user's vector store's, a language model's.

A coroutine runs on the loop of whoever called us through an async twin, as a client may be bound to its loop. For a
sync call it runs on a loop of ours, one for each process, so that pooled clients outlive a single call.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from atlas.core.errors import BlockingCall
from atlas.infra.spending import operation

P = ParamSpec("P")
T = TypeVar("T")

_callers: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("atlas_callers_loop", default=None)

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_loop_pid = 0


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine. What it spends on language models is one operation's.

    Raises:
        BlockingCall: Called from inside the background loop, which would wait for itself.
    """
    loop = _loop_for_this_call()
    if loop is None:
        coroutine.close()
        raise BlockingCall("a sync method was called from ATLAS's own event loop; await its async twin (`a…`) there")
    with operation():  # the coroutine runs in a copy of this thread's context
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a sync function gives, from a thread. Coroutines that it runs by `run` run on the awaiting loop."""
    token = _callers.set(asyncio.get_running_loop())
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    finally:
        _callers.reset(token)


def _loop_for_this_call() -> asyncio.AbstractEventLoop | None:
    """Return the caller's loop or ours, or None where this thread runs ours and would wait for itself."""
    running = _running_loop()
    callers = _callers.get()
    if callers is not None and callers is not running and callers.is_running():
        return callers
    ours = _background_loop()
    return None if running is ours else ours


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _background_loop() -> asyncio.AbstractEventLoop:
    global _loop, _loop_pid
    with _lock:
        if _loop is None or _loop_pid != os.getpid():  # a forked child has the parent's loop, but not its thread
            _loop, _loop_pid = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_loop.run_forever, name="atlas-loop", daemon=True).start()
        return _loop
