"""The served process and the plain dashboard, asked over the network: every response keeps other sites out."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from atlas.access.keys import ApiKeys
from atlas.infra.actor import Role
from tests.support.browser.server import dashboard, free_port, wait_until_healthy
from tests.support.repository import REPOSITORY
from tests.support.waiting import GIVE_UP_SECONDS

PATHS = {
    "/enter": 200,
    "/": 200,
    "/api/v1/health": 200,
    "/api/v1/operations": 401,
    "/api/v1/nothing": 401,
    "/mcp/": 401,
    "/_stcore/health": 200,
    "/_stcore/host-config": 401,
    "/media/nothing.png": 401,
    "/static/nothing.js": 200,  # the page itself, as for every address that is not a file
}


def check_headers(answer: httpx.Response) -> None:
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'self'" in answer.headers.get_list("Content-Security-Policy")


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[str]:
    """The address of a server that asks for a key."""
    store, port = tmp_path_factory.mktemp("guarded") / "store", free_port()
    store.mkdir()
    ApiKeys(store).add("owner", Role.ADMIN, created_by="owner")
    command = [sys.executable, "-m", "atlas", "--store", str(store), "serve", "--ask", "--port", str(port)]
    process = subprocess.Popen(command, cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    wait_until_healthy(process, port)
    yield f"http://127.0.0.1:{port}"
    process.send_signal(signal.SIGTERM)
    process.wait(GIVE_UP_SECONDS)


def test_every_response_of_the_server_has_the_headers(served: str):
    with httpx.Client(base_url=served, timeout=60, follow_redirects=True) as client:
        answers = {path: client.get(path) for path in PATHS}
    assert {path: answer.status_code for path, answer in answers.items()} == PATHS
    for answer in answers.values():
        for response in (*answer.history, answer):
            check_headers(response)


def test_requests_of_another_origin_are_refused_with_the_headers_too(served: str):
    port = int(served.rpartition(":")[2])
    with httpx.Client(base_url=served, timeout=60) as client:
        own = client.post("/enter", data={"key": "atlas_guessed"}, headers={"Origin": served})
        assert own.status_code == 401
        for headers in (
            [("Origin", f"http://127.0.0.1:{port + 1}")],
            [("Origin", "http://127.0.0.1")],
            [("Origin", f"http://localhost:{port}")],
            [("Origin", served), ("Origin", served)],
        ):
            refused = client.post("/enter", data={"key": "atlas_guessed"}, headers=headers)
            assert (refused.status_code, refused.json()["title"]) == (403, "Foreign origin")
            check_headers(refused)


def test_health_of_the_server_is_up_alone_without_a_key(served: str):
    assert httpx.get(f"{served}/api/v1/health", timeout=60).json() == {"status": "ready"}


def test_the_plain_dashboard_sends_the_headers_too(tmp_path: Path):
    with dashboard(tmp_path / "store") as address, httpx.Client(base_url=address, timeout=60) as client:
        for path in ("/", "/experiences", "/_stcore/health", "/_stcore/host-config", "/static/nothing.js"):
            check_headers(client.get(path))
        assets = re.findall(r'"\.?(/static/[^"]+\.(js|css))"', client.get("/").text)
        assert {kind for _, kind in assets} == {"js", "css"}
        types = {kind: client.get(path).headers["Content-Type"] for path, kind in assets}
        assert types["css"].startswith("text/css"), "no browser takes a file for another type any more"
        assert types["js"].partition(";")[0] in ("text/javascript", "application/javascript")
