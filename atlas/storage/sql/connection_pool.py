"""A connection pool with one connection per thread."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from atlas.infra import fork_safety


class Closable(Protocol):
    """A connection that can be closed."""

    def close(self) -> None:
        """Close the connection."""


C = TypeVar("C", bound=Closable)


class ConnectionPool(Generic[C]):
    """The connections of a process, one for each thread. A forked child opens new ones."""

    def __init__(
        self,
        connect: Callable[[], C],
        is_usable: Callable[[C], bool] = lambda _: True,
        *,
        is_stale: Callable[[], bool] = lambda: False,
    ) -> None:
        """Create a pool without connections.

        Args:
            connect: Opens a connection.
            is_usable: Returns whether an idle connection may be used again.
            is_stale: Returns whether the caches of idle connections may be stale.
        """
        self._connect = connect
        self._is_usable = is_usable
        self._is_stale = is_stale
        self._local = threading.local()
        self._open: dict[C, threading.Thread] = {}
        self._in_use: Counter[C] = Counter()
        self._lock = threading.Lock()
        fork_safety.register(self)

    @contextmanager
    def connection(self) -> Iterator[C]:
        """Yield this thread's connection. Nested blocks get the same connection, even after `close`."""
        with self._lock:
            if self._is_stale():
                self._close_idle()
            connection: C | None = getattr(self._local, "connection", None)
            if connection is None or not self._may_reuse(connection):
                self._close_orphans()
                connection = self._local.connection = self._connect()
                self._open[connection] = threading.current_thread()
            self._in_use[connection] += 1
        try:
            yield connection
        finally:
            with self._lock:
                self._release(connection)

    def current_connection(self) -> C | None:
        """Return the connection that this thread is using, or None if it is not inside a `connection` block."""
        connection: C | None = getattr(self._local, "connection", None)
        return connection if connection is not None and connection in self._in_use else None

    def close(self, before_reuse: Callable[[], None] = lambda: None) -> None:
        """Close idle connections now, and each connection in use when it is released. The next use opens new ones.

        Args:
            before_reuse: Function to call before a connection is used again.
        """
        with self._lock:
            self._close_idle()
            before_reuse()

    def before_fork(self) -> None:
        """Close idle connections, and block the pool until after the fork."""
        self._lock.acquire()
        self._close_idle()

    def after_fork(self, *, in_child: bool) -> None:
        """Release the pool."""
        if not in_child:
            self._lock.release()
            return
        fork_safety.keep_inherited(self._in_use)
        self._open = {}
        self._in_use = Counter()
        self._lock = threading.Lock()
        self._local = threading.local()

    def _may_reuse(self, connection: C) -> bool:
        """Return whether this thread may use its connection again. An unusable idle connection is closed."""
        if connection in self._in_use:
            return True
        if connection in self._open and not self._is_usable(connection):
            del self._open[connection]
            connection.close()
        return connection in self._open

    def _release(self, connection: C) -> None:
        """End one use of a connection, unless it belongs to the parent of this forked process."""
        if connection not in self._in_use:
            return
        self._in_use[connection] -= 1
        if not self._in_use[connection]:
            del self._in_use[connection]
            if connection not in self._open:
                connection.close()

    def _close_idle(self) -> None:
        """Close the idle connections now, and connections in use once they are released."""
        for connection in self._open:
            if connection not in self._in_use:
                connection.close()
        self._open = {}

    def _close_orphans(self) -> None:
        """Close the connections of ended threads. A dashboard runs each of its scripts in a new thread."""
        for connection in [connection for connection, owner in self._open.items() if not owner.is_alive()]:
            del self._open[connection]
            connection.close()
