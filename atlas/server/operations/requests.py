"""Records of requests with id, sender, status and latency."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atlas.infra.actor import Actor

PAGES: Final = "pages"
"""Route of all requests for the dashboard and its files."""

_KEY = "atlas.request"
_LINK = re.compile("^(/link/).+", re.DOTALL)
"""Path of a demonstration link. Its secret follows."""

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")

request_id: ContextVar[str] = ContextVar("atlas_request_id", default="")
"""Id of the current request, or an empty string."""


@dataclass(slots=True)
class RequestRecord:
    """Facts about a request, filled in while it is answered. Query and body are omitted to protect memories."""

    id: str
    """The header `X-Request-ID`, or a random id."""

    method: str
    path: str
    client: str
    """Client address, from a trusted proxy if there is one, or empty if unknown."""

    traceparent: str = ""
    """The W3C trace context of the sender, or an empty string."""

    route: str = PAGES
    """Path with parameter names instead of ids, such as `/api/v1/{memory}/{record_id}`."""

    actor: Actor | None = None
    """The authenticated actor, or None for the dashboard and for rejected requests."""

    status: int = 0
    """HTTP status. 0 if the connection was closed before the response."""

    started_at: float = field(default_factory=time.time)
    """Start time, in seconds since 1970."""

    seconds: float = 0.0
    """Time until the response started."""

    @property
    def role(self) -> str:
        """The role of the sender, or an empty string."""
        return self.actor.role.name.lower() if self.actor else ""


Observer = Callable[[RequestRecord], None]
"""Callback after each request. It must not block."""


class RequestMiddleware:
    """Middleware that records each request, sends its id in the response, and notifies observers."""

    def __init__(self, app: ASGIApp, observers: Sequence[Observer] = ()) -> None:
        self._app = app
        self._observers = tuple(observers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = _new_record(scope)
        start = time.perf_counter()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status, record.seconds = message["status"], time.perf_counter() - start
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", record.id.encode())]}
            await send(message)

        token = request_id.set(record.id)
        try:
            await self._app({**scope, _KEY: record}, receive, send_with_id)
        finally:
            request_id.reset(token)
            for observe in self._observers:
                observe(record)


def record_of(scope: Scope) -> RequestRecord | None:
    """Return the record of a request, or None without `RequestMiddleware`."""
    record: RequestRecord | None = scope.get(_KEY)
    return record


def _new_record(scope: Scope) -> RequestRecord:
    headers = dict(scope["headers"])
    own_id = headers.get(b"x-request-id", b"")
    client = scope.get("client")
    return RequestRecord(
        id=own_id.decode() if _ID.fullmatch(own_id) else uuid4().hex[:16],
        method=scope["method"],
        path=_LINK.sub(r"\1…", scope["path"]),
        client=str(client[0]) if client else "",
        traceparent=headers.get(b"traceparent", b"").decode("latin-1"),
    )
