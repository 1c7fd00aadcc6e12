"""Authorization of every message on a page's WebSocket.

Streamlit only authenticates when a socket opens, and a page may stay open for days. Fragments and deferred downloads
bypass the page's own check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

Rights: TypeAlias = Mapping[str, Any]
"""Roles of the user by store name, empty without access."""

_KINDS = frozenset(
    {"rerun_script", "stop_script", "app_heartbeat", "file_urls_request", "backend_operation_request"}
)  # fmt: skip
"""Allowed message types. Others clear all users' caches, or change the server's configuration."""

_REQUESTS = frozenset({"deferred_file", "dataframe_chunk"})
"""Allowed types of requests to the server. Others write files in the server's program directory."""


class MessageMiddleware:
    """Middleware that forwards allowed messages, with the user's current rights."""

    def __init__(self, app: ASGIApp, rights: Callable[[Scope], Rights]) -> None:
        """Wrap an application.

        Args:
            rights: Returns the current rights of a connection.
        """
        self._app = app
        self._rights = rights

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or serve one socket until it closes."""
        if scope["type"] == "websocket":
            receive = _CheckedSocket(receive, lambda: self._rights(scope)).receive
        await self._app(scope, receive, send)


class _CheckedSocket:
    """One socket's messages."""

    def __init__(self, receive: Receive, rights: Callable[[], Rights]) -> None:
        self._receive = receive
        self._rights = rights
        self._drawn_with: Rights = {}
        """The rights at the last full run of the page."""

    async def receive(self) -> Message:
        """Return the next allowed message of the browser."""
        while True:
            message = await self._receive()
            if message.get("bytes") is None:
                return message
            judged = self._judged(message["bytes"])
            if judged is not None:
                return {**message, "bytes": judged}

    def _judged(self, content: bytes) -> bytes | None:
        """Return the message to forward, or None to drop it."""
        message = BackMsg()
        try:
            message.ParseFromString(content)
        except DecodeError:
            return None
        kind = message.WhichOneof("type")
        if kind not in _KINDS or (kind == "backend_operation_request" and not _is_needed(message)):
            return None
        rights = self._rights()
        has_kept_rights = bool(rights) and rights == self._drawn_with
        if kind == "rerun_script" and not (message.rerun_script.fragment_id and has_kept_rights):
            # A full run checks the access itself, and reports if it was revoked.
            message.rerun_script.fragment_id = ""
            self._drawn_with = rights
        elif kind in ("file_urls_request", "backend_operation_request") and not has_kept_rights:
            return None
        passed_on: bytes = message.SerializeToString()
        return passed_on


def _is_needed(message: BackMsg) -> bool:
    return message.backend_operation_request.WhichOneof("payload") in _REQUESTS
