"""A server whose database is gone for a while: up or down, and no word to strangers about where it is."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import atlas
from atlas.access.keys import KeyRing
from atlas.access.people import Identity
from atlas.access.stores import Stores
from atlas.core.errors import StoreUnavailable
from atlas.infra.actor import Role
from atlas.server.entrance import Entrance
from atlas.server.sessions import COOKIE, Sessions
from atlas.testing import HashEmbedder
from tests.support.serving import serving
from tests.support.storage.postgres import running

TRIES = 60
"""Requests after the outage: more than a server has threads, each of which may hold a connection that was lost."""

ADA = Identity(issuer="https://id.example", subject="ada", name="Ada")


def test_an_outage_is_told_without_where_the_store_is_and_ends_by_itself(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path))
    with running() as server:
        address = server.address("secret_schema")
        with atlas.open_memory(address, embedder=HashEmbedder()) as memory, serving(memory) as served:
            secret = KeyRing(memory.storage.path).add("crawler", Role.WRITER, created_by="owner")[1]
            headers = {"Authorization": f"Bearer {secret}"}
            sessions = Sessions(Stores({"store": memory.storage.path}, {}))
            browser = TestClient(Entrance(Starlette(), sessions))
            browser.cookies.set(COOKIE, sessions.begin_for(ADA))
            with httpx.Client(base_url=f"{served}/api/v1", headers=headers, timeout=60) as api:
                assert api.get("/operations").status_code == 200

                server.kill()
                health = [httpx.get(f"{served}/api/v1/health", timeout=60), api.get("/health")]
                assert [(answer.status_code, answer.json()) for answer in health] == [
                    (503, {"status": "unavailable"})
                ] * 2
                refused = [api.get("/operations"), browser.get("/"), browser.post("/enter", data={"key": secret})]
                for answer in (*health, *refused):
                    assert answer.status_code == 503
                    for word in ("postgres", "secret_schema", "atlas@", str(server.directory), "begin again"):
                        assert word not in answer.text
                assert "cannot be reached" in refused[0].json()["detail"]

                server.start()
                tries = [api.get("/operations").status_code for _ in range(TRIES)]
                assert tries[-1] == 200, "each connection that was lost costs one answer"
                assert httpx.get(f"{served}/api/v1/health", timeout=60).json() == {"status": "ready"}
            with pytest.raises(StoreUnavailable, match="connection was lost"):
                memory.revision()  # over this thread's own connection, which the next use opens again
