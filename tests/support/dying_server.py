"""A server in a process of its own, which kills itself in the middle of its first answer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SERVER = """
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [{"message": {"content": "{')
        self.wfile.flush()
        os._exit(9)

    def log_message(self, *_):
        pass

with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
"""


@contextmanager
def dying_server() -> Iterator[str]:
    """Yield the server's address. Its process has to have ended by then, as if it was killed."""
    command = [sys.executable, "-S", "-c", SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
            assert process.wait(10) == 9, "the server was never asked"
        finally:
            process.kill()
