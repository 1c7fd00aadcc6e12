"""Guards before every route: only by a name of the server, and by no page of another host's."""

from __future__ import annotations

import anyio
import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from atlas.server.access import HostMiddleware
from atlas.server.hardening import SecurityHeadersMiddleware


@pytest.fixture
def client():
    """Asks an application that is known by one name, as clients over a network do."""
    inside = Starlette(routes=[Route("/", lambda request: PlainTextResponse("in"), methods=["GET", "POST"])])
    hosts = ["memory.example", "127.0.0.1", "localhost", "::1"]
    app = SecurityHeadersMiddleware(
        HostMiddleware(inside, hosts, public_hosts=["memory.example", "atlas.example:8443"])
    )
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(transport=transport, base_url="http://memory.example")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "memory.example:8501"}, 200),
        ({"Host": "127.0.0.1:8501", "Origin": "http://127.0.0.1:8501"}, 200),
        ({"Host": "[::1]:8501", "Origin": "http://[::1]:8501"}, 200),
        ({"Host": "MEMORY.example:8501", "Origin": "http://memory.EXAMPLE:8501"}, 200),
        ({"Host": "memory.example:443", "Origin": "https://memory.example"}, 200),
        ({"Host": "127.0.0.1:8501", "Origin": "https://memory.example"}, 200),
        ({"Host": "127.0.0.1:8501", "Origin": "https://atlas.example:8443"}, 200),
        ({"Host": "127.0.0.1:8501", "Origin": "http://127.0.0.1:9999"}, 403),
        ({"Host": "127.0.0.1:8501", "Origin": "http://127.0.0.1"}, 403),
        ({"Host": "127.0.0.1:8501", "Origin": "http://localhost:8501"}, 403),
        ({"Host": "127.0.0.1:8501", "Origin": "https://atlas.example"}, 403),
        ({"Host": "memory.example", "Origin": "https://memory.example:9000"}, 403),
        ({"Host": "memory.example", "Origin": "http://memory.example:443"}, 403),
        ({"Host": "memory.example", "Origin": "memory.example"}, 403),
        ({"Host": "memory.example", "Origin": "ftp://memory.example"}, 403),
        ({"Origin": ""}, 403),
        ([("Origin", "https://memory.example"), ("Origin", "https://memory.example")], 403),
        ([("Origin", "https://memory.example"), ("Origin", "https://evil.example")], 403),
        ({"Origin": "https://memory.example"}, 200),
        ({"Host": "evil.example"}, 400),
        ({"Host": "memory.example.evil.example"}, 400),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://memory.example.evil.example"}, 403),
    ],
)
def test_only_the_servers_own_names_and_pages_get_in(client, headers, status):
    answer = anyio.run(lambda: client.post("/", headers=headers))
    assert answer.status_code == status
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_start_and_the_end_of_a_server_pass_through():
    passed = []

    async def inside(scope, receive, send):
        passed.append(scope["type"])

    anyio.run(lambda: HostMiddleware(inside, ["memory.example"])({"type": "lifespan"}, None, None))
    assert passed == ["lifespan"]
