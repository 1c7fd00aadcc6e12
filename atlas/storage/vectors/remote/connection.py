"""A connection to a service that is created on demand, and again in a forked process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from atlas.infra import fork_safety

C = TypeVar("C")


class Connection(Generic[C]):
    """A client of a service, created on demand. Thread-safe."""

    def __init__(self, connect: Callable[[], C], disconnect: Callable[[C], None]) -> None:
        self._connect = connect
        self._disconnect = disconnect
        self._connecting = threading.Lock()
        """Locked while the client is created, which may take as long as a timeout. Closing does not take this lock."""

        self._lock = threading.Lock()
        self._connection: C | None = None
        fork_safety.register(self)

    @property
    def is_open(self) -> bool:
        """True once the client has been created."""
        return self._connection is not None

    def get(self) -> C:
        """Return the client, creating it if needed."""
        with self._connecting:
            with self._lock:
                connection = self._connection
            if connection is None:
                connection = self._connect()
                with self._lock:
                    self._connection = connection
            return connection

    def close(self) -> None:
        """Close the client. The next use opens a new one."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            self._disconnect(connection)

    def before_fork(self) -> None:
        """Do nothing, because the parent process continues to use the client."""

    def after_fork(self, *, in_child: bool) -> None:
        """Drop the client in a child process, because the parent uses its sockets."""
        if in_child:
            fork_safety.keep_inherited(self._connection)
            self._connection = None
            self._lock = threading.Lock()
            self._connecting = threading.Lock()
