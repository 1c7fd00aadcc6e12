"""Messages that a browser may send over the socket of a page, judged one by one.

Streamlit asks who somebody is when a socket opens, and a page may stay open for days. Parts of a page that run by
themselves, and downloads made on request, never pass the place where the page looks up its person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

Rights: TypeAlias = Mapping[str, Any]
"""Roles of a browser's person by the names of the stores that they may see, empty for whoever is not let in."""

_KINDS = frozenset(
    {"rerun_script", "stop_script", "app_heartbeat", "file_urls_request", "backend_operation_request"}
)  # fmt: skip
"""Kinds of messages that a page needs. Others clear everybody's caches, or change the server's own set-up."""

_REQUESTS = frozenset({"deferred_file", "dataframe_chunk"})
"""Kinds of requests to the server that a page needs. Others write files beside the server's program."""


class MessageMiddleware:
    """Passes on to the pages the messages that their browsers may send, with their rights at that moment."""

    def __init__(self, app: ASGIApp, rights: Callable[[Scope], Rights]) -> None:
        """Wrap an application.

        Args:
            rights: Returns the rights that the browser of a connection has now.
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
        """The rights with which the whole page was drawn last."""

    async def receive(self) -> Message:
        """Return the next message that the browser may send."""
        while True:
            message = await self._receive()
            if message.get("bytes") is None:
                return message
            judged = self._judged(message["bytes"])
            if judged is not None:
                return {**message, "bytes": judged}

    def _judged(self, content: bytes) -> bytes | None:
        """Return a message as it is passed on, or None for one that is not."""
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
            # The whole page looks its person up, and says so if they are let in no more.
            message.rerun_script.fragment_id = ""
            self._drawn_with = rights
        elif kind in ("file_urls_request", "backend_operation_request") and not has_kept_rights:
            return None
        passed_on: bytes = message.SerializeToString()
        return passed_on


def _is_needed(message: BackMsg) -> bool:
    return message.backend_operation_request.WhichOneof("payload") in _REQUESTS
