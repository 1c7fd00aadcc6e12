"""The door to the pages: a form that asks for a key or leads to sign-in, and a cookie by which a browser is known.

It stands before everything that Streamlit serves, so that pages, uploads and media of a session are behind it too.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from atlas.access.people import Identity
from atlas.access.provider import Provider
from atlas.core.errors import AtlasError
from atlas.infra.actor import Actor, Role
from atlas.server import forwarding
from atlas.server.access import peer
from atlas.server.sessions import COOKIE, Sessions
from atlas.server.signin import SIGN_IN, make_sign_in

ENTER, LEAVE, LINK = "/enter", "/leave", "/link/"
OPEN_PATHS = ("/_stcore/health", "/static/")
"""Beginnings of paths that say nothing of a store: what a watcher of the server asks, and the dashboard's scripts.

A page whose key was revoked needs its scripts to say so.
"""

UPLOADS = "/_stcore/upload_file"
"""Beginning of the paths that browsers send files to, which are held in memory until a page reads them."""

_FORM_BYTES = 4_096


class Entrance:
    """Lets browsers in whose people have entered, and sends all others to the form."""

    def __init__(self, app: ASGIApp, sessions: Sessions, provider: Provider | None = None) -> None:
        """Wrap an application.

        Args:
            provider: Where people may sign in, besides entering a key.
        """
        self._app = app
        self._sessions = sessions
        self._sign_in: ASGIApp | None = None
        if provider is not None:
            self._sign_in = make_sign_in(provider, self._vouched, self._refused)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope.get("path", "")
        if scope["type"] not in ("http", "websocket") or path.startswith(OPEN_PATHS):
            await self._app(scope, receive, send)
        elif scope["type"] == "http" and path == ENTER:
            await (await self._enter(Request(scope, receive)))(scope, receive, send)
        elif self._sign_in is not None and (path == SIGN_IN or path.startswith(f"{SIGN_IN}/")):
            await self._sign_in(scope, receive, send)
        elif scope["type"] == "http" and path.startswith(LINK):
            await self._follow(Request(scope, receive))(scope, receive, send)
        elif not self._is_let_in(scope):
            await self._refuse(scope, receive, send)
        elif path.startswith(UPLOADS) and not self._may_write(scope):
            await Response("A viewer uploads nothing.", 403)(scope, receive, send)
        elif path == LEAVE:
            self._sessions.end(_token(scope))
            await RedirectResponse(ENTER, 303)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _enter(self, request: Request) -> Response:
        if request.method != "POST":
            return self._form("")
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _FORM_BYTES:
                return self._form("A key is shorter than that.", 413)
        try:
            given = parse_qs(body.decode()).get("key", [""])[0].strip()
            token = self._sessions.begin(given, **_of(request.scope))
        except (AtlasError, UnicodeDecodeError) as error:
            return self._refused(request, str(error))
        return _let_in(request, token)

    def _follow(self, request: Request) -> Response:
        try:
            secret = request.url.path.removeprefix(LINK)
            return _let_in(request, self._sessions.follow(secret, **_of(request.scope)))
        except AtlasError as error:
            return self._refused(request, str(error))

    def _vouched(self, request: Request, identity: Identity, lead_to: str = "/") -> Response:
        """Let in somebody for whom a provider or a proxy vouches, or say why not."""
        try:
            return _let_in(request, self._sessions.begin_for(identity, **_of(request.scope)), lead_to)
        except AtlasError as error:
            return self._refused(request, f"{identity.name}: {error}")

    def _refused(self, request: Request, problem: str) -> Response:
        self._sessions.stores.first.audit.refuse(peer(request.scope), problem)
        return self._form(problem, 401)

    def _is_let_in(self, scope: Scope) -> bool:
        """Return whether a browser has entered, and, where a proxy said whose it is, is still that person's."""
        return self._sessions.is_let_in(_token(scope), _vouched_id(scope))

    def _may_write(self, scope: Scope) -> bool:
        return any(actor.role >= Role.WRITER for actor in self._sessions.choices(_token(scope)).values())

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "no key"})
            return
        is_page = scope["method"] == "GET" and scope["path"].count("/") == 1 and "." not in scope["path"]
        vouched = forwarding.identity(scope)
        if not is_page:
            answer: Response = Response("This needs a key; open / in a browser and enter one.", 401)
        elif vouched is not None:
            request = Request(scope, receive)
            answer = self._vouched(request, vouched, f"{request.url.path}?{request.url.query}".rstrip("?"))
        else:
            answer = RedirectResponse(ENTER, 303)
        await answer(scope, receive, send)

    def _form(self, problem: str, status: int = 200) -> Response:
        page = Path(__file__).with_name("enter.html").read_text(encoding="utf-8")
        if self._sign_in is None:
            page = re.sub(r"<!-- sign in -->.*?<!-- end -->", "", page, flags=re.DOTALL)
        return HTMLResponse(page.replace("<!-- problem -->", html.escape(problem)), status)


def _let_in(request: Request, token: str, lead_to: str = "/") -> Response:
    answer = RedirectResponse(lead_to, 303)
    answer.set_cookie(COOKIE, token, httponly=True, samesite="lax", secure=request.url.scheme == "https")
    return answer


def _of(scope: Scope) -> Mapping[str, str]:
    """Return what a session is begun with: the browser's token until now, and the person of a proxy."""
    return {"before": _token(scope), "vouched_id": _vouched_id(scope)}


def rights(sessions: Sessions, scope: Scope) -> Mapping[str, Actor]:
    """Return for whom a connection acts in each store that they may see. Empty for whoever is not let in."""
    token = _token(scope)
    return sessions.choices(token) if sessions.is_let_in(token, _vouched_id(scope)) else {}


def _vouched_id(scope: Scope) -> str:
    vouched = forwarding.identity(scope)
    return vouched.id if vouched is not None else ""


def _token(scope: Scope) -> str:
    """Return the browser's token, or nothing."""
    for name, value in scope["headers"]:
        if name == b"cookie":
            try:
                held = SimpleCookie(value.decode("latin-1")).get(COOKIE)
            except CookieError:
                held = None
            if held is not None:
                return held.value
    return ""
