"""Authentication for the dashboard: a login form for keys or sign-in, and a session cookie.

It is required for everything that Streamlit serves, including uploads and media.
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
from atlas.access.stores import FOREIGN_TOKEN_PROBLEM
from atlas.core.errors import AtlasError, NotAllowed, StoreUnavailable
from atlas.infra.actor import Actor, Role
from atlas.server import forms, forwarding
from atlas.server.access import WRONG_KEYS, client_address, header
from atlas.server.problems import TooManyRequests
from atlas.server.sessions import Sessions
from atlas.server.signin import SIGN_IN, make_sign_in

ENTER, LEAVE, LINK = "/enter", "/leave", "/link/"
OPEN_PATHS = ("/_stcore/health", "/static/")
"""Prefixes of public paths: health checks, and the dashboard's scripts.

A page needs its scripts to show that its key was revoked.
"""

UPLOADS = "/_stcore/upload_file"
"""Prefix of upload paths. Uploads are kept in memory until a page reads them."""

TOKEN = "token"
"""Query parameter with the token in the URL that `atlas serve` prints."""

_FORM_BYTES = 4_096


class LoginMiddleware:
    """Middleware that forwards the requests of browsers with a session, and shows a login form to all others."""

    def __init__(self, app: ASGIApp, sessions: Sessions, provider: Provider | None = None) -> None:
        """Wrap an application.

        Args:
            provider: The OpenID Connect provider, or None.
        """
        self._app = app
        self._sessions = sessions
        self._has_tls = provider is not None and provider.has_tls
        self._sign_in: ASGIApp | None = None
        if provider is not None:
            self._sign_in = make_sign_in(provider, self._start_authenticated_session, self._refuse_sign_in)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope.get("path", "")
        if scope["type"] not in ("http", "websocket") or path.startswith(OPEN_PATHS):
            await self._app(scope, receive, send)
            return
        try:
            answer = await self._select_app(scope, receive)
        except AtlasError as error:
            answer = _outage_response(scope, error)
        await answer(scope, receive, send)

    async def _select_app(self, scope: Scope, receive: Receive) -> ASGIApp:
        """Return the application that answers a request: the pages, a form or a redirect."""
        path, is_request = scope["path"], scope["type"] == "http"
        if is_request and path == ENTER:
            return await self._log_in(Request(scope, receive))
        if self._sign_in is not None and (path == SIGN_IN or path.startswith(f"{SIGN_IN}/")):
            return self._sign_in
        if is_request and path.startswith(LINK):
            return self._open_link(Request(scope, receive))
        if is_request and path == LEAVE:
            return self._log_out(scope)
        if self._sessions.stores.token and _is_page(scope) and TOKEN in Request(scope).query_params:
            return self._open_token_url(Request(scope, receive))
        if not self._sessions.has_session(**self._credentials(scope)):
            return self._respond_unauthenticated(scope, receive)
        if path.startswith(UPLOADS) and not self._may_write(scope):
            return Response("A viewer may not upload files; ask an administrator for the role writer.", 403)
        return self._app

    async def _log_in(self, request: Request) -> Response:
        """Return the login form, or start a session for the key that was entered."""
        if request.method != "POST":
            return self._login_form(request)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _FORM_BYTES:
                return self._login_form(request, "The text is too long for a key; copy the key again.", 413)
        try:
            key = parse_qs(body.decode()).get("key", [""])[0].strip()
            token = self._sessions.begin_with_secret(key, **self._credentials(request.scope))
        except (NotAllowed, UnicodeDecodeError) as error:
            return self._refuse(request, str(error), error)
        return self._redirect_with_session(request, token)

    def _open_token_url(self, request: Request) -> Response:
        """Start a session for a URL that contains the token, and redirect to the URL without the token."""
        if not self._sessions.stores.is_token(secret := request.query_params[TOKEN]):
            return self._refuse(request, FOREIGN_TOKEN_PROBLEM)
        session = self._sessions.begin_with_secret(secret, **self._credentials(request.scope))
        url_without_token = request.url.remove_query_params(TOKEN)
        answer = self._redirect_with_session(
            request, session, f"{url_without_token.path}?{url_without_token.query}".rstrip("?")
        )
        answer.headers.update({"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"})
        return answer

    def _open_link(self, request: Request) -> Response:
        """Open a demonstration link. A user with a session has to confirm, because opening it ends the session."""
        secret, credentials = request.url.path.removeprefix(LINK), self._credentials(request.scope)
        try:
            if request.method != "POST" and (name := self._sessions.find_replaced_user(secret, **credentials)):
                return forms.guest_page(name)
            return self._redirect_with_session(request, self._sessions.begin_for_link(secret, **credentials))
        except NotAllowed as error:
            if wait := self._sessions.stores.record_refusal(client_address(request.scope), str(error), error):
                return _too_many_attempts_form(forms.ended_link_page, wait)
            return forms.ended_link_page(str(error))

    def _log_out(self, scope: Scope) -> Response:
        """End the session. If the request comes from another site, return a form in which the user has to confirm."""
        credentials = self._credentials(scope)
        is_wanted = scope["method"] == "POST" or header(scope, b"sec-fetch-site") in ("same-origin", "none")
        if not is_wanted and self._sessions.has_session(**credentials):
            return forms.logout_page()
        self._sessions.end(credentials["token"])
        return RedirectResponse(ENTER, 303)

    def _start_authenticated_session(self, request: Request, identity: Identity, location: str = "/") -> Response:
        """Start a session for a user whom a provider or proxy has authenticated.

        Returns:
            A redirect to the pages, or the login form if the user is refused.
        """
        try:
            token = self._sessions.begin_for_person(identity, **self._credentials(request.scope))
        except NotAllowed as error:
            return self._refuse_sign_in(request, f"{identity.name}: {error}", error)
        except AtlasError as error:  # the provider's callback is answered outside `__call__`
            return forms.outage_page(str(error))
        return self._redirect_with_session(request, token, location)

    def _refuse(self, request: Request, problem: str, error: Exception | None = None) -> Response:
        if wait := self._sessions.stores.record_refusal(client_address(request.scope), problem, error):
            return _too_many_attempts_form(lambda sentence: self._login_form(request, sentence), wait)
        return self._login_form(request, problem, 401)

    def _refuse_sign_in(self, request: Request, problem: str, error: Exception | None = None) -> Response:
        """Return the login form after a refused sign-in, and record the refusal.

        The refusal does not count as a wrong key, because other users may share the address.
        """
        self._sessions.stores.record_refusal(client_address(request.scope), problem, error, is_guess=False)
        return self._login_form(request, problem, 401)

    def _may_write(self, scope: Scope) -> bool:
        return any(actor.role >= Role.WRITER for actor in actors_of_connection(self._sessions, scope).values())

    def _respond_unauthenticated(self, scope: Scope, receive: Receive) -> ASGIApp:
        """Return the response to an unauthenticated request."""
        if scope["type"] == "websocket":
            return WebSocketClose(1008, "no key")
        identity = forwarding.identity(scope)
        if not _is_page(scope):
            credential = self._sessions.stores.credential_name
            # A JSON string, which Streamlit shows on pages that were open during a restart.
            return JSONResponse(
                f"This request needs {credential}; load the page in the browser again, and enter it there.", 401
            )
        if identity is None:
            return RedirectResponse(ENTER, 303)
        request = Request(scope, receive)
        return self._start_authenticated_session(
            request, identity, f"{request.url.path}?{request.url.query}".rstrip("?")
        )

    def _login_form(self, request: Request, problem: str = "", status: int = 200) -> Response:
        if self._sessions.stores.token:
            return forms.token_form(token_file_name(request.scope["server"][1]), problem, status)
        try:
            has_keys = self._sessions.stores.has_key()
        except StoreUnavailable:  # an entered key gets its own message, and sign-in needs none
            has_keys = True
        return forms.login_page(problem, status, has_sign_in=self._sign_in is not None, has_keys=has_keys)

    def _redirect_with_session(self, request: Request, token: str, location: str = "/") -> Response:
        """Return a redirect to the pages that sets the session cookie."""
        answer = RedirectResponse(location, 303)
        is_secure = self._has_tls or request.url.scheme == "https"
        answer.set_cookie(self._sessions.cookie, token, httponly=True, samesite="lax", secure=is_secure)
        return answer

    def _credentials(self, scope: Scope) -> _Credentials:
        return _read_credentials(scope, self._sessions.cookie)


class _Credentials(TypedDict):
    """The credentials that a browser has sent."""

    token: str
    """Current session token of the browser, or an empty string."""

    proxy_user_id: str
    """Id of the user authenticated by a proxy, or an empty string."""


def actors_of_connection(sessions: Sessions, scope: Scope) -> Mapping[str, Actor]:
    """Return the actors of a connection's session, keyed by store name. Empty if it has no session."""
    credentials = _read_credentials(scope, sessions.cookie)
    try:
        return sessions.actors_of(credentials["token"]) if sessions.has_session(**credentials) else {}
    except StoreUnavailable:  # the next request will report it
        return {}


def _too_many_attempts_form(form: Callable[[str], Response], seconds: float) -> Response:
    """Return a form that shows how long the address has to wait after too many wrong keys."""
    error = TooManyRequests(WRONG_KEYS, seconds)
    answer = form(f"{error}.")
    answer.status_code = 429
    answer.headers.update(error.headers)
    return answer


def _outage_response(scope: Scope, error: AtlasError) -> ASGIApp:
    if scope["type"] == "websocket":
        return WebSocketClose(1011, "not available now")
    return forms.outage_page(str(error))


def _is_page(scope: Scope) -> bool:
    is_read = scope["type"] == "http" and scope["method"] == "GET"
    return is_read and scope["path"].count("/") == 1 and "." not in scope["path"]


def _read_credentials(scope: Scope, cookie: str) -> _Credentials:
    """Return the credentials of a request's browser."""
    identity = forwarding.identity(scope)
    return {"token": _session_token(scope, cookie), "proxy_user_id": identity.id if identity is not None else ""}


def _session_token(scope: Scope, cookie: str) -> str:
    """Return the session token, or an empty string."""
    for name, value in scope["headers"]:
        if name == b"cookie":
            try:
                morsel = SimpleCookie(value.decode("latin-1")).get(cookie)
            except CookieError:
                morsel = None
            if morsel is not None:
                return morsel.value
    return ""
