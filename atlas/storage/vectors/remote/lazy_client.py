"""A client of a service that is created on demand, and again in a forked process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from atlas.infra import fork_safety

C = TypeVar("C")


class LazyClient(Generic[C]):
    """A client of a service, created on demand. Thread-safe."""

    def __init__(self, connect: Callable[[], C], disconnect: Callable[[C], None]) -> None:
        self._connect = connect
        self._disconnect = disconnect
        self._connect_lock = threading.Lock()
        """Locked while the client is created, which may take as long as a timeout. Closing does not take this lock."""

        self._lock = threading.Lock()
        self._client: C | None = None
        fork_safety.register(self)

    @property
    def is_open(self) -> bool:
        """True once the client has been created."""
        return self._client is not None

    def get(self) -> C:
        """Return the client, creating it if needed."""
        with self._connect_lock:
            with self._lock:
                client = self._client
            if client is None:
                client = self._connect()
                with self._lock:
                    self._client = client
            return client

    def close(self) -> None:
        """Close the client. The next use opens a new one."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            self._disconnect(client)

    def before_fork(self) -> None:
        """Do nothing, because the parent process continues to use the client."""

    def after_fork(self, *, in_child: bool) -> None:
        """Drop the client in a child process, because the parent uses its sockets."""
        if in_child:
            fork_safety.keep_inherited(self._client)
            self._client = None
            self._lock = threading.Lock()
            self._connect_lock = threading.Lock()
