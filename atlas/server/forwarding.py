"""Handling of the headers that trusted proxies set. Proxies are only trusted if they are configured."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from atlas.access.people import Identity
from atlas.access.proxy import Proxy
from atlas.server.access import client_address, header
from atlas.server.operations.requests import record_of

_IDENTITY = "atlas.identity"


class TrustedProxyMiddleware:
    """Middleware that sets scheme, client address and user from the headers of a trusted proxy."""

    def __init__(self, app: ASGIApp, proxy: Proxy) -> None:
        self._app = app
        self._proxy = proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] in ("http", "websocket"):
            scope = {**scope, _IDENTITY: None}
            if client_address(scope) in self._proxy.addresses:
                scope[_IDENTITY] = self._proxy.identity(lambda name: header(scope, name.lower().encode()))
                if header(scope, b"x-forwarded-proto") == "https":
                    scope["scheme"] = "https" if scope["type"] == "http" else "wss"
                if client := header(scope, b"x-forwarded-for").rpartition(",")[2].strip():
                    scope["client"] = (client, 0)
                    if (record := record_of(scope)) is not None:
                        record.client = client
        await self._app(scope, receive, send)


def identity(scope: Scope) -> Identity | None:
    """Return the user named in the headers of a trusted proxy, or None."""
    vouched_identity: Identity | None = scope.get(_IDENTITY)
    return vouched_identity
