"""A proxy that passes bytes on and adds nothing, as nginx does with `proxy_pass` alone."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support.browser.server import free_port


@contextmanager
def bare_proxy(port: int) -> Iterator[str]:
    """Pass on to a port of this machine whatever comes, and yield the proxy's address."""

    class Passing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("127.0.0.1", port)) as server:
                back = threading.Thread(target=_pass_on, args=(server, self.request), daemon=True)
                back.start()
                _pass_on(self.request, server)
                back.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", free_port()), Passing) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_address[1]}"
        proxy.shutdown()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):  # either side may leave
        while part := source.recv(65_536):
            sink.sendall(part)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
