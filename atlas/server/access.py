"""Middleware for all routes: checks of the host, the body size and the key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atlas.access.stores import Stores
from atlas.core.errors import AtlasError, NotAllowed
from atlas.infra.actor import Actor, acting
from atlas.server.operations.limits import RequestRate
from atlas.server.operations.requests import record_of
from atlas.server.problems import Problem, TooLarge, TooManyRequests, problem_of

MAX_BODY_BYTES = 16 * 2**20
"""Maximum size of a request body."""

WRONG_KEYS = "too many wrong keys came from your address"

PROXY_HEADERS = frozenset(
    {
        *(b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip"),
        *(b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-forwarded-port", b"x-forwarded-server"),
        *(b"x-original-forwarded-for", b"cf-connecting-ip", b"cf-ray", b"cdn-loop", b"fastly-client-ip"),
        *(b"fly-client-ip", b"x-envoy-external-address"),
    }
)
"""Headers that proxies add."""


@dataclass(frozen=True, slots=True)
class RequestAuthenticator:
    """Authenticates requests by their key, and limits their rate."""

    stores: Stores
    is_open: bool
    """True for a server without a token: until there is a key, every client has full access."""

    rate: RequestRate = field(default_factory=RequestRate)

    def authenticate(self, authorization: str) -> Actor:
        """Return the actor of a request, in the store of its key. For the server's token, this is the first store.

        Args:
            authorization: The `Authorization` header, or an empty string.

        Raises:
            NotAllowed: The key is missing, unknown, revoked or has expired.
        """
        kind, _, secret = authorization.partition(" ")
        if kind.lower() == "bearer" and secret.strip():
            if self.stores.is_token(secret.strip()):
                return self.stores.owner_actor(self.stores.first)
            store, key = self.stores.authenticate_key(secret.strip())
            return store.actor(key)
        if self.is_open and not self.stores.has_key():
            return self.stores.owner_actor(self.stores.first)
        raise NotAllowed(
            f"this request needs {self.stores.credential_name}; send it as the header `Authorization: Bearer KEY`"
        )

    def authenticate_and_limit(self, scope: Scope) -> Actor:
        """Authenticate a request, apply rate limits, and return its actor.

        Raises:
            NotAllowed: As `authenticate` does.
            TooManyRequests: The actor exceeded its rate limit, or the address has to wait after wrong keys.
        """
        address = client_address(scope)
        try:
            actor = self.authenticate(header(scope, b"authorization"))
        except NotAllowed as error:
            is_guess = bool(header(scope, b"authorization"))
            if wait := self.stores.record_refusal(address, str(error), error, is_guess=is_guess):
                raise TooManyRequests(WRONG_KEYS, wait) from error
            raise
        if wait := self.rate.take(f"{actor.store}\n{actor.name}" if actor.store else address):
            raise TooManyRequests("too many requests per minute", wait)
        if (record := record_of(scope)) is not None:
            record.actor = actor
        return actor


class ApiKeyMiddleware:
    """Middleware that requires a key, and sets the actor of each request."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: RequestAuthenticator,
        open_paths: Collection[str] = (),
        refusal: Callable[[Problem], JSONResponse] = Problem.response,
    ) -> None:
        """Wrap an application.

        Args:
            open_paths: Paths without authentication, relative to the mount point.
            refusal: Returns the response to a rejected request, in the protocol of its clients.
        """
        self._app = app
        self._authenticator = authenticator
        self._open_paths = frozenset(open_paths)
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"].removeprefix(scope.get("root_path", "")) in self._open_paths:
            await self._app(scope, receive, send)
            return
        try:
            actor = self._authenticator.authenticate_and_limit(scope)
        except AtlasError as error:
            answer = self._refusal(access_problem(error))
            answer.headers["WWW-Authenticate"] = "Bearer"
            answer.headers.update(getattr(error, "headers", {}))
            await answer(scope, receive, send)
            return
        with acting(actor):
            await self._app(scope, receive, send)


class HostMiddleware:
    """Middleware that rejects unknown hosts and cross-origin requests.

    Otherwise a page of another site could access a memory through the user's browser, by DNS rebinding or CSRF.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], public_hosts: Collection[str] = ()) -> None:
        """Wrap an application.

        Args:
            hosts: Host names of the server.
            public_hosts: Public hosts behind a proxy, each with its port unless it is the scheme's default.
        """
        self._app = app
        self._hosts = frozenset(map(host_name, hosts))
        self._public_hosts = frozenset(host.lower() for host in public_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        problem = self._find_problem(scope) if scope["type"] in ("http", "websocket") else None
        if problem is not None:
            await _send_problem(problem, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _find_problem(self, scope: Scope) -> Problem | None:
        """Return the problem of a request that is rejected, or None for a request that is accepted."""
        host, origin = header(scope, b"host"), header(scope, b"origin")
        if host_name(host) not in self._hosts:
            detail = f"this server is not {host!r:.200}; ask it by a name that it knows, or start it with --allow-host"
            return Problem(400, "Unknown host", detail)
        has_origin = any(name == b"origin" for name, _ in scope["headers"])
        if has_origin and not self._is_same_origin(origin, host):
            sender = f"a page of {origin!r:.200}" if origin else "a request with no single origin"
            detail = f"{sender} may not ask this server; if it is yours, start it with --allow-host HOST[:PORT]"
            return Problem(403, "Foreign origin", detail)
        return None

    def _is_same_origin(self, origin: str, host: str) -> bool:
        """Return whether an origin has the name and port of a host, or of a public host."""
        scheme, _, authority = origin.lower().partition("://")
        usual_port = {"http": ":80", "https": ":443"}.get(scheme)
        if usual_port is None:
            return False
        hosts = (host.lower(), *self._public_hosts)
        return authority.removesuffix(usual_port) in {host_name.removesuffix(usual_port) for host_name in hosts}


class ProxyRejectionMiddleware:
    """Middleware that rejects requests from a proxy, because they would appear to come from this machine."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] in ("http", "websocket") and any(name in PROXY_HEADERS for name, _ in scope["headers"]):
            detail = (
                "this server was started with --no-token, for its own machine alone, but a proxy passed this request "
                "on; start it without --no-token"
            )
            await _send_problem(Problem(403, "Passed on by a proxy", detail), scope, receive, send)
        else:
            await self._app(scope, receive, send)


class PathDispatcher:
    """Dispatches requests to applications by path prefix.

    Unlike a mounted route, which does not match some paths (such as those with a line break), a prefix never falls
    through to a later application.
    """

    def __init__(self, app: ASGIApp, apps_by_prefix: Mapping[str, ASGIApp]) -> None:
        """Wrap an application.

        Args:
            apps_by_prefix: Applications by path prefix, without a trailing slash.
        """
        self._app = app
        self._apps_by_prefix = apps_by_prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope.get("path", "")
        prefix = next(
            (candidate for candidate in self._apps_by_prefix if path == candidate or path.startswith(f"{candidate}/")),
            None,
        )
        if scope["type"] not in ("http", "websocket") or prefix is None:
            await self._app(scope, receive, send)
        else:
            root_path = scope.get("root_path", "")
            if (record := record_of(scope)) is not None:
                record.route = prefix
            inner_scope = {**scope, "app_root_path": root_path, "root_path": root_path + prefix}
            if path == prefix:
                # Routers redirect otherwise, which some clients do not follow for a POST.
                inner_scope["path"] = f"{path}/"
            await self._apps_by_prefix[prefix](inner_scope, receive, send)


class BodyLimitMiddleware:
    """Middleware that rejects large bodies, without reading them completely."""

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        declared_size = header(scope, b"content-length") if scope["type"] == "http" else ""
        if declared_size.isdigit() and int(declared_size) > self._max_bytes:
            await problem_of(TooLarge(self._max_bytes)).response()(scope, receive, send)
            return
        n_bytes = 0

        async def receive_limited() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > self._max_bytes:  # an exception that readers of the body do not catch
                raise HTTPException(413, str(TooLarge(self._max_bytes)))
            return message

        with suppress(ClientDisconnect):  # the client has disconnected
            await self._app(scope, receive_limited, send)


def access_problem(error: AtlasError) -> Problem:
    """Return the HTTP problem of a failed authentication. `NotAllowed` becomes 401, because another key may work."""
    problem = problem_of(error)
    return Problem(401, "No valid key", problem.detail) if isinstance(error, NotAllowed) else problem


async def _send_problem(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a problem as the response to a request, or close a websocket with its title."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": problem.title})
    else:
        await problem.response()(scope, receive, send)


def client_address(scope: Scope) -> str:
    """Return the client address of a request, or an empty string if it is unknown."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def header(scope: Scope, name: bytes) -> str:
    """Return the value of a header, or an empty string if it is missing or repeated.

    The value is decoded as UTF-8, which proxies use for names, and as Latin-1 if it is not valid UTF-8.
    """
    values = [value for key, value in scope["headers"] if key == name]
    if len(values) != 1:
        return ""
    try:
        return str(values[0], "utf-8")
    except UnicodeDecodeError:
        return str(values[0], "latin-1")


def host_name(host: str) -> str:
    """Return a host without its port. An IPv6 address with a port is in brackets."""
    name, _, port = host.rpartition(":")
    has_port = bool(name) and port.isdigit() and (":" not in name or name.endswith("]"))
    return (name if has_port else host).strip("[]").lower()
