"""The threads that answer a request of the API."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient

from atlas.server.api.parts import Served, ThreadRoute, Warm


def test_memory_and_endpoint_share_one_thread_that_is_not_the_event_loops():
    threads = []

    def noting(value: object) -> object:
        threads.append(threading.get_ident())
        return value

    router = APIRouter(route_class=ThreadRoute)

    @router.get("/memory")
    def named(memory: Served, is_warm: Warm) -> str:
        noting(None)
        return f"{memory} {is_warm}"

    @router.get("/loop")
    async def loop() -> int:
        return threading.get_ident()

    @asynccontextmanager
    async def state(app: FastAPI) -> AsyncIterator[dict[str, object]]:
        yield {"open_memory": lambda: noting("memory"), "is_warm": lambda: noting(True)}

    app = FastAPI(lifespan=state)
    app.include_router(router)
    with TestClient(app) as client:
        assert client.get("/memory").json() == "memory True"
        assert client.get("/loop").json() not in threads
    assert len(threads) == 3
    assert len(set(threads)) == 1
