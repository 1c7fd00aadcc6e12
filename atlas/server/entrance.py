"""The door to the pages: a form that asks for a key or leads to sign-in, and a cookie by which a browser is known.

It stands before everything that Streamlit serves, so that pages, uploads and media of a session are behind it too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import TypedDict
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from atlas.access.people import Identity
from atlas.access.provider import Provider
from atlas.access.server_token import token_file_name
from atlas.access.stores import OTHER_TOKEN
from atlas.core.errors import AtlasError, NotAllowed, StoreUnavailable
from atlas.infra.actor import Actor, Role
from atlas.server import forms, forwarding
from atlas.server.access import WRONG_KEYS, header, peer
from atlas.server.problems import TooManyRequests
from atlas.server.sessions import Sessions
from atlas.server.signin import SIGN_IN, make_sign_in

ENTER, LEAVE, LINK = "/enter", "/leave", "/link/"
OPEN_PATHS = ("/_stcore/health", "/static/")
"""Prefixes of paths that reveal nothing of a store: health checks, and the dashboard's scripts.

A page whose key was revoked needs its scripts to show that.
"""

UPLOADS = "/_stcore/upload_file"
"""Beginning of the paths that browsers send files to, which are held in memory until a page reads them."""

TOKEN = "token"
"""Name in the address that `atlas serve` prints, for the token."""

_FORM_BYTES = 4_096


class Entrance:
    """Lets browsers in whose people have entered, and sends all others to the form."""

    def __init__(self, app: ASGIApp, sessions: Sessions, provider: Provider | None = None) -> None:
        """Wrap an application.

        Args:
            provider: The provider of sign-in, if people may enter without a key.
        """
        self._app = app
        self._sessions = sessions
        self._has_tls = provider is not None and provider.has_tls
        self._sign_in: ASGIApp | None = None
        if provider is not None:
            self._sign_in = make_sign_in(provider, self._vouched, self._refused_sign_in)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope.get("path", "")
        if scope["type"] not in ("http", "websocket") or path.startswith(OPEN_PATHS):
            await self._app(scope, receive, send)
            return
        try:
            answer = await self._answer(scope, receive)
        except AtlasError as error:
            answer = _unavailable(scope, error)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> ASGIApp:
        """Return the app that answers a request: the pages, or the entrance."""
        path, is_request = scope["path"], scope["type"] == "http"
        if is_request and path == ENTER:
            return await self._enter(Request(scope, receive))
        if self._sign_in is not None and (path == SIGN_IN or path.startswith(f"{SIGN_IN}/")):
            return self._sign_in
        if is_request and path.startswith(LINK):
            return self._follow(Request(scope, receive))
        if is_request and path == LEAVE:
            return self._leave(scope)
        if self._sessions.stores.token and _is_page(scope) and TOKEN in Request(scope).query_params:
            return self._open(Request(scope, receive))
        if not self._sessions.is_let_in(**self._browser(scope)):
            return self._shown_out(scope, receive)
        if path.startswith(UPLOADS) and not self._may_write(scope):
            return Response("A viewer uploads nothing.", 403)
        return self._app

    async def _enter(self, request: Request) -> Response:
        if request.method != "POST":
            return self._form(request)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _FORM_BYTES:
                return self._form(request, "A key is shorter than that.", 413)
        try:
            key = parse_qs(body.decode()).get("key", [""])[0].strip()
            token = self._sessions.begin(key, **self._browser(request.scope))
        except (NotAllowed, UnicodeDecodeError) as error:
            return self._refused(request, str(error), error)
        return self._with_session(request, token)

    def _open(self, request: Request) -> Response:
        """Let in a visitor whose address has the token, and redirect them to the same address without it."""
        if not self._sessions.stores.is_token(secret := request.query_params[TOKEN]):
            return self._refused(request, OTHER_TOKEN)
        session = self._sessions.begin(secret, **self._browser(request.scope))
        rest = request.url.remove_query_params(TOKEN)
        answer = self._with_session(request, session, f"{rest.path}?{rest.query}".rstrip("?"))
        answer.headers.update({"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"})
        return answer

    def _follow(self, request: Request) -> Response:
        """Open a link. Whoever is let in already is asked first: opening it ends what they came in with."""
        secret, browser = request.url.path.removeprefix(LINK), self._browser(request.scope)
        try:
            if request.method != "POST" and (name := self._sessions.ended_by(secret, **browser)):
                return forms.opening(name)
            return self._with_session(request, self._sessions.follow(secret, **browser))
        except NotAllowed as error:
            if wait := self._sessions.stores.refuse(peer(request.scope), str(error), error):
                return _waiting(forms.refused_link, wait)
            return forms.refused_link(str(error))

    def _leave(self, scope: Scope) -> Response:
        """End a session where its own browser's page wants it. A page of another server's may lead here too."""
        browser = self._browser(scope)
        is_wanted = scope["method"] == "POST" or header(scope, b"sec-fetch-site") in ("same-origin", "none")
        if not is_wanted and self._sessions.is_let_in(**browser):
            return forms.leaving()
        self._sessions.end(browser["token"])
        return RedirectResponse(ENTER, 303)

    def _vouched(self, request: Request, identity: Identity, lead_to: str = "/") -> Response:
        """Let in somebody for whom a provider or a proxy vouches, or answer with the reason for the refusal."""
        try:
            token = self._sessions.begin_for(identity, **self._browser(request.scope))
        except NotAllowed as error:
            return self._refused_sign_in(request, f"{identity.name}: {error}", error)
        except AtlasError as error:  # what a provider leads to is answered outside `__call__`
            return forms.unavailable(str(error))
        return self._with_session(request, token, lead_to)

    def _refused(self, request: Request, problem: str, error: Exception | None = None) -> Response:
        if wait := self._sessions.stores.refuse(peer(request.scope), problem, error):
            return _waiting(lambda sentence: self._form(request, sentence), wait)
        return self._form(request, problem, 401)

    def _refused_sign_in(self, request: Request, problem: str, error: Exception | None = None) -> Response:
        """Return the form for somebody whom a provider sent. They guessed no key, and may share their address."""
        self._sessions.stores.refuse(peer(request.scope), problem, error, counts=False)
        return self._form(request, problem, 401)

    def _may_write(self, scope: Scope) -> bool:
        return any(actor.role >= Role.WRITER for actor in rights(self._sessions, scope).values())

    def _shown_out(self, scope: Scope, receive: Receive) -> ASGIApp:
        """Return the response to somebody who has not entered."""
        if scope["type"] == "websocket":
            return WebSocketClose(1008, "no key")
        vouched = forwarding.identity(scope)
        if not _is_page(scope):
            wanted = self._sessions.stores.secret_name
            # A text in JSON: Streamlit shows it on a page that was open while the server was started again.
            return JSONResponse(f"This needs {wanted}; load the page in the browser again, and enter it there.", 401)
        if vouched is None:
            return RedirectResponse(ENTER, 303)
        request = Request(scope, receive)
        return self._vouched(request, vouched, f"{request.url.path}?{request.url.query}".rstrip("?"))

    def _form(self, request: Request, problem: str = "", status: int = 200) -> Response:
        if self._sessions.stores.token:
            return forms.asking_for_token(token_file_name(request.scope["server"][1]), problem, status)
        try:
            has_keys = self._sessions.stores.has_key()
        except StoreUnavailable:  # a key that is entered is told so, and whoever signs in needs none
            has_keys = True
        return forms.entering(problem, status, has_sign_in=self._sign_in is not None, has_keys=has_keys)

    def _with_session(self, request: Request, token: str, lead_to: str = "/") -> Response:
        """Return an answer that gives a browser its token, and leads it to the pages."""
        answer = RedirectResponse(lead_to, 303)
        is_secure = self._has_tls or request.url.scheme == "https"
        answer.set_cookie(self._sessions.cookie, token, httponly=True, samesite="lax", secure=is_secure)
        return answer

    def _browser(self, scope: Scope) -> _Browser:
        return _browser(scope, self._sessions.cookie)


class _Browser(TypedDict):
    """A browser, as sessions know it."""

    token: str
    """The token of its session until now, or an empty string."""

    vouched_id: str
    """Id of the person for whom a proxy vouches, or an empty string."""


def rights(sessions: Sessions, scope: Scope) -> Mapping[str, Actor]:
    """Return the actors of a connection, by the stores that they may see. Empty if there is no access."""
    browser = _browser(scope, sessions.cookie)
    try:
        return sessions.actors_of(browser["token"]) if sessions.is_let_in(**browser) else {}
    except StoreUnavailable:  # whatever asks next is told so
        return {}


def _waiting(form: Callable[[str], Response], seconds: float) -> Response:
    """Return a form for somebody who has to wait after too many wrong keys."""
    error = TooManyRequests(WRONG_KEYS, seconds)
    answer = form(f"{error}.")
    answer.status_code = 429
    answer.headers.update(error.headers)
    return answer


def _unavailable(scope: Scope, error: AtlasError) -> ASGIApp:
    if scope["type"] == "websocket":
        return WebSocketClose(1011, "not available now")
    return forms.unavailable(str(error))


def _is_page(scope: Scope) -> bool:
    is_read = scope["type"] == "http" and scope["method"] == "GET"
    return is_read and scope["path"].count("/") == 1 and "." not in scope["path"]


def _browser(scope: Scope, cookie: str) -> _Browser:
    """Return the visitor whose browser a request comes from."""
    vouched = forwarding.identity(scope)
    return {"token": _token(scope, cookie), "vouched_id": vouched.id if vouched is not None else ""}


def _token(scope: Scope, cookie: str) -> str:
    """Return the browser's token, or an empty string."""
    for name, value in scope["headers"]:
        if name == b"cookie":
            try:
                morsel = SimpleCookie(value.decode("latin-1")).get(cookie)
            except CookieError:
                morsel = None
            if morsel is not None:
                return morsel.value
    return ""
