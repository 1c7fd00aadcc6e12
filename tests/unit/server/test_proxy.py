"""People whom a proxy in front of the server signs in: believed from a named proxy, and from nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from atlas.access.keys import ApiKeys
from atlas.access.links import Links
from atlas.access.proxy import Proxy
from atlas.access.stores import Stores
from atlas.core.errors import InvalidInput
from atlas.infra.actor import Role
from atlas.server.access import ProxyRejectionMiddleware
from atlas.server.forwarding import TrustedProxyMiddleware
from atlas.server.login import LoginMiddleware
from atlas.server.sessions import COOKIE, Sessions
from atlas.storage.frozen import frozen_copy_path
from atlas.storage.location.audit import LINK_MADE, LINK_OPENED

PROXY = Proxy(addresses=frozenset({"10.0.0.5"}), user="X-Forwarded-User", name="X-Name", groups="X-Forwarded-Groups")
ADA = {"X-Forwarded-User": "ada@example", "X-Name": "Ada", "X-Forwarded-Groups": "others, team"}


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(Stores({"main": tmp_path}, {"team": Role.CURATOR}))


def browser(sessions: Sessions, address: str = "10.0.0.5", proxy: Proxy = PROXY) -> TestClient:
    """A browser whose requests come from an address, before a page that says who it is for."""

    def page(request: Request) -> PlainTextResponse:
        actors = sessions.actors_of(request.cookies.get(COOKIE, "")).values()
        return PlainTextResponse(", ".join(f"{one.name}, {one.role}" for one in actors) + f" by {request.url.scheme}")

    inside = Starlette(routes=[Route("/", page), Route("/experiences", page)])
    return TestClient(TrustedProxyMiddleware(LoginMiddleware(inside, sessions), proxy), client=(address, 50_000))


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
    assert sessions.stores.first.people.all() == []


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
    people.remove(people.all()[0].id)
    refused = client.get("/", headers=ADA)
    assert (refused.status_code, "was removed from this memory" in refused.text) == (401, True)


def test_a_header_that_comes_twice_says_nothing(sessions):
    with browser(sessions) as client:
        assert client.get("/", headers=[("X-Forwarded-User", "ada"), ("X-Forwarded-User", "root")]).url.path == "/enter"


def test_a_session_that_a_proxy_began_needs_its_word_at_every_request(client):
    client.get("/", headers=ADA)
    assert client.get("/", headers=ADA).text.startswith("Ada")
    assert client.get("/").url.path == "/enter"
    assert client.get("/_stcore/host-config").status_code == 401


def test_a_link_and_a_key_stay_what_they_are_for_whoever_a_proxy_names(client, sessions, tmp_path):
    link, opened = Links(tmp_path).add("Board", datetime.now(UTC) + timedelta(days=1), made_by="root")
    frozen_copy_path(tmp_path, link.id).mkdir()
    client.get("/", headers=ADA)
    assert client.post(f"/link/{opened}", headers=ADA).text == "link Board, viewer by http"
    assert {one.store for one in sessions.actors_of(client.cookies[COOKIE]).values()} == {
        frozen_copy_path(tmp_path, link.id)
    }
    secret = ApiKeys(tmp_path).add("crawler", Role.WRITER, created_by="root")[1]
    assert client.post("/enter", data={"key": secret}, headers=ADA).text == "crawler, writer by http"
    client.post("/leave", headers=ADA)
    assert client.get("/", headers=ADA).text.startswith("Ada")


def test_a_guest_with_a_link_uploads_nothing(client, tmp_path):
    link, opened = Links(tmp_path).add("Board", datetime.now(UTC) + timedelta(days=1), made_by="root")
    frozen_copy_path(tmp_path, link.id).mkdir()
    client.get(f"/link/{opened}")
    assert client.put("/_stcore/upload_file/one/two", content=b"x").status_code == 403


def test_a_link_that_is_opened_once_more_is_no_further_session(client, sessions, tmp_path):
    link, opened = Links(tmp_path).add("Board", datetime.now(UTC) + timedelta(days=1), made_by="root")
    frozen_copy_path(tmp_path, link.id).mkdir()
    client.get(f"/link/{opened}")
    before = client.cookies[COOKIE]
    client.get(f"/link/{opened}")
    assert client.cookies[COOKIE] == before
    assert [event.what for event in sessions.stores.first.audit.events()] == [LINK_OPENED, LINK_MADE]


@pytest.mark.parametrize(
    "name", ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via", "CF-Connecting-IP", "True-Client-IP"]
)
def test_an_open_server_refuses_what_a_proxy_passed_on(name):
    opened = TestClient(ProxyRejectionMiddleware(PlainTextResponse("all of it")))
    refused = opened.get("/", headers={name: "203.0.113.9"})
    assert (refused.status_code, "without --no-token" in refused.json()["detail"]) == (403, True)
    assert opened.get("/").text == "all of it"


def test_names_and_groups_of_a_proxy_are_read_as_it_writes_them(tmp_path):
    sessions = Sessions(Stores({"main": tmp_path}, {"Prüfer": Role.CURATOR}))
    headers = [("X-Forwarded-User", "j"), ("X-Name", "Jürgen Müller"), ("X-Forwarded-Groups", "Prüfer")]
    with browser(sessions) as client:
        answer = client.get("/", headers=[(name, value.encode()) for name, value in headers])
    assert answer.text == "Jürgen Müller, curator by http"


def test_proxies_come_from_the_environment():
    given = {"ATLAS_PROXY": "127.0.0.1, ::1", "ATLAS_PROXY_USER": "X-Forwarded-User"}
    assert Proxy.from_environment(given).addresses == {"127.0.0.1", "::1"}
    assert Proxy.from_environment({}) == Proxy()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ATLAS_PROXY": "proxy.example"}, "addresses such as 127.0.0.1"),
        ({"ATLAS_PROXY_USER": "X-Forwarded-User"}, "needs ATLAS_PROXY"),
        ({"ATLAS_PROXY": "127.0.0.1", "ATLAS_PROXY_GROUPS": "X-Groups"}, "ATLAS_PROXY_USER"),
        ({"ATLAS_PROXY": "127.0.0.1", "ATLAS_PROXY_USER": "a header"}, "ATLAS_PROXY_USER, such as X-Forwarded-User"),
    ],
)
def test_what_is_half_given_is_refused_with_what_to_do(given, said):
    with pytest.raises(InvalidInput, match=said):
        Proxy.from_environment(given)
