"""ATLAS for a team: the dashboard, the HTTP API and MCP, in one process on one port. `atlas serve` runs it.

The only module that knows both Streamlit and the server's doors.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import ExitStack, asynccontextmanager
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
from atlas.access.stores import Stores, named_stores
from atlas.infra.actor import Actor, Finder, Role, acting, look_up_actors
from atlas.server.access import (
    LOOPBACK,
    BodyBounded,
    Dispatched,
    Doors,
    HostChecked,
    KeyAsked,
    OwnMachineOnly,
    host_name,
)
from atlas.server.api.app import make_api
from atlas.server.entrance import ENTER, Entrance, rights
from atlas.server.forwarding import Forwarded
from atlas.server.hardening import SecurityHeadersMiddleware
from atlas.server.mcp.server import make_server
from atlas.server.problems import Problem
from atlas.server.rounds import repeating
from atlas.server.sessions import COOKIE, SESSION_SECONDS, Sessions, session_seconds
from atlas.server.spool import PAUSE_SECONDS, Spool
from pages.components.shared.memory import STORE, opened_now, warmed
from pages.frame.messages import MessagesChecked

logger = logging.getLogger(__name__)

DASHBOARD = Path(__file__).with_name("app.py")
API, MCP = "/api/v1", "/mcp"
_SWEEP_SECONDS = 60.0
"""Time after which the copy of a link that has ended is removed."""

NO_KEY = (
    "others could reach this memory, and it has no key yet, so nobody could enter. Make a key first: "
    "atlas keys add NAME --role admin. Or serve this machine alone, without a key: atlas serve"
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
    is_open: bool,
    public_hosts: Collection[str] = (),
    seconds: float = SESSION_SECONDS,
) -> st.App:
    """Return the dashboard with the API and MCP beside it.

    Args:
        hosts: Names that the server is known by. It answers to no other.
        public_hosts: Hosts that browsers know its pages by, whatever a proxy in front of it asks for.
        provider: Where people may sign in.
        proxy: Proxies that are believed.
        is_open: Whether pages, the API and MCP ask for nothing as long as there is no key.
        seconds: Time after which a browser's people have to enter again.
    """
    settings = Settings.from_environment()
    doors = Doors(stores, is_open=is_open, owner=settings.actor)
    tools = make_server(served, is_warm)
    # Its own check of hosts is for loopback alone. Ours stands before everything.
    over_http = tools.streamable_http_app(
        streamable_http_path="/", stateless_http=True, json_response=True, host="0.0.0.0"
    )
    below = {
        API: make_api(served, doors, is_warm),
        MCP: KeyAsked(BodyBounded(over_http), doors, refusal=Problem.rpc_response),
    }
    middleware = [
        Middleware(HostChecked, hosts=hosts, public_hosts=public_hosts),
        Middleware(Forwarded, proxy=proxy or Proxy()),
        Middleware(Dispatched, below=below),
    ]
    if is_open:
        middleware.insert(0, Middleware(OwnMachineOnly))
    else:
        sessions = Sessions(stores, seconds)
        look_up_actors(
            Finder(present=lambda: _page_actor(sessions), choices=lambda: _page_choices(sessions), n_stores=len(stores))
        )
        middleware.append(Middleware(Entrance, sessions=sessions, provider=provider))
        middleware.append(Middleware(MessagesChecked, rights=partial(rights, sessions)))

    middleware.insert(0, Middleware(SecurityHeadersMiddleware))

    @asynccontextmanager
    async def lifespan(server: st.App) -> AsyncIterator[None]:
        with ExitStack() as stack:
            for store in stores:
                owner = Actor(settings.actor, Role.ADMIN, store=store.directory)
                closing = partial(Spool(store.directory).close_quiet_of, partial(_served_to, owner))
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
    options = parser.parse_args()
    sys.argv[1:] = []
    try:
        provider, proxy = Provider.from_environment(), Proxy.from_environment()
        directories = named_stores(Settings.from_environment().directory.expanduser().resolve(), options.also)
        stores = Stores(directories, roles_from_environment(), owner=Settings.from_environment().actor)
        is_open = options.host in LOOPBACK and not (options.allow_host or options.ask or provider or proxy.addresses)
        can_enter = is_open or provider or proxy.user or stores.has_key()
        seconds = session_seconds(os.environ.get("ATLAS_SESSION_HOURS", ""))
    except AtlasError as error:
        sys.exit(f"atlas: {error}")
    if not can_enter:
        sys.exit(f"atlas: {NO_KEY}")
    if provider and (warning := provider.warning(proxy.addresses)):
        logger.warning("atlas: %s", warning)
    public_hosts = [*options.allow_host, *([provider.public_host] if provider and provider.public_host else [])]
    hosts = [*LOOPBACK, options.host, *_own_names(options.host), *map(host_name, public_hosts)]
    os.environ["FORWARDED_ALLOW_IPS"] = "none"  # ATLAS_PROXY alone says which proxies are believed
    app = make_app(stores, hosts, provider, proxy, is_open=is_open, public_hosts=public_hosts, seconds=seconds)
    app.run(
        config={
            "server.address": options.host,
            "server.port": options.port,
            "server.allowedHosts": hosts,
            "server.headless": True,
        }
    )


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
    return sessions.actors_of(st.context.cookies.get(COOKIE, ""))


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
