"""Prevents reruns of fragments during a page switch, and Streamlit's dialog at an unknown URL.

Streamlit would run such a fragment after the switch, with the name of the previous page. The browser treats this as
another switch, and clears the new page. Fragments that run every second make this likely.

The first page is at `/`. At an unknown URL, such as `/overview`, Streamlit draws it too, below a dialog. The message of
the dialog is dropped.
"""

from __future__ import annotations

from contextlib import suppress

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

MAX_BYTES = 50_000
"""Maximum size of messages that begin or end a run. Longer ones have page content."""

MAX_SKIPPED = 30
"""Maximum number of consecutive timed runs to skip."""

TRIGGERS = ("trigger_value", "string_trigger_value", "json_trigger_value", "chat_input_value")
"""Widget values that are only sent once, such as clicks. Other state is sent with each request."""

MAX_AWAITED = 3
"""Maximum number of skipped runs for a requested fragment run, which Streamlit drops if the fragment is gone."""


class PageChangeMiddleware:
    """Middleware that skips or renames fragment requests while another page is drawn."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or serve one socket until it closes."""
        if scope["type"] == "websocket":
            socket = _Socket(receive, send)
            receive, send = socket.receive, socket.send
        await self._app(scope, receive, send)


class _Socket:
    """The messages of one open page."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._page = ""
        """Streamlit's hash of the current page."""

        self._is_running = False
        self._n_awaited = 0
        """Remaining timed runs to skip for a requested run that has not begun."""

        self._n_skipped = 0

    async def receive(self) -> Message:
        """Return the next browser message to forward."""
        while True:
            message = await self._receive()
            content = message.get("bytes")
            if content is None:
                return message
            passed_on = self._passed_on(content)
            if passed_on is not None:
                return {**message, "bytes": passed_on}

    async def send(self, message: Message) -> None:
        """Send a message to the browser, and record the run that it begins or ends."""
        content = message.get("bytes")
        if content is not None and len(content) <= MAX_BYTES:
            with suppress(DecodeError):
                forwarded = ForwardMsg.FromString(content)
                if forwarded.WhichOneof("type") == "page_not_found":  # the first page is drawn in any case
                    return
                self._follow(forwarded)
        await self._send(message)

    def _passed_on(self, content: bytes) -> bytes | None:
        """Return the message to forward, or None to skip a timed run."""
        try:
            message = BackMsg.FromString(content)
        except DecodeError:
            return content
        if message.WhichOneof("type") != "rerun_script":
            return content
        request = message.rerun_script
        is_stale = bool(request.fragment_id and self._page and request.page_script_hash != self._page)
        is_busy = is_stale or self._is_running or self._n_awaited > 0
        if request.is_auto_rerun and is_busy and self._n_skipped < MAX_SKIPPED and not _has_trigger(request):
            self._n_skipped += 1
            self._n_awaited = max(0, self._n_awaited - 1)
            return None
        self._n_skipped = 0
        self._n_awaited = MAX_AWAITED if request.fragment_id else MAX_SKIPPED
        if not is_stale:
            return content
        request.page_script_hash = self._page
        renamed: bytes = message.SerializeToString()
        return renamed

    def _follow(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._is_running, self._n_awaited = True, 0
            if not message.metadata.run.fragment_ids:
                self._page = message.new_session.page_script_hash
        elif kind == "navigation":  # has the page of the URL, which was unknown when the run began
            self._page = message.navigation.page_script_hash
        elif kind == "script_finished":
            self._is_running = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN


def _has_trigger(request: ClientState) -> bool:
    """Return whether a request contains a click, which is not sent again."""
    return any(state.WhichOneof("value") in TRIGGERS for state in request.widget_states.widgets)
