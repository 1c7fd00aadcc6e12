"""A connection between the browser and a dashboard that delivers what the dashboard sends some time later."""

from __future__ import annotations

import queue
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

CHUNK_BYTES = 65536


class Connection(socketserver.ThreadingTCPServer):
    """A port of this machine whose answers are late."""

    daemon_threads = True
    delay_seconds = 0.0

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Relay)
        self.upstream = ("127.0.0.1", port)


class _Relay(socketserver.BaseRequestHandler):
    """Passes on what the browser sends at once, and what the dashboard sends later."""

    server: Connection

    def handle(self) -> None:
        chunks: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        with socket.create_connection(self.server.upstream) as dashboard:
            threads = [
                threading.Thread(target=_pass_on, args=(self.request, dashboard), daemon=True),
                threading.Thread(target=_deliver, args=(chunks, self.request), daemon=True),
            ]
            for thread in threads:
                thread.start()
            while chunk := _read(dashboard):
                chunks.put((time.monotonic() + self.server.delay_seconds, chunk))
            chunks.put((time.monotonic(), b""))
            for thread in threads:
                thread.join()


@contextmanager
def late(address: str) -> Iterator[tuple[str, Connection]]:
    """Yield the address of a dashboard by way of a connection, and the connection."""
    with Connection(urlsplit(address).port or 80) as connection:
        threading.Thread(target=connection.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{connection.server_address[1]}", connection
        connection.shutdown()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    while chunk := _read(source):
        _send(target, chunk)
    _end(target)


def _deliver(chunks: queue.SimpleQueue[tuple[float, bytes]], target: socket.socket) -> None:
    """Send each chunk when it is due, until an empty one comes."""
    while (item := chunks.get())[1]:
        time.sleep(max(0.0, item[0] - time.monotonic()))
        _send(target, item[1])
    _end(target)


def _read(source: socket.socket) -> bytes:
    try:
        return source.recv(CHUNK_BYTES)
    except OSError:  # the browser closed the page
        return b""


def _send(target: socket.socket, chunk: bytes) -> None:
    try:
        target.sendall(chunk)
    except OSError:  # as above; what is read goes on being read, so that its sender is not held up
        return


def _end(target: socket.socket) -> None:
    try:
        target.shutdown(socket.SHUT_RDWR)
    except OSError:  # it is closed already
        return
