"""The server application: dashboard, HTTP API and MCP. The only module that combines Streamlit and access control."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from atlas import MemorySystem
from atlas.access.links import remove_ended_copies
from atlas.access.provider import Provider
from atlas.access.proxy import Proxy
from atlas.access.server_token import local_address, publish_token, remove_server_entry
from atlas.access.stores import Stores
from atlas.core.settings import Settings
from atlas.infra.actor import Actor, ActorFinder, acting, set_actor_finder
from atlas.llm.client import is_configured
from atlas.server.access import (
    ApiKeyMiddleware,
    BodyLimitMiddleware,
    HostMiddleware,
    PathDispatcher,
    ProxyRejectionMiddleware,
    RequestAuthenticator,
)
from atlas.server.api.app import make_api
from atlas.server.forwarding import TrustedProxyMiddleware
from atlas.server.hardening import SecurityHeadersMiddleware
from atlas.server.login import TOKEN, LoginMiddleware, actors_of_connection
from atlas.server.mcp.server import make_server
from atlas.server.operations.limits import ConcurrencyLimitMiddleware, RequestRate, limit_threads
from atlas.server.operations.requests import RequestMiddleware
from atlas.server.problems import Problem
from atlas.server.rounds import run_repeatedly
from atlas.server.served import ServedMemory
from atlas.server.sessions import Sessions
from atlas.server.spool import PAUSE_SECONDS, TraceSpool
from pages.components.shared.memory import opened_now, warming_up
from pages.frame.messages import MessageMiddleware
from pages.frame.page_changes import PageChangeMiddleware
from pages.frame.unknown_addresses import UnknownAddressMiddleware
from pages.server.monitoring import NO_OPERATIONS, Operations, make_monitoring
from pages.server.viewers import page_actor, page_choices

logger = logging.getLogger(__name__)

DASHBOARD = Path(__file__).resolve().parents[2] / "app.py"
API, MCP = "/api/v1", "/mcp"
_SWEEP_SECONDS = 60.0
"""Interval at which copies of ended links are removed."""


def served() -> ServedMemory:
    """Return the served memory of the current actor, open."""
    opened = opened_now()
    return ServedMemory(opened.memory, opened.warming.is_done)


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
    operations: Operations = NO_OPERATIONS,
) -> st.App:
    """Return the dashboard with the API and MCP beside it.

    Args:
        hosts: Names that the server is known by. It answers to no other.
        public_hosts: Hosts that browsers know its pages by, whatever a proxy in front of it asks for.
        provider: The provider of sign-in.
        proxy: Proxies that are believed.
        host: Address that the server listens on.
        is_open: Whether pages, the API and MCP need no key as long as there is none.
        sessions: Browsers that were let in.
        operations: What the operator asks for: metrics, traces, and a limit of requests.
    """
    authenticator = RequestAuthenticator(stores, is_open=is_open, rate=RequestRate(operations.requests_per_minute))
    tools = make_server(served)
    # Streamlit's own host check only allows loopback; ours precedes everything.
    over_http = tools.streamable_http_app(
        streamable_http_path="/", stateless_http=True, json_response=True, host="0.0.0.0"
    )
    below: dict[str, ASGIApp] = {
        API: ConcurrencyLimitMiddleware(
            make_api(served, authenticator), unlimited=[f"{API}/health/{name}" for name in ("live", "ready")]
        ),
        MCP: ConcurrencyLimitMiddleware(
            ApiKeyMiddleware(BodyLimitMiddleware(over_http), authenticator, refusal=Problem.rpc_response)
        ),
    }
    monitoring = make_monitoring(operations, authenticator)
    below |= monitoring.below
    middleware = [
        Middleware(HostMiddleware, hosts=hosts, public_hosts=public_hosts),
        Middleware(TrustedProxyMiddleware, proxy=proxy or Proxy()),
        Middleware(PathDispatcher, apps_by_prefix=below),
    ]
    if is_open:
        middleware.insert(0, Middleware(ProxyRejectionMiddleware))
    else:
        set_actor_finder(
            ActorFinder(
                current=lambda: page_actor(sessions), choices=lambda: page_choices(sessions), n_stores=len(stores)
            )
        )
        middleware.append(Middleware(LoginMiddleware, sessions=sessions, provider=provider))
        middleware.append(Middleware(MessageMiddleware, rights=partial(actors_of_connection, sessions)))

    middleware.insert(0, Middleware(RequestMiddleware, observers=monitoring.observers))
    middleware.insert(0, Middleware(SecurityHeadersMiddleware))
    middleware += [Middleware(PageChangeMiddleware), Middleware(UnknownAddressMiddleware)]

    @asynccontextmanager
    async def lifespan(server: st.App) -> AsyncIterator[None]:
        with ExitStack() as stack:
            stack.callback(monitoring.close)
            stack.enter_context(_announcing(stores, host))
            for store in stores:
                closing = partial(
                    TraceSpool(store.directory).store_complete_traces_in, partial(_served_to, stores.owner_actor(store))
                )
                stack.enter_context(run_repeatedly(closing, pause_seconds=PAUSE_SECONDS, name="atlas-traces"))
                sweeping = partial(remove_ended_copies, store.directory)
                stack.enter_context(run_repeatedly(sweeping, pause_seconds=_SWEEP_SECONDS, name="atlas-links"))
                stack.callback(store.audit.flush)
            async with limit_threads(_has_model), warming_up(server), tools.session_manager.run():
                yield

    return st.App(DASHBOARD, lifespan=lifespan, middleware=middleware)


@contextmanager
def _announcing(stores: Stores, host: str) -> Iterator[None]:
    """Publish the token for this user's programs, and print the URL with it. The port is already bound."""
    port = int(st.get_option("server.port"))
    with ExitStack() as stack:
        if stores.token:
            try:
                stack.enter_context(publish_token(stores.token, stores.first.directory, host, port))
            except OSError as error:
                logger.warning("atlas: the token cannot be written (%s); give it to programs as ATLAS_KEY", error)
            sys.stdout.write(f"\n  Open the dashboard: {local_address(host, port)}/?{TOKEN}={stores.token}\n\n")
            sys.stdout.flush()
        else:
            remove_server_entry(port)
        yield


def _has_model() -> bool:
    return is_configured(Settings.from_environment())


def _served_to(actor: Actor) -> MemorySystem:
    with acting(actor):
        return served().memory
