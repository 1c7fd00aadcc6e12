"""A server whose database is gone for a while: up or down, and no word to strangers about where it is."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import atlas
from atlas.access.keys import ApiKeys
from atlas.access.people import Identity
from atlas.access.stores import Stores
from atlas.core.errors import StoreUnavailable
from atlas.infra.actor import Role
from atlas.server.login import LoginMiddleware
from atlas.server.sessions import COOKIE, Sessions
from atlas.storage.store import Store
from atlas.testing import HashEmbedder
from tests.support.serving import serving
from tests.support.storage.postgres import Server, running

TRIES = 60
"""Requests after the outage: more than a server has threads, each of which may have a connection that was lost."""

N_CLIENTS = 12
"""Clients at once, so that many threads of the server have a connection."""

ADA = Identity(issuer="https://id.example", subject="ada", name="Ada")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A database server that tests stop or kill, and start again."""
    with running() as started:
        yield started


def test_an_outage_is_told_without_where_the_store_is_and_ends_by_itself(server: Server, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path))
    address = server.address("secret_schema")
    with atlas.open_memory(address, embedder=HashEmbedder()) as memory, serving(memory) as served:
        secret = ApiKeys(memory.storage.path).add("crawler", Role.WRITER, created_by="owner")[1]
        headers = {"Authorization": f"Bearer {secret}"}
        sessions = Sessions(Stores({"store": memory.storage.path}, {}))
        browser = TestClient(LoginMiddleware(Starlette(), sessions))
        browser.cookies.set(COOKIE, sessions.begin_for_person(ADA))
        with httpx.Client(base_url=f"{served}/api/v1", headers=headers, timeout=60) as api:
            assert api.get("/operations").status_code == 200

            server.kill()
            health = [httpx.get(f"{served}/api/v1/health", timeout=60), api.get("/health")]
            assert [(answer.status_code, answer.json()) for answer in health] == [(503, {"status": "unavailable"})] * 2
            refused = [api.get("/operations"), browser.get("/"), browser.post("/enter", data={"key": secret})]
            for answer in (*health, *refused):
                assert answer.status_code == 503
                for word in ("postgres", "secret_schema", "atlas@", str(server.directory), "begin again"):
                    assert word not in answer.text
            assert "cannot be reached" in refused[0].json()["detail"]

            server.start()
            tries = [api.get("/operations").status_code for _ in range(TRIES)]
            assert tries == [200] * TRIES, "a lost connection is replaced before an answer needs it"
            assert httpx.get(f"{served}/api/v1/health", timeout=60).json() == {"status": "ready"}
        assert memory.revision() == 0  # over this thread's own connection, which was lost too


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_no_request_fails_after_the_database_was_restarted(server: Server, tmp_path: Path, monkeypatch, mode):
    monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path))
    with (
        atlas.open_memory(server.new_address(), embedder=HashEmbedder()) as memory,
        serving(memory) as served,
        httpx.Client(base_url=f"{served}/api/v1", timeout=60) as api,
        ThreadPoolExecutor(N_CLIENTS) as clients,
    ):
        secret = ApiKeys(memory.storage.path).add("crawler", Role.WRITER, created_by="owner")[1]
        api.headers["Authorization"] = f"Bearer {secret}"

        def ask(number: int) -> int:
            if number % 3:
                return api.post("/experience/search", json={"query": "rotate the logs"}).status_code
            attempt = {"task": {"description": f"rotate the logs {number}"}}
            return api.post("/attempts", json=attempt).status_code

        assert set(clients.map(ask, range(TRIES))) == {200}
        server.stop(mode)
        server.start()
        assert set(clients.map(ask, range(TRIES))) == {200}
        assert memory.experience.count() == 2 * TRIES / 3


def test_what_was_read_before_the_database_was_restarted_is_not_mixed_with_what_is_read_after(
    server: Server, tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path))
    with Store.open(server.new_address()) as store:
        with pytest.raises(StoreUnavailable, match="connection was lost"), store.reading():
            store.ledger.revision()
            server.stop()
            server.start()
            store.ledger.revision()
        assert store.ledger.revision() == 0
