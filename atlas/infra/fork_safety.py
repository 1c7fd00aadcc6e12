"""Safety around `os.fork`: a child may not inherit locks or connections to files.

SQLite keeps its file locks for each process, and in a forked child believes that it holds the parent's: a child that
uses a connection of its own beside an inherited one writes without any lock, and what it writes is lost when the parent
closes the file. So idle connections are closed before each fork, and parent and child open new ones when needed.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from filelock import BaseFileLock, FileLock, Timeout

from atlas.infra.directories import store_removed
from atlas.infra.permissions import file_mode


class ForkAware(Protocol):
    """A holder of connections to files."""

    def before_fork(self) -> None:
        """Close unused resources, and start no work until the fork is over."""
        ...

    def after_fork(self, *, in_child: bool) -> None:
        """Continue, in the child without anything that was in use."""
        ...


_watched: weakref.WeakSet[ForkAware] = weakref.WeakSet()
_waiting: list[ForkAware] = []
_inherited: list[object] = []
_forking = threading.Lock()
"""Acquired while a thread forks, since a second fork at that time would release the first one's locks."""


def watch(resource: ForkAware) -> None:
    """Register a resource to be notified of forks, as long as it lives."""
    _watched.add(resource)


def abandon(inherited: object) -> None:
    """Keep an object that a child inherited in use from being closed there: that would release the parent's locks."""
    _inherited.append(inherited)


def _before() -> None:
    _forking.acquire()
    for resource in list(_watched):
        resource.before_fork()
        _waiting.append(resource)


def _after(*, in_child: bool) -> None:
    try:
        while _waiting:
            _waiting.pop().after_fork(in_child=in_child)
    finally:
        _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(in_child=False),
        after_in_child=lambda: _after(in_child=True),
    )


def _file_lock(path: Path) -> BaseFileLock:
    return FileLock(path, mode=file_mode(path.parent) if path.parent.is_dir() else 0o600)


class InterProcessLock:
    """A lock between processes and threads, re-entrant in a thread. A forked child has one of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pid = os.getpid()
        self._lock = _file_lock(path)

    @contextmanager
    def locked(self, timeout_seconds: float = -1) -> Iterator[bool]:
        """Hold the lock inside the block, or yield False if others kept it for longer than the timeout.

        Raises:
            StoreUnavailable: The directory that it is in is gone. It is not made again.
        """
        if not self._path.parent.is_dir():
            raise store_removed(self._path.parent, self._path)
        if self._pid != os.getpid():
            self._pid, self._lock = os.getpid(), _file_lock(self._path)
        lock = self._lock
        try:
            lock.acquire(timeout=timeout_seconds)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()
