"""Locks for third-party objects, one per object."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from weakref import WeakValueDictionary


class SharedLock:
    """A lock that is free in a forked child, even if the parent holds it."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Replace the lock by a free one."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


_locks: WeakValueDictionary[int, SharedLock] = WeakValueDictionary()
_creation_lock = threading.Lock()


def lock_of(owner: object) -> SharedLock:
    """Return the lock of an object. Each call returns the same lock while the object and its lock are in use."""
    with _creation_lock:
        return _locks.setdefault(id(owner), SharedLock())


def _after_fork() -> None:
    global _creation_lock
    _creation_lock = threading.Lock()
    for lock in list(_locks.values()):
        lock.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
