"""The threads that answer a request of the API."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient

from atlas.access.stores import Stores
from atlas.server.access import RequestAuthenticator
from atlas.server.api.app import make_api
from atlas.server.api.parts import LazyMemory, LazyServedMemory, ThreadRoute
from atlas.server.served import ServedMemory


def test_memory_and_endpoint_share_one_thread_that_is_not_the_event_loops():
    threads, memory = [], cast(Any, "memory")

    def noting(value: object) -> object:
        threads.append(threading.get_ident())
        return value

    router = APIRouter(route_class=ThreadRoute)

    @router.get("/memory")
    def named(memory: LazyMemory, opened: LazyServedMemory) -> str:
        noting(None)
        return f"{memory} {opened.is_model_ready}"

    @router.get("/loop")
    async def loop() -> int:
        return threading.get_ident()

    @asynccontextmanager
    async def state(app: FastAPI) -> AsyncIterator[dict[str, object]]:
        yield {"open_memory": lambda: noting(ServedMemory(memory))}

    app = FastAPI(lifespan=state)
    app.include_router(router)
    with TestClient(app) as client:
        assert client.get("/memory").json() == "memory True"
        assert client.get("/loop").json() not in threads
    assert len(threads) == 3
    assert len(set(threads)) == 1


def test_a_request_opens_the_memory_once(memory):
    opened = []

    def open_memory() -> ServedMemory:
        opened.append(memory)
        return ServedMemory(memory)

    authenticator = RequestAuthenticator(Stores({"store": memory.storage.path}, {}, owner="owner"), is_open=True)
    client = TestClient(make_api(open_memory, authenticator))
    for path, body in (("/experience/search", {"query": "a bug"}), ("/verbs/revision", {})):
        opened.clear()
        assert client.post(path, json=body).status_code == 200
        assert opened == [memory]
