"""ATLAS for a team: the dashboard, the HTTP API and MCP, in one process on one port. `atlas serve` runs it.

The only module that knows both Streamlit and the server's doors.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.scriptrunner import get_script_run_ctx

from atlas import AtlasError, MemorySystem, NotAllowed, Settings, StoreUnavailable
from atlas.access.links import sweep_copies
from atlas.access.provider import Provider
from atlas.access.proxy import Proxy
from atlas.access.roles import roles_from_environment
from atlas.access.server_token import LOOPBACK, forget, local_address, make_token, publishing
from atlas.access.stores import Stores, named_stores
from atlas.infra.actor import Actor, Finder, acting, look_up_actors
from atlas.server.access import (
    ApiKeyMiddleware,
    BodyLimitMiddleware,
    Doors,
    HostMiddleware,
    OwnMachineOnly,
    PathDispatcher,
    host_name,
)
from atlas.server.api.app import make_api
from atlas.server.entrance import ENTER, TOKEN, Entrance, rights
from atlas.server.forwarding import TrustedProxyMiddleware
from atlas.server.hardening import SecurityHeadersMiddleware
from atlas.server.mcp.server import make_server
from atlas.server.problems import Problem
from atlas.server.rounds import repeating
from atlas.server.sessions import COOKIE, Sessions, session_seconds
from atlas.server.spool import PAUSE_SECONDS, Spool
from pages.components.shared.memory import STORE, opened_now, warmed
from pages.frame.messages import MessageMiddleware

logger = logging.getLogger(__name__)

DASHBOARD = Path(__file__).with_name("app.py")
API, MCP = "/api/v1", "/mcp"
_SWEEP_SECONDS = 60.0
"""Time after which the copy of a link that has ended is removed."""

NO_KEY = (
    "others could reach this memory, and it has no key yet, so nobody could enter. Make a key first: "
    "atlas keys add NAME --role admin. Or serve this machine alone, with a token: atlas serve"
)
NOT_ALONE = (
    "--no-token opens a server to this machine alone, so it goes with no other --host, no --allow-host, no --ask, no "
    "sign-in and no ATLAS_PROXY; leave out one or the other"
)


def served() -> MemorySystem:
    """Return the memory that is served to whoever asks, opened."""
    return opened_now().memory


def is_warm() -> bool:
    """Return whether the embedding model of the memory that is served is ready."""
    return opened_now().warming.is_done


def make_app(
    stores: Stores,
    hosts: list[str],
    provider: Provider | None = None,
    proxy: Proxy | None = None,
    *,
    host: str,
    is_open: bool,
    sessions: Sessions,
    public_hosts: Collection[str] = (),
) -> st.App:
    """Return the dashboard with the API and MCP beside it.

    Args:
        hosts: Names that the server is known by. It answers to no other.
        public_hosts: Hosts that browsers know its pages by, whatever a proxy in front of it asks for.
        provider: Where people may sign in.
        proxy: Proxies that are believed.
        host: Address that the server listens on.
        is_open: Whether pages, the API and MCP ask for nothing as long as there is no key.
        sessions: Browsers that were let in.
    """
    doors = Doors(stores, is_open=is_open)
    tools = make_server(served, is_warm)
    # Its own check of hosts is for loopback alone. Ours stands before everything.
    over_http = tools.streamable_http_app(
        streamable_http_path="/", stateless_http=True, json_response=True, host="0.0.0.0"
    )
    below = {
        API: make_api(served, doors, is_warm),
        MCP: ApiKeyMiddleware(BodyLimitMiddleware(over_http), doors, refusal=Problem.rpc_response),
    }
    middleware = [
        Middleware(HostMiddleware, hosts=hosts, public_hosts=public_hosts),
        Middleware(TrustedProxyMiddleware, proxy=proxy or Proxy()),
        Middleware(PathDispatcher, below=below),
    ]
    if is_open:
        middleware.insert(0, Middleware(OwnMachineOnly))
    else:
        look_up_actors(
            Finder(present=lambda: _page_actor(sessions), choices=lambda: _page_choices(sessions), n_stores=len(stores))
        )
        middleware.append(Middleware(Entrance, sessions=sessions, provider=provider))
        middleware.append(Middleware(MessageMiddleware, rights=partial(rights, sessions)))

    middleware.insert(0, Middleware(SecurityHeadersMiddleware))

    @asynccontextmanager
    async def lifespan(server: st.App) -> AsyncIterator[None]:
        with ExitStack() as stack:
            stack.enter_context(_announcing(stores, host))
            for store in stores:
                closing = partial(Spool(store.directory).close_quiet_of, partial(_served_to, stores.owner_in(store)))
                stack.enter_context(repeating(closing, pause_seconds=PAUSE_SECONDS, name="atlas-traces"))
                sweeping = partial(sweep_copies, store.directory)
                stack.enter_context(repeating(sweeping, pause_seconds=_SWEEP_SECONDS, name="atlas-links"))
                stack.callback(store.audit.flush)
            async with warmed(server), tools.session_manager.run():
                yield

    return st.App(DASHBOARD, lifespan=lifespan, middleware=middleware)


def main() -> None:
    """Serve until it is stopped."""
    parser = argparse.ArgumentParser(prog="atlas serve")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--allow-host", action="append", default=[])
    parser.add_argument("--also", action="append", default=[])
    parser.add_argument("--ask", action="store_true")
    parser.add_argument("--no-token", action="store_true")
    options = parser.parse_args()
    sys.argv[1:] = []
    try:
        provider, proxy = Provider.from_environment(), Proxy.from_environment()
        directories = named_stores(Settings.from_environment().directory.expanduser().resolve(), options.also)
        is_alone = options.host in LOOPBACK and not (options.allow_host or options.ask or provider or proxy.addresses)
        token = make_token() if is_alone and not options.no_token else ""
        owner = Settings.from_environment().actor
        stores = Stores(directories, roles_from_environment(), owner=owner, token=token)
        can_enter = is_alone or provider or proxy.user or stores.has_key()
        seconds = session_seconds(os.environ.get("ATLAS_SESSION_HOURS", ""))
    except AtlasError as error:
        sys.exit(f"atlas: {error}")
    if options.no_token and not is_alone:
        sys.exit(f"atlas: {NOT_ALONE}")
    if not can_enter:
        sys.exit(f"atlas: {NO_KEY}")
    if provider and (warning := provider.warning(proxy.addresses)):
        logger.warning("atlas: %s", warning)
    public_hosts = [*options.allow_host, *([provider.public_host] if provider and provider.public_host else [])]
    hosts = [*LOOPBACK, options.host, *_own_names(options.host), *map(host_name, public_hosts)]
    os.environ["FORWARDED_ALLOW_IPS"] = "none"  # ATLAS_PROXY alone says which proxies are believed
    host = "127.0.0.1" if options.host == "localhost" else options.host
    sessions = Sessions(stores, seconds, cookie=f"{COOKIE}_{options.port}")
    app = make_app(
        stores,
        hosts,
        provider,
        proxy,
        host=host,
        is_open=options.no_token,
        sessions=sessions,
        public_hosts=public_hosts,
    )
    app.run(
        config={
            "server.address": host,
            "server.port": options.port,
            "server.allowedHosts": hosts,
            "server.headless": True,
            "logger.hideWelcomeMessage": bool(token),  # the address without the token leads to the form
        }
    )


@contextmanager
def _announcing(stores: Stores, host: str) -> Iterator[None]:
    """Write the token where this user's programs find it, and print the address with it. The port is bound by now."""
    port = int(st.get_option("server.port"))
    with ExitStack() as stack:
        if stores.token:
            try:
                stack.enter_context(publishing(stores.token, stores.first.directory, host, port))
            except OSError as error:
                logger.warning("atlas: the token cannot be written (%s); give it to programs as ATLAS_KEY", error)
            sys.stdout.write(f"\n  Open the dashboard: {local_address(host, port)}/?{TOKEN}={stores.token}\n\n")
            sys.stdout.flush()
        else:
            forget(port)
        yield


def _own_names(host: str) -> list[str]:
    """Return the names and addresses that this machine has, where it is served on all of them."""
    if host not in ("0.0.0.0", "::"):
        return []
    name = socket.gethostname()
    try:
        addresses = {str(found[4][0]) for found in socket.getaddrinfo(name, None)}
    except OSError:
        addresses = set()
    return [name, socket.getfqdn(), *sorted(addresses)]


def _served_to(actor: Actor) -> MemorySystem:
    with acting(actor):
        return served()


def _page_choices(sessions: Sessions) -> Mapping[str, Actor]:
    """Return as `_page_actors` does, and nothing where that cannot be read: `_page_actor` says so on the page."""
    try:
        return _page_actors(sessions)
    except StoreUnavailable:
        return {}


def _page_actors(sessions: Sessions) -> Mapping[str, Actor]:
    """Return whoever the page that is drawn in this thread is for, in each store that they may see."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return {}
    return sessions.actors_of(st.context.cookies.get(sessions.cookie, ""))


def _page_actor(sessions: Sessions) -> Actor | None:
    """Return whoever the page acts for that is being drawn in this thread, or None in any other thread.

    Raises:
        NotAllowed: What they entered with is refused by now, or they may not see the store that they ask for.
    """
    if get_script_run_ctx(suppress_warning=True) is None:
        return None
    choices = _page_actors(sessions)
    if not choices:
        raise NotAllowed(f"what you entered with is refused by now, or has ended; open {ENTER} to enter again")
    wanted = st.session_state.get(STORE) or next(iter(choices))
    if wanted not in choices:
        raise NotAllowed(f"you may not see a store named {wanted!r:.80} here; open / for one that you may see")
    return choices[wanted]


if __name__ == "__main__":
    main()
