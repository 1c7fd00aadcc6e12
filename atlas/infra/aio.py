"""Sync over async: one background loop for each process, so that pooled clients outlive a single call."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from atlas.core.errors import BlockingCall
from atlas.infra.spending import operation

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_loop_pid = 0


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
    global _loop, _loop_pid
    with _lock:
        if _loop is None or _loop_pid != os.getpid():  # a forked child has the parent's loop, but not its thread
            _loop, _loop_pid = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_loop.run_forever, name="atlas-loop", daemon=True).start()
        return _loop
