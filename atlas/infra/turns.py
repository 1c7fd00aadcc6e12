"""A lock for coroutines, whichever event loop they run on."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from contextlib import suppress
from weakref import WeakValueDictionary


class Turns:
    """Lets coroutines of any event loops of a process in one after another, in the order in which they came.

    `asyncio.Lock` serves one loop alone. Waiting for a `threading.Lock` would block the loop, or hold on to a thread.
    """

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget who is in and who waits, all of whom are of the process that this one was forked from."""
        self._guard = threading.RLock()  # a waiting coroutine may be thrown away by what this very thread does
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._holder: object | None = None

    async def __aenter__(self) -> None:
        with self._guard:
            if self._holder is None:
                self._holder = self
                return
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
        try:
            await turn
        except BaseException:  # it was cancelled, or thrown away unfinished
            self._step_out(turn)
            raise

    async def __aexit__(self, *_: object) -> None:
        self._give_on()

    def _step_out(self, turn: asyncio.Future[None]) -> None:
        with self._guard:
            if self._holder is turn:  # it was given its turn just before
                self._give_on()
            elif turn in self._waiting:
                self._waiting.remove(turn)

    def _give_on(self) -> None:
        with self._guard:
            while self._waiting:
                self._holder = turn = self._waiting.popleft()
                with suppress(RuntimeError):  # its loop is closed, so that nobody waits there
                    turn.get_loop().call_soon_threadsafe(_let_in, turn)
                    return
            self._holder = None


def _let_in(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


_turns: WeakValueDictionary[int, Turns] = WeakValueDictionary()
_making = threading.Lock()


def turns_of(thing: object) -> Turns:
    """Return the lock of an object: the same for all who hold on to both the object and the lock."""
    with _making:
        return _turns.setdefault(id(thing), Turns())


def _after_fork() -> None:
    global _making
    _making = threading.Lock()
    for turns in _turns.values():
        turns.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
