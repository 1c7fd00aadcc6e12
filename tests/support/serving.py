"""The HTTP API and MCP of a memory, served on a port of this machine by a thread of the test."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware

import atlas
from atlas.access.server_token import publish_token
from atlas.access.stores import Stores
from atlas.llm.budget import TokenUsage
from atlas.server.access import ApiKeyMiddleware, BodyLimitMiddleware, PathDispatcher, RequestAuthenticator
from atlas.server.api.app import make_api
from atlas.server.api.metrics import MetricsEndpoint
from atlas.server.mcp.server import make_server
from atlas.server.operations.limits import RequestRate
from atlas.server.operations.metrics import Metrics, OpenedStore
from atlas.server.operations.requests import Observer, RequestMiddleware
from atlas.server.problems import Problem
from atlas.server.served import ServedMemory


@contextmanager
def serving(
    memory: atlas.MemorySystem,
    *,
    token: str = "",
    is_open: bool = True,
    is_model_ready: bool = True,
    port: int = 0,
    observers: Sequence[Observer] = (),
    requests_per_minute: int = 0,
    has_metrics: bool = False,
) -> Iterator[str]:
    """Serve a memory as `atlas serve` does, without the dashboard; its address.

    Args:
        token: The server's, which this user's programs find. Empty for a server that asks for none.
    """
    stores = Stores({"store": memory.storage.path}, {}, owner="owner", token=token)
    authenticator = RequestAuthenticator(stores, is_open=is_open and not token, rate=RequestRate(requests_per_minute))
    tools = make_server(lambda: ServedMemory(memory, is_model_ready))
    over_http = tools.streamable_http_app(
        streamable_http_path="/", stateless_http=True, json_response=True, host="0.0.0.0"
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with tools.session_manager.run():
            yield

    below = {
        "/api/v1": make_api(lambda: ServedMemory(memory, is_model_ready), authenticator),
        "/mcp": ApiKeyMiddleware(BodyLimitMiddleware(over_http), authenticator, refusal=Problem.rpc_response),
    }
    if has_metrics:
        metrics = Metrics({"store": lambda: OpenedStore(memory, TokenUsage(), is_model_ready)})
        below["/metrics"] = MetricsEndpoint(metrics.text, authenticator)
        observers = [*observers, metrics.observe]
    middleware = [Middleware(RequestMiddleware, observers=observers), Middleware(PathDispatcher, apps_by_prefix=below)]
    app = Starlette(middleware=middleware, lifespan=lifespan)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server ended before it answered"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    with publish_token(token, memory.storage.path, "127.0.0.1", port) if token else nullcontext():
        yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()
