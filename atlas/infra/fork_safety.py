"""Safety around `os.fork`: a child must not inherit locks or connections to files.

POSIX file locks belong to a process, but in a forked child SQLite assumes that it holds the parent's. A child with an
inherited connection would write without a lock, and lose data when the parent closes the file. So idle connections are
closed before each fork, and parent and child open new ones when needed.
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

from atlas.infra.directories import store_removed_error
from atlas.infra.permissions import file_mode


class ForkAware(Protocol):
    """An object that has to act when the process forks, for example because it has open files."""

    def before_fork(self) -> None:
        """Close idle resources, and start no work until the fork is done."""
        ...

    def after_fork(self, *, in_child: bool) -> None:
        """Resume work. In the child, drop all inherited resources."""
        ...


_fork_aware_objects: weakref.WeakSet[ForkAware] = weakref.WeakSet()
_prepared: list[ForkAware] = []
"""Objects that were called before the present fork, to be called after it."""

_inherited: list[object] = []
"""Objects of the parent process, which are kept alive."""

_fork_lock = threading.Lock()
"""Lock for the time of a fork, because a concurrent second fork would release the locks of the first."""


def register(resource: ForkAware) -> None:
    """Call the hooks of a resource before and after each fork. Only a weak reference to it is kept."""
    _fork_aware_objects.add(resource)


def keep_inherited(inherited: object) -> None:
    """Keep an object of the parent alive in a child, where closing it would release the parent's locks."""
    _inherited.append(inherited)


def _before_fork() -> None:
    """Call the hooks before a fork, and exclude other forks until it is over."""
    _fork_lock.acquire()
    for resource in list(_fork_aware_objects):
        resource.before_fork()
        _prepared.append(resource)


def _after_fork(*, in_child: bool) -> None:
    try:
        while _prepared:
            _prepared.pop().after_fork(in_child=in_child)
    finally:
        _fork_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(in_child=False),
        after_in_child=lambda: _after_fork(in_child=True),
    )


def _file_lock(path: Path) -> BaseFileLock:
    """Return the lock of a file, which gets the permissions of its directory's files."""
    return FileLock(path, mode=file_mode(path.parent) if path.parent.is_dir() else 0o600)


class InterProcessLock:
    """A lock between processes and threads, re-entrant per thread. A forked child gets a new lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pid = os.getpid()
        self._lock = _file_lock(path)

    @contextmanager
    def locked(self, timeout_seconds: float = -1) -> Iterator[bool]:
        """Hold the lock during the block and yield True, or yield False after the timeout.

        Raises:
            StoreUnavailable: The lock file's directory was removed. The directory is not created again.
        """
        if not self._path.parent.is_dir():
            raise store_removed_error(self._path.parent, self._path)
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
