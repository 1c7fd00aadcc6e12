"""Keeps parts of a page from being run again while the page changes.

Streamlit runs such a part after the change, under the name of the page that was left. The browser takes that for one
more change of page, and clears the page that it has just drawn. A part that runs each second asks for it often enough.
"""

from __future__ import annotations

from contextlib import suppress

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

MAX_BYTES = 50_000
"""Messages to the browser that are longer hold contents of a page. They neither begin nor end a run."""

MAX_SKIPPED = 30
"""Maximum of runs by the clock that are skipped in a row."""

TRIGGERS = ("trigger_value", "string_trigger_value", "json_trigger_value", "chat_input_value")
"""Values of widgets that the browser sends only once. A state is sent again with each request."""

MAX_AWAITED = 3
"""Maximum of these for a requested run of a part. Streamlit drops the request if the part is gone."""


class PageChangeMiddleware:
    """Skips or renames the requests of a page's parts that come while another page is drawn."""

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
        """Streamlit's hash of the page that was drawn last, or is being drawn."""

        self._is_running = False
        self._n_awaited = 0
        """Runs by the clock that are still skipped for a requested run that has not begun."""

        self._n_skipped = 0

    async def receive(self) -> Message:
        """Return the next message of the browser that the server should get."""
        while True:
            message = await self._receive()
            content = message.get("bytes")
            if content is None:
                return message
            passed_on = self._passed_on(content)
            if passed_on is not None:
                return {**message, "bytes": passed_on}

    async def send(self, message: Message) -> None:
        """Send a message to the browser, and note which run it begins or ends."""
        content = message.get("bytes")
        if content is not None and len(content) <= MAX_BYTES:
            with suppress(DecodeError):
                self._follow(ForwardMsg.FromString(content))
        await self._send(message)

    def _passed_on(self, content: bytes) -> bytes | None:
        """Return a message as the server should get it, or None for a run by the clock that is skipped."""
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
        elif kind == "navigation":  # names the page of an address, which the run did not know when it began
            self._page = message.navigation.page_script_hash
        elif kind == "script_finished":
            self._is_running = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN


def _has_trigger(request: ClientState) -> bool:
    """Return whether a request brings a click that no later request would bring again."""
    return any(state.WhichOneof("value") in TRIGGERS for state in request.widget_states.widgets)
