"""Redirects URLs below a page, such as `/map/x`, to the first page.

Streamlit answers with its HTML, but the browser then requests the scripts from `/map/`, and shows an empty page. At an
unknown URL with a single part, Streamlit draws the first page itself.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class UnknownAddressMiddleware:
    """Middleware that redirects a request that would be answered with a page below another address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope["path"].removeprefix(scope.get("root_path", "")) if scope["type"] == "http" else ""
        above, _, name = path.strip("/").rpartition("/")
        if not above or "." in name:  # a page, or a file
            await self._app(scope, receive, send)
            return
        redirect, is_page = RedirectResponse("../" * path.strip("/").count("/")), False

        async def redirect_page(message: Message) -> None:
            nonlocal is_page
            if message["type"] == "http.response.start" and _is_page(message):
                is_page = True
                await redirect(scope, receive, send)
            elif not is_page:
                await send(message)

        await self._app(scope, receive, redirect_page)


def _is_page(message: Message) -> bool:
    content_type = Headers(raw=message.get("headers", ())).get("content-type", "")
    return bool(message["status"] == 200 and content_type.startswith("text/html"))
