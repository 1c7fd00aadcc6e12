"""Each request of a server with its id, its sender, its status and its latency."""

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
"""A link to a copy of the store. What follows is its secret."""

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")

request_id: ContextVar[str] = ContextVar("atlas_request_id", default="")
"""Id of the request that the current code runs for, or an empty string."""


@dataclass(slots=True)
class RequestRecord:
    """A request, filled in while it is answered. It has no query and no body, since those hold contents of memories."""

    id: str
    """The header `X-Request-ID`, or a random id."""

    method: str
    path: str
    client: str
    """Address of the sender, as a trusted proxy gives it. An empty string if it is unknown."""

    traceparent: str = ""
    """The W3C trace context of the sender, or an empty string."""

    route: str = PAGES
    """Path with names in place of ids, such as `/api/v1/{memory}/{record_id}`."""

    actor: Actor | None = None
    """Whoever was let in. None for the dashboard, and for refused requests."""

    status: int = 0
    """Status of the response. 0 if the connection was closed before there was one."""

    started_at: float = field(default_factory=time.time)
    """Seconds since 1970."""

    seconds: float = 0.0
    """Time until the response began."""

    @property
    def role(self) -> str:
        """The role of the sender, or an empty string."""
        return self.actor.role.name.lower() if self.actor else ""


Observer = Callable[[RequestRecord], None]
"""Function that is called after each request. It should not wait for anything."""


class RequestMiddleware:
    """Keeps a record of each request, answers with its id, and passes the record to observers."""

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
    """Return the record of a request, or None if the server keeps none."""
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
