"""Sync over async: one background loop for each process, so that pooled clients outlive a single call."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from atlas.core.errors import BlockingCall
from atlas.infra.spending import operation

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_loop_pid = 0
_thread: threading.Thread | None = None


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, waited for from sync code. What it spends on language models is one operation's.

    Raises:
        BlockingCall: Called from inside the background loop, which would wait for itself.
    """
    loop = _background_loop()
    try:
        is_inside = asyncio.get_running_loop() is loop
    except RuntimeError:
        is_inside = False
    if is_inside:
        coroutine.close()
        raise BlockingCall("a sync method was called from ATLAS's own event loop; await its async twin (`a…`) there")
    with operation():  # the coroutine runs in a copy of this thread's context
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


def _background_loop() -> asyncio.AbstractEventLoop:
    global _loop, _loop_pid, _thread
    with _lock:
        # a forked child has the parent's loop, but not its thread
        if _loop is None or _thread is None or not _thread.is_alive() or _loop_pid != os.getpid():
            _loop, _loop_pid = asyncio.new_event_loop(), os.getpid()
            _thread = threading.Thread(target=_serve, args=(_loop,), name="atlas-loop", daemon=True)
            _thread.start()
        return _loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop on, whatever one of its tasks does: what a task raised is its caller's."""
    while not loop.is_closed():
        with suppress(KeyboardInterrupt, SystemExit):
            loop.run_forever()
