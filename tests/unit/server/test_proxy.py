"""People whom a proxy in front of the server signs in: believed from a named proxy, and from nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from atlas.access.proxy import Proxy
from atlas.access.stores import Stores
from atlas.core.errors import InvalidInput
from atlas.infra.actor import Role
from atlas.server.entrance import Entrance
from atlas.server.forwarding import Forwarded
from atlas.server.sessions import COOKIE, Sessions

PROXY = Proxy(addresses=frozenset({"10.0.0.5"}), user="X-Forwarded-User", name="X-Name", groups="X-Forwarded-Groups")
ADA = {"X-Forwarded-User": "ada@example", "X-Name": "Ada", "X-Forwarded-Groups": "others, team"}


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(Stores({"main": tmp_path}, {"team": Role.CURATOR}))


def browser(sessions: Sessions, address: str = "10.0.0.5", proxy: Proxy = PROXY) -> TestClient:
    """A browser whose requests come from an address, before a page that says who it is for."""

    def page(request: Request) -> PlainTextResponse:
        actors = sessions.choices(request.cookies.get(COOKIE, "")).values()
        return PlainTextResponse(", ".join(f"{one.name}, {one.role}" for one in actors) + f" by {request.url.scheme}")

    inside = Starlette(routes=[Route("/", page), Route("/experiences", page)])
    return TestClient(Forwarded(Entrance(inside, sessions), proxy), client=(address, 50_000))


@pytest.fixture
def client(sessions: Sessions) -> Iterator[TestClient]:
    with browser(sessions) as opened:
        yield opened


def test_whoever_a_named_proxy_says_is_let_in_where_they_wanted_to_go(client):
    answer = client.get("/experiences?id=1", headers=ADA)
    assert (answer.text, answer.url.path, answer.url.query) == ("Ada, curator by http", "/experiences", b"id=1")


def test_from_elsewhere_the_same_headers_say_nothing(sessions):
    with browser(sessions, "10.0.0.9") as client:
        assert client.get("/", headers=ADA | {"X-Forwarded-For": "10.0.0.5"}).url.path == "/enter"
    assert sessions.stores.first.people.every() == []


def test_a_proxy_that_is_named_for_its_scheme_alone_signs_nobody_in(sessions):
    plain = Proxy(addresses=PROXY.addresses)
    with browser(sessions, proxy=plain) as client:
        assert client.get("/", headers=ADA).url.path == "/enter"


def test_another_person_at_the_same_browser_is_not_the_one_before(client):
    client.get("/", headers=ADA)
    assert client.get("/", headers={"X-Forwarded-User": "bob", "X-Name": "Bob"}).text == "Bob, viewer by http"
    socket = client.get("/_stcore/host-config", headers=ADA)
    assert socket.status_code == 401, "the cookie is Bob's by now"


def test_a_cookie_is_for_tls_alone_where_the_proxy_speaks_it(client):
    answer = client.get("/", headers=ADA | {"X-Forwarded-Proto": "https"}, follow_redirects=False)
    assert "Secure" in answer.headers["set-cookie"]


def test_whoever_was_removed_is_told_so(client, sessions):
    client.get("/", headers=ADA)
    people = sessions.stores.first.people
    people.remove(people.every()[0].id)
    refused = client.get("/", headers=ADA)
    assert (refused.status_code, "was removed from this memory" in refused.text) == (401, True)


def test_a_header_that_comes_twice_says_nothing(sessions):
    with browser(sessions) as client:
        assert client.get("/", headers=[("X-Forwarded-User", "ada"), ("X-Forwarded-User", "root")]).url.path == "/enter"


def test_proxies_come_from_the_environment():
    given = {"ATLAS_PROXY": "127.0.0.1, ::1", "ATLAS_PROXY_USER": "X-Forwarded-User"}
    assert Proxy.from_environment(given).addresses == {"127.0.0.1", "::1"}
    assert Proxy.from_environment({}) == Proxy()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ATLAS_PROXY": "proxy.example"}, "addresses such as 127.0.0.1"),
        ({"ATLAS_PROXY_USER": "X-Forwarded-User"}, "ATLAS_PROXY, its address"),
        ({"ATLAS_PROXY": "127.0.0.1", "ATLAS_PROXY_GROUPS": "X-Groups"}, "ATLAS_PROXY_USER"),
        ({"ATLAS_PROXY": "127.0.0.1", "ATLAS_PROXY_USER": "a header"}, "X-Forwarded-User"),
    ],
)
def test_what_is_half_given_is_refused_with_what_to_do(given, said):
    with pytest.raises(InvalidInput, match=said):
        Proxy.from_environment(given)
