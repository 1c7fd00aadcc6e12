"""A lock for coroutines, whichever event loop they run on."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from weakref import WeakValueDictionary


class Turns:
    """Lets coroutines of any event loops of a process in one after another, in the order in which they came.

    `asyncio.Lock` serves one loop alone. Waiting for a `threading.Lock` would block the loop, or hold on to a thread.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[Future[None]] = deque()
        self._is_taken = False

    async def __aenter__(self) -> None:
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            turn = Future[None]()
            self._waiting.append(turn)
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            if not turn.cancel():  # it was given its turn just before
                self._give_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._give_on()

    def _give_on(self) -> None:
        with self._guard:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._is_taken = False


_turns: WeakValueDictionary[int, Turns] = WeakValueDictionary()
_making = threading.Lock()


def turns_of(thing: object) -> Turns:
    """Return the lock of an object: the same for all who hold on to both the object and the lock."""
    with _making:
        return _turns.setdefault(id(thing), Turns())
