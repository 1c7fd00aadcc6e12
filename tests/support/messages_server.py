"""A server on this machine that speaks the Messages API or chat completions, answering as a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Reply(NamedTuple):
    """What the server sends for one request."""

    body: Any
    """JSON, or bytes that are sent as they are."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    is_held: bool = False
    """Whether it is not sent before the test is over."""


def message(*blocks: dict[str, Any], stop_reason: str = "end_turn", **usage: int) -> Reply:
    return Reply(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-5-5",
            "content": list(blocks),
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20, **usage},
        }
    )


def completion(content: str | None, finish_reason: str = "stop", **usage: int) -> Reply:
    """Return a reply of chat completions."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}
    return Reply({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 20, **usage}})


def no_such_path() -> Reply:
    """Return the reply of llama.cpp's server at an address that it does not have."""
    return Reply({"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}, 404)


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(value: Any, name: str = "answer") -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": value}


def error(status: int, kind: str, said: str = "no", **headers: str) -> Reply:
    body = {"type": "error", "error": {"type": kind, "message": said}}
    return Reply(body, status, tuple((name.replace("_", "-"), value) for name, value in headers.items()))


class MessagesServer:
    def __init__(self, replies: list[Reply | Callable[[dict[str, Any]], Reply]]) -> None:
        """Send these in turn; a function makes its reply of the request."""
        self.replies = replies
        self.requests: list[dict[str, Any]] = []
        """The bodies that came, in order."""

        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.is_over = threading.Event()
        self.url = ""


@contextmanager
def serving(*replies: Reply | Callable[[dict[str, Any]], Reply], port: int = 0) -> Iterator[MessagesServer]:
    server = MessagesServer(list(replies))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            server.requests.append(request)
            server.paths.append(self.path)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            reply = server.replies.pop(0) if server.replies else error(418, "exhausted", "the test has no reply left")
            if callable(reply):
                reply = reply(request)
            if reply.is_held:
                server.is_over.wait()
                return
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in (
                ("content-type", "application/json"),
                ("content-length", str(len(body))),
                *reply.headers,
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        try:
            yield server
        finally:
            server.is_over.set()
            http.shutdown()
            thread.join()
