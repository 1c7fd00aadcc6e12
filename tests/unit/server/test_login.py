"""The door to the pages: what it asks, what it shows to whom, and what a page of another server's cannot do to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from atlas.access.people import Identity
from atlas.access.provider import Provider
from atlas.access.server_token import make_token
from atlas.access.stores import Stores
from atlas.infra.actor import Role
from atlas.server.access import ApiKeyMiddleware, HostMiddleware, RequestAuthenticator
from atlas.server.login import LoginMiddleware
from atlas.server.sessions import COOKIE, Sessions
from atlas.storage.frozen import frozen_copy_path
from atlas.storage.location.audit import REFUSED, TOKEN_ENTERED
from atlas.testing import FixedClock

EVE = Identity(issuer="https://id.example", subject="eve", name="<b>Eve</b>")
PROVIDER = Provider(issuer="https://id.example", client="atlas", secret="secret")
ACCESS_FILES = ("people.json", "keys.json", "links.json")


@pytest.fixture
def clock() -> FixedClock:
    """A clock that the test moves."""
    return FixedClock(datetime.now(UTC))


@pytest.fixture
def stores(tmp_path: Path, clock: FixedClock) -> Stores:
    """Two stores, where everybody who signs in is a viewer of the first one."""
    directories = {name: tmp_path / name for name in ("main", "research")}
    for directory in directories.values():
        directory.mkdir()
    return Stores(directories, {}, clock=clock)


@pytest.fixture
def sessions(stores: Stores) -> Sessions:
    return Sessions(stores)


def browser(sessions: Sessions, provider: Provider | None = None) -> TestClient:
    """A browser before a page that says who it is for."""

    def page(request: Request) -> PlainTextResponse:
        actors = sessions.actors_of(request.cookies.get(COOKIE, ""))
        return PlainTextResponse(", ".join(f"{one.name} in {store}" for store, one in actors.items()))

    inside = Starlette(routes=[Route("/", page)])
    return TestClient(HostMiddleware(LoginMiddleware(inside, sessions, provider), ["testserver"]))


@pytest.fixture
def client(sessions: Sessions) -> Iterator[TestClient]:
    with browser(sessions) as opened:
        yield opened


@pytest.fixture
def link(stores: Stores, clock: FixedClock) -> str:
    """The path of a link onto a copy of the second store, which ends in a week."""
    research = list(stores)[1]
    made, secret = research.links.add("Board", clock.now() + timedelta(days=7), made_by="root")
    frozen_copy_path(research.directory, made.id).mkdir()
    return f"/link/{secret}"


@pytest.fixture
def token() -> str:
    return make_token()


@pytest.fixture
def asking(stores: Stores, token: str) -> Iterator[TestClient]:
    """A browser before the pages of a server that was started with a token."""
    directories = {store.name: store.directory for store in stores}
    with browser(Sessions(Stores(directories, {}, owner="root", token=token))) as opened:
        yield opened


def events(stores: Stores) -> dict[str, list[tuple[str, str]]]:
    """The refusals of each store, by whom and why."""
    return {
        store.name: [(event.who, event.about) for event in store.audit.events() if event.what == REFUSED]
        for store in stores
    }


def signed_in(client: TestClient, sessions: Sessions) -> TestClient:
    client.cookies.clear()
    client.cookies.set(COOKIE, sessions.begin_for_person(EVE))
    return client


def test_a_link_opens_by_one_click_for_whoever_has_not_entered(client, link):
    assert client.get(link).text == "link Board in research"
    assert client.get(link).text == "link Board in research", "and so it does once more"


def test_whoever_is_signed_in_is_asked_before_a_link_makes_them_a_guest(client, sessions, link):
    signed_in(client, sessions)
    asked = client.get(link)
    assert "You are signed in as &lt;b&gt;Eve&lt;/b&gt;. Open this copy as a guest?" in asked.text
    assert client.get("/").text == "<b>Eve</b> in main"
    assert client.post(link).text == "link Board in research"


@pytest.mark.parametrize("site", ["cross-site", "same-site", ""])
def test_a_page_of_another_server_ends_no_session(client, sessions, site):
    signed_in(client, sessions)
    asked = client.get("/leave", headers={"Sec-Fetch-Site": site} if site else {})
    assert (asked.status_code, '<form method="post" action="/leave">' in asked.text) == (200, True)
    assert client.get("/").text == "<b>Eve</b> in main"
    assert client.post("/leave").url.path == "/enter"
    assert client.get("/").url.path == "/enter"


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_a_link_of_its_own_page_ends_a_session_at_once(client, sessions, site):
    signed_in(client, sessions)
    assert client.get("/leave", headers={"Sec-Fetch-Site": site}).url.path == "/enter"
    assert client.get("/").url.path == "/enter"
    for leave_again in (client.get, client.post):
        assert leave_again("/leave").url.path == "/enter", "whoever has left is asked nothing more"


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_no_form_of_a_foreign_page_is_taken(client, sessions, stores, link, origin):
    secret = stores.first.keys.add("crawler", Role.WRITER, created_by="root")[1]
    signed_in(client, sessions)
    for path, given in (("/enter", {"key": secret}), (link, {}), ("/leave", {})):
        assert client.post(path, data=given, headers={"Origin": origin}).status_code == 403
        assert client.get("/").text == "<b>Eve</b> in main"
        own = client.post(path, data=given, headers={"Origin": "http://testserver"}, follow_redirects=False)
        assert own.status_code == 303
        signed_in(client, sessions)


def test_whoever_has_a_link_that_leads_nowhere_is_told_to_ask_whoever_gave_it(client, stores, link):
    research = list(stores)[1]
    research.links.end(research.links.all()[0].id)
    for path, said in ((link, "this link was ended on"), ("/link/guessed", "this link is unknown")):
        refused = client.get(path)
        assert (refused.status_code, said in refused.text) == (401, True)
        assert "ask its sender for a new one" in refused.text
        assert not re.search("atlas keys add|<form|enter a key", refused.text)


@pytest.mark.parametrize(
    ("provider", "has_key", "title"),
    [
        (None, False, "enter a key"),
        (None, True, "enter a key"),
        (PROVIDER, False, "sign in"),
        (PROVIDER, True, "sign in or enter a key"),
    ],
)
def test_the_form_offers_the_ways_that_lead_in(sessions, stores, provider, has_key, title):
    if has_key:
        stores.first.keys.add("crawler", Role.WRITER, created_by="root")
    with browser(sessions, provider) as client:
        form = client.get("/enter").text
    assert f"<title>ATLAS memory: {title}</title>" in form
    assert ('action="/enter"' in form, 'action="/signin"' in form) == ("key" in title, "sign in" in title)
    assert "<!-- " not in form


def test_an_address_with_the_token_leads_to_the_same_address_without_it(asking, token):
    opened = asking.get(f"/?a=1&token={token}&b=%2Fx%20y", follow_redirects=False)
    assert (opened.status_code, opened.headers["location"]) == (303, "/?a=1&b=%2Fx+y")
    assert (opened.headers["referrer-policy"], opened.headers["cache-control"]) == ("no-referrer", "no-store")
    assert asking.get("/").text == "root in main, root in research", "who runs the server sees each of its stores"
    again = asking.get(f"/?token={token}")
    assert (again.url.path, again.url.query, again.text) == ("/", b"", "root in main, root in research")


@pytest.mark.parametrize("path", ["//evil.example", "/media/a", "/a.png", "/_stcore/stream"])
def test_no_other_address_takes_the_token(asking, token, path):
    asked = asking.get(f"http://testserver{path}?token={token}", follow_redirects=False)
    assert (asked.status_code, asked.headers.get("set-cookie")) == (401, None)


def test_a_server_with_a_token_asks_for_it_and_takes_it_or_a_key(asking, stores, token):
    asked = asking.get("/")
    assert (asked.url.path, "<title>ATLAS memory: enter the token</title>" in asked.text) == ("/enter", True)
    assert "<code>token-80</code>" in asked.text
    assert token not in asked.text
    for wrong in (token[:-1], "", "\ud800".encode("utf-8", "surrogatepass"), "ä", make_token()):
        refused = asking.post("/enter", data={"key": wrong})
        assert (refused.status_code, asking.get("/").url.path) == (401, "/enter")
    assert asking.get("/?token=wrong").status_code == 401
    assert asking.post("/enter", data={"key": f" {token} "}).text == "root in main, root in research"
    crawler = stores.first.keys.add("crawler", Role.WRITER, created_by="root")[1]
    assert asking.post("/enter", data={"key": crawler}).text == "crawler in main"


def test_a_server_without_a_token_takes_none(client, sessions):
    signed_in(client, sessions)
    assert client.get("/?token=").text == "<b>Eve</b> in main"
    client.cookies.clear()
    assert client.post("/enter", data={"key": ""}).status_code == 401
    assert client.get("/?token=").url.path == "/enter"


def test_the_token_stands_in_no_audit_log_and_its_use_does(asking, stores, token):
    asking.get(f"/?token={token[:-1]}")
    asking.get(f"/?token={token}")
    kinds = [(event.what, event.who) for event in stores.first.audit.events()]
    assert kinds == [(TOKEN_ENTERED, "root"), (REFUSED, "testclient")]
    assert token[:-1] not in (stores.first.directory / "audit.jsonl").read_text()


def test_servers_on_two_ports_do_not_end_each_others_sessions(stores, token):
    directories = {store.name: store.directory for store in stores}
    one, other = (Sessions(Stores(directories, {}, token=token), cookie=f"{COOKIE}_{port}") for port in (8501, 8502))
    with browser(one) as first, browser(other) as second:
        first.get(f"/?token={token}", follow_redirects=False)
        second.cookies.update(first.cookies)
        second.get(f"/?token={token}", follow_redirects=False)
        assert sorted(second.cookies) == [f"{COOKIE}_8501", f"{COOKIE}_8502"]


def test_what_is_known_in_another_store_is_refused_in_its_audit_log_alone(client, stores, link):
    research = list(stores)[1]
    secret = research.keys.add("crawler", Role.WRITER, created_by="root")[1]
    research.keys.revoke("crawler")
    research.links.end(research.links.all()[0].id)
    client.post("/enter", data={"key": secret})
    client.get(link)
    asked = ApiKeyMiddleware(PlainTextResponse("in"), RequestAuthenticator(stores, is_open=False))
    TestClient(asked).get("/", headers={"Authorization": f"Bearer {secret}"})
    told = events(stores)
    assert told["main"] == []
    assert [about.partition(" on ")[0] for _, about in told["research"]] == [
        "this link was ended",
        "the key 'crawler' was revoked",
    ]
    research.audit.flush()
    assert sum(event.n for event in research.audit.events() if event.what == REFUSED) == 3, "the same key twice"
    client.post("/enter", data={"key": "atlas_guessed"})
    assert [about for _, about in events(stores)["main"]] == [
        "this key is unknown; ask an administrator for one: atlas keys add NAME"
    ]


def test_a_removed_person_is_refused_in_the_audit_logs_of_the_stores_that_removed_them(tmp_path):
    stores = Stores({"main": tmp_path / "main", "research": tmp_path / "research"}, {"research/ml": Role.VIEWER})
    for store in stores:
        store.directory.mkdir()
    ada = Identity(issuer="https://id.example", subject="ada", name="Ada", groups=("ml",))
    stores.sign_in(ada)
    for store in stores:
        store.people.remove(ada.id)
    answer = TestClient(Vouching(LoginMiddleware(Starlette(), Sessions(stores)), ada)).get("/")
    assert (answer.status_code, "was removed from this memory" in answer.text) == (401, True)
    assert {name: len(told) for name, told in events(stores).items()} == {"main": 1, "research": 1}


class Vouching:
    """A named proxy that says of every request that it is somebody's."""

    def __init__(self, app, identity: Identity) -> None:
        self._app = app
        self._identity = identity

    async def __call__(self, scope, receive, send) -> None:
        await self._app({**scope, "atlas.identity": self._identity}, receive, send)


@pytest.mark.parametrize("file", ACCESS_FILES)
def test_a_damaged_file_of_one_store_shuts_no_other(stores, sessions, link, file, caplog):
    secret = stores.first.keys.add("crawler", Role.WRITER, created_by="root")[1]
    research = list(stores)[1]
    (research.directory / file).write_text("no JSON")
    with browser(sessions) as client:
        assert client.post("/enter", data={"key": secret}).text == "crawler in main"
        assert signed_in(client, sessions).get("/").text == "<b>Eve</b> in main"
        client.cookies.clear()
        statuses = {client.get("/link/guessed").status_code for _ in range(2)}
    assert statuses == {503 if file == "links.json" else 401}
    [told] = [one for one in caplog.messages if file in one]
    assert "the store 'research' is skipped" in told


def test_whoever_is_found_nowhere_is_told_which_file_is_damaged(stores, sessions, link):
    with browser(sessions) as client:
        guest = client.get(link)
        assert guest.text == "link Board in research"
        for file in ACCESS_FILES:
            (list(stores)[1].directory / file).write_text("no JSON")
        for answer, file in [
            (client.get("/"), "links.json"),
            (client.get(link), "links.json"),
            (client.post("/enter", data={"key": "atlas_guessed"}), "keys.json"),
        ]:
            assert (answer.status_code, f"{file} cannot be read" in answer.text) == (503, True)
            assert answer.headers["content-type"].startswith("text/html")
        client.cookies.clear()
        for answer in (client.get(link), client.post("/enter", data={"key": "atlas_guessed"})):
            assert (answer.status_code, str(list(stores)[1].directory) in answer.text) == (503, False)


def test_people_of_a_single_store_are_told_that_its_file_is_damaged(tmp_path):
    stores = Stores({"main": tmp_path}, {})
    sessions = Sessions(stores)
    with browser(sessions, PROVIDER) as client:
        signed_in(client, sessions)
        for file in ("people.json", "keys.json"):
            (tmp_path / file).write_text("{")
        assert client.get("/").status_code == 503
        assert "people.json cannot be read" in client.get("/").text
        assert str(tmp_path) not in client.get("/").text
        client.cookies.clear()
        assert client.get("/enter").status_code == 200, "the way to the provider stays open"
    vouched = TestClient(Vouching(LoginMiddleware(Starlette(), sessions), EVE)).get("/")
    assert (vouched.status_code, "people.json cannot be read" in vouched.text) == (503, True)


def test_a_session_of_a_link_ends_with_the_link(client, stores, sessions, link, clock):
    client.get(link)
    clock.advance(timedelta(days=7) - timedelta(seconds=1))
    assert client.get("/").text == "link Board in research"
    clock.advance(timedelta(seconds=1))
    assert client.get("/").url.path == "/enter"
    assert "this link ended on" in client.get(link).text


def test_a_session_ends_after_its_hours(stores):
    now = [0.0]
    sessions = Sessions(stores, seconds=60.0, monotonic=lambda: now[0])
    with browser(sessions) as client:
        signed_in(client, sessions)
        now[0] = 59.9
        assert client.get("/").text == "<b>Eve</b> in main"
        now[0] = 60.0
        assert client.get("/").url.path == "/enter"
